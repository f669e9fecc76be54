/**
 * Removes what the user wants forgotten from the vault, the views and everything else.
 *
 * The order makes it possible to kill it at any moment and resume it in the next command or the background job: first
 * note what is to be done, then write the tombstones, which keep anything from coming back, then delete.
 */
import { placeBeside, transcriptName } from "../agents/layouts.ts"
import { codeOf, messageOf, throwBusy } from "../base/errors.ts"
import { statsOf, tryTo } from "../base/files.ts"
import { existsSync, mkdirSync, rmdirSync, rmSync } from "../base/fs.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { withLockFile } from "../base/lock.ts"
import { dirname, join } from "../base/path.ts"
import { isNotesSession } from "../base/session-id.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { dropFromList, readList, type ToList } from "../vault/copy-list.ts"
import { forgottenPrompts } from "../vault/forgotten-prompts.ts"
import { isHistoryCopy, isSummaryCopy, vaultFile } from "../vault/layout.ts"
import { withReplacingLock } from "../vault/merge-frames.ts"
import { tailOf } from "../vault/reader.ts"
import { replacementOf, rewriteCopy } from "../vault/rewrite.ts"
import type { Tombstone } from "../vault/tombstone.ts"
import { emptyTombstone, forgottenOf, ownerOf, readTombstone, writeTombstone } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { databasePath } from "../views/database.ts"
import { forgetProjects, projectsFile } from "../views/joined-projects.ts"
import { followVault } from "../views/kept-notes.ts"
import { forgetLabels } from "../views/labels.ts"
import { open } from "../views/open.ts"
import { handlesOf } from "../views/queries/turns.ts"
import type { RebuildReport } from "../views/rebuild-views.ts"
import { recordsFrom } from "../views/records.ts"
import { followRemoval, type Removed } from "../views/removal.ts"
import { refuseNewer } from "../views/replace-database.ts"
import { eraseTraces, type Traces, toldOf } from "../views/session-traces.ts"
import { type Source, sources } from "../views/view-sources.ts"
import { forgetMoves } from "./import-done.ts"
import { dropFromRequests } from "./requests.ts"

interface ForgetOptions {
  /** ms to wait for other processes that forget, merge frames or have the views open. */
  readonly wait: number
  /** Whether these bytes contain what is to be forgotten. Missing on a resume, when anything in doubt is deleted. */
  readonly matches?: (bytes: Uint8Array) => boolean
  /** The sessions whose labels it is to leave; undefined: all. */
  readonly within?: ReadonlySet<string> | undefined
  /** Returns tombstones for anything to forget that was added while we worked. */
  readonly more?: () => readonly Tombstone[]
  readonly onProgress?: (label: string, done: number, total: number) => void
}

interface Forgot {
  /** Copies that were deleted or changed, as paths below `vault/`. */
  readonly deleted: readonly string[]
  readonly changed: readonly string[]
  /** Damaged copies in which text should have been replaced, and the labels if they cannot be read. */
  readonly failed: readonly { readonly copy: string; readonly error: string }[]
  /** How many labels were changed or taken out. */
  readonly labels: number
  /** null if the views needed no change. */
  readonly views: RebuildReport | null
}

/** A hook may recreate a copy while we delete it. The next time it looks, it finds the tombstone. */
const ROUNDS = 3

/**
 * Writes the tombstones and carries them out.
 *
 * @param tombstonesNow makes them once nobody else is forgetting, since they include what is forgotten already
 */
export function forget(
  dataHome: string,
  tombstonesNow: () => readonly Tombstone[],
  options: ForgetOptions,
): Forgot {
  return alone(dataHome, options.wait, () => {
    // Views that cannot be rebuilt would still contain what the vault has forgotten.
    refuseNewer(databasePath(dataHome))
    const tombstones = tombstonesNow()
    // Before anything is noted: whoever finishes what was interrupted does not know what to look for in them.
    const before = forgetLabels(dataHome, options).labels
    noteUnfinished(dataHome, tombstones)
    for (const one of tombstones) writeTombstone(dataHome, one)
    const done = finish(dataHome, options)
    return { ...done, labels: before + done.labels }
  })
}

