/** Sessions to forget as a whole: what the vault holds of them, and their tombstones. */

import { statsOf } from "../base/files.ts"
import { readList } from "../vault/copy-list.ts"
import { isHistoryCopy, isSummaryCopy, vaultFile } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import { emptyTombstone, ownerOf, readTombstone } from "../vault/tombstones.ts"
import { isNotesSession } from "../views/notes-session.ts"
import { recordsFrom } from "../views/records.ts"
import { type Source, sources } from "../views/view-sources.ts"

export interface Leaving {
  /** A session, including its subagents, or a single `<session>/<agent>`. */
  readonly session: string
  /** Copies below `vault/`, including those of transcripts that the host has since rewritten. */
  readonly copies: readonly string[]
  /** Bytes of the copies on disk. */
  readonly bytes: number
  /** Where the host keeps or kept its transcripts. */
  readonly transcripts: readonly string[]
  /** Its lines in the list of all prompts. */
  readonly prompts: number
  /** How many of these still exist; 0 for the notes kept by `remember`, which are deleted as well. */
  readonly onDisk: number
}

/**
 * What the vault holds of these sessions.
 *
 * @param outputs paths of subagents' long outputs, which are beside their session's transcript, by subagent
 */
export function leaving(
  dataHome: string,
  sessions: readonly string[],
  outputs: ReadonlyMap<string, readonly string[]> = new Map(),
): Leaving[] {
  const all = sources(dataHome)
  const prompts = promptsBySession(dataHome, all)
  return sessions.map((session) => {
    const beside = outputs.get(session) ?? []
    const own = all.filter((one) => belongs(one, session) || beside.includes(one.path))
    const transcripts = [...new Set(own.map(({ path }) => path))]
    return {
      session,
      copies: own.map(({ copy }) => copy),
      bytes: own.reduce((sum, one) => sum + one.bytes, 0),
      transcripts,
      prompts: prompts.get(session) ?? 0,
      onDisk: isNotesSession(session) ? 0 : transcripts.filter(isThere).length,
    }
  })
}

function promptsBySession(dataHome: string, all: readonly Source[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>()
  for (const { copy } of all) {
    if (!isHistoryCopy(copy)) continue
    for (const { record } of recordsFrom(vaultFile(dataHome, copy))) {
      const { sessionId } = record
      if (sessionId !== undefined) found.set(sessionId, (found.get(sessionId) ?? 0) + 1)
    }
  }
  return found
}

const isThere = (path: string): boolean => statsOf(path) !== undefined

function belongs(source: Source, session: string): boolean {
  return source.session === session || ownerOf(source.session, source.path) === session
}

/** The tombstones, which must be written before anything is deleted. */
export function tombstonesOf(dataHome: string, list: readonly Leaving[], now: number): Tombstone[] {
  const found = new Map<string, Tombstone>()
  for (const { session, transcripts } of list) {
    const owner = ownerOf(session, transcripts[0] ?? session)
    const before = found.get(owner) ?? readTombstone(dataHome, owner) ?? emptyTombstone(owner, now)
    const agent =
      session.includes("/") && owner !== session ? session.slice(session.indexOf("/") + 1) : undefined
    found.set(owner, {
      ...before,
      whole: before.whole || agent === undefined,
      agents: agent === undefined ? before.agents : [...new Set([...before.agents, agent])],
      transcripts: [...new Set([...before.transcripts, ...transcripts])],
      time: now,
    })
  }
  return [...found.values()]
}

/**
 * Sessions with no activity since `cutoff`, neither in the session itself nor in its subagents.
 *
 * @param cutoff ms since the epoch
 * @param ended the time of each session's last record according to the views, in ms since the epoch
 * @param promptsOnly sessions of which nothing else is archived
 * @param known what the views know of copies, also of those that are gone
 */
export function silentSince(
  dataHome: string,
  cutoff: number,
  ended: ReadonlyMap<string, number>,
  promptsOnly: readonly string[],
  known: readonly Pick<Source, "session" | "path" | "copy">[],
): string[] {
  const last = new Map(
    promptsOnly.flatMap((session) => [[session, ended.get(session) ?? Date.now()] as const]),
  )
  const note = (
    { session, path, copy }: (typeof known)[number],
    archived: () => number | undefined,
  ): void => {
    // A session is no younger for having been summarised, and prompts are their sessions'.
    if (isSummaryCopy(copy) || isHistoryCopy(copy)) return
    const owner = ownerOf(session, path)
    // If no record has a time, use the time of archiving.
    const time = ended.get(session) ?? archived() ?? Date.now()
    last.set(owner, Math.max(last.get(owner) ?? 0, time))
  }
  const there = sources(dataHome)
  for (const one of there) note(one, () => tailOf(vaultFile(dataHome, one.copy))?.last?.time)
  // Copies that are lost: the views may still have what was said in them, and the list where they were.
  const copies = new Set(there.map(({ copy }) => copy))
  const isLost = ({ session, copy }: (typeof known)[number]): boolean =>
    !copies.has(copy) && !session.startsWith("unknown")
  for (const one of known.filter(isLost)) note(one, () => undefined)
  for (const one of [...readList(dataHome).copies.values()].filter(isLost))
    note(one, () => (one.time > 0 ? one.time : undefined))
  return [...last].filter(([, time]) => time < cutoff).map(([session]) => session)
}