/** Finishes what a killed process began; undefined if there was nothing to do. */
export function resumeForgetting(dataHome: string, options: ForgetOptions): Forgot | undefined {
  if (unfinished(dataHome).length === 0) return undefined
  return alone(dataHome, options.wait, () =>
    // Whoever was at work may have finished it.
    unfinished(dataHome).length === 0 ? undefined : finish(dataHome, options),
  )
}

function alone<T>(dataHome: string, wait: number, work: () => T): T {
  mkdirSync(dataHome, { recursive: true, mode: 0o700 })
  return withLockFile(join(dataHome, "forget.lock"), wait, work, () =>
    throwBusy("another process is forgetting"),
  )
}

const unfinishedFile = (dataHome: string): string => join(dataHome, "forgotten", "unfinished")

function noteUnfinished(dataHome: string, tombstones: readonly Tombstone[]): void {
  const all = new Set([...unfinished(dataHome), ...tombstones.map(({ session }) => session)])
  writeJson(unfinishedFile(dataHome), [...all])
}

/** Sessions with something to forget that may not be done yet. */
export const unfinished = (dataHome: string): string[] =>
  (readJson(unfinishedFile(dataHome)) as string[] | undefined) ?? []

function finish(dataHome: string, options: ForgetOptions): Forgot {
  const { wait, onProgress, matches, within, more } = options
  const traces = tracesOf(dataHome, matches)
  const done = {
    ...{ deleted: new Set<string>(), changed: new Set<string>(), failed: new Map<string, string>() },
    labels: 0,
  }
  let views: RebuildReport | undefined
  for (let round = 0; ; round++) {
    const touched = withReplacingLock(dataHome, wait, () => clean(dataHome, done))
    if (touched === undefined) notAll("another process is merging the vault's frames")
    const { labels, failed } = forgetLabels(dataHome, { ...traces, within })
    done.labels += labels
    for (const { copy, error } of failed) done.failed.set(copy, error)
    const erased = labels + eraseTraces(dataHome, traces)
    dropFromRequests(dataHome, (path) => traces.whole.has(transcriptName(path).session ?? path))
    if (round > 0 && (touched + erased === 0 || round === ROUNDS)) break
    // The vault has nothing of these sessions, so the views have nothing either.
    if (traces.sessions.size === 0) break
    const sessions = new Set(unfinished(dataHome))
    views = followRemoval(dataHome, (session, path) => removedOf(dataHome, sessions, session, path), {
      now: Date.now(),
      wait,
      onProgress: (at, total) => onProgress?.("reading", at, total),
    })
    const late = more?.() ?? []
    if (late.length > 0) noteUnfinished(dataHome, late)
    for (const one of late) writeTombstone(dataHome, one)
  }
  followVault(dataHome)
  if (traces.whole.size > 0) forgetMoved(dataHome, wait)
  rmSync(unfinishedFile(dataHome), { force: true })
  return {
    deleted: [...done.deleted],
    changed: [...done.changed],
    failed: [...done.failed].map(([copy, error]) => ({ copy, error })),
    labels: done.labels,
    views: views ?? null,
  }
}

/** Of a project of which nothing is left, nobody is to know where it was. */
function forgetMoved(dataHome: string, wait: number): void {
  if (!existsSync(projectsFile(dataHome))) return
  {
    using db = open(dataHome, "write", wait)
    forgetProjects(db, dataHome)
  }
  forgetMoves(dataHome)
}

/** Whatever was removed in an earlier attempt counts, too, since that may have been killed before the views followed. */
function removedOf(
  dataHome: string,
  sessions: ReadonlySet<string>,
  session: string,
  path: string,
): Removed | undefined {
  const owner = ownerOf(session, path)
  if (!sessions.has(owner)) return undefined
  const isWhole = (of: string): boolean => forgottenOf(dataHome, session, of)?.whole === true
  // Of the session of a forgotten subagent, only a file beside its transcript may be forgotten.
  if (isWhole(path)) return placeBeside(path) === undefined || isWhole(session) ? "whole" : "text"
  return Object.keys(readTombstone(dataHome, owner)?.lines ?? {}).length > 0 ? "text" : undefined
}

function notAll(what: string): never {
  throwBusy(
    `${what}; not everything is forgotten yet`,
    "run it again in a moment; the background job goes on with it, too",
  )
}

interface Done {
  readonly deleted: Set<string>
  readonly changed: Set<string>
  readonly failed: Map<string, string>
}

/** @returns how many copies were deleted or changed */
function clean(dataHome: string, done: Done): number {
  const sessions = new Set(unfinished(dataHome))
  const known = new Map(sources(dataHome).map((one) => [one.copy, one]))
  let touched = 0
  for (const { copy } of vaultFiles(dataHome)) {
    const source = known.get(copy)
    // Without a readable header, only the copy's name tells which session it belongs to.
    const session = source?.session ?? sessionNamed(copy, sessions)
    const path = source?.path ?? copy
    if (session === undefined || !(isHistoryCopy(copy) || sessions.has(ownerOf(session, path)))) continue
    const forgotten = isHistoryCopy(copy) ? forgottenPrompts(dataHome) : forgottenOf(dataHome, session, path)
    if (forgotten === undefined) continue
    const file = vaultFile(dataHome, copy)
    if (forgotten.whole) {
      remove(dataHome, file)
      done.deleted.add(copy)
      touched++
      continue
    }
    try {
      if ((rewriteCopy(file, forgotten.edit)?.changed ?? 0) === 0) continue
      done.changed.add(copy)
      touched++
    } catch (error) {
      if (codeOf(error) === "busy") notAll("a transcript is constantly being archived")
      done.failed.set(copy, messageOf(error))
    }
  }
  const isGone = ({ session, path }: ToList & { readonly path: string }): boolean =>
    sessions.has(ownerOf(session, path)) && forgottenOf(dataHome, session, path)?.whole === true
  if (!dropFromList(dataHome, isGone)) notAll("another process is writing the vault's list")
  return touched
}

const sessionNamed = (copy: string, sessions: ReadonlySet<string>): string | undefined =>
  copy
    .split("/")
    .map((part) => part.replace(/(\.~\d+)?(\.jsonl)?\.zst$/, ""))
    .find((part) => sessions.has(part))

/** A writer that has the file open writes to a deleted file; one that waits for its lock then finds the tombstone. */
function remove(dataHome: string, file: string): void {
  for (const path of [replacementOf(file), file]) rmSync(path, { force: true })
  for (let folder = dirname(file); folder !== join(dataHome, "vault"); folder = dirname(folder)) {
    try {
      rmdirSync(folder)
    } catch {
      return
    }
  }
}

interface AllTraces extends Traces {
  /** Handles, with their prefix, of the turns that the views have of sessions that are removed altogether. */
  readonly handles: ReadonlySet<string>
}

function tracesOf(dataHome: string, matches: Traces["matches"]): AllTraces {
  const sessions = new Set(unfinished(dataHome))
  const whole = new Set([...sessions].filter((one) => readTombstone(dataHome, one)?.whole))
  const { told, handles } =
    tryTo(() => {
      using db = open(dataHome, "look")
      return { told: toldOf(db, sessions), handles: handlesOf(db, [...whole]) }
    }) ?? {}
  return {
    sessions,
    whole,
    told,
    handles: new Set(handles?.map((one) => HANDLE_PREFIX + one)),
    ...(matches === undefined ? {} : { matches }),
  }
}

/* Sessions to forget as a whole: what the vault holds of them, and their tombstones. */

export interface Leaving {
  /** A session, including its subagents, or a single `<session>/<agent>`. */
  readonly session: string
  /** Copies below `vault/`, including those of transcripts that Claude Code has since rewritten. */
  readonly copies: readonly string[]
  /** Bytes of the copies on disk. */
  readonly bytes: number
  /** Where Claude Code keeps or kept its transcripts. */
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
