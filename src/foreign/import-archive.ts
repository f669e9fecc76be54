/** Imports another tool's archive into the vault, one copy per session. Needs no database of ours. */

import { isExcludedFolder } from "../archive/excluded.ts"
import { markPending } from "../archive/pending.ts"
import type { Paths, Policy } from "../config/load.ts"
import { messageOf } from "../util/errors.ts"
import { join } from "../util/path.ts"
import { sha256Of } from "../util/sha256.ts"
import { appendMade } from "../vault/append-made.ts"
import { vaultFile } from "../vault/layout.ts"
import { setAsideIfDamaged } from "../vault/set-aside.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { type Copies, copiesBySession, isHeldIn } from "./already-archived.ts"
import type { ForeignSession, Tool } from "./foreign-session.ts"
import { firstLine, type MadeLine, markedLine, type Provenance, sessionName } from "./marked-lines.ts"
import { openForeignArchive } from "./open-archive.ts"

interface Lines {
  readonly taken: number
  readonly known: number
  readonly held: number
  readonly forgotten: number
  readonly excluded: number
}

const NONE: Lines = { taken: 0, known: 0, held: 0, forgotten: 0, excluded: 0 }

type TakenSession = Pick<TakenArchive, "lines" | "before" | "taken">

const nothing = (lines: Partial<Lines>): TakenSession => ({
  lines: { ...NONE, ...lines },
  before: 0,
  taken: 0,
})

export interface TakenArchive {
  readonly tool: Tool
  readonly sessions: number
  /**
   * Counts of lines: new ones, ones imported before, ones whose text the vault already has from the host, and ones of
   * sessions that the user wants forgotten, or whose folder is excluded.
   */
  readonly lines: Lines
  /** Bytes of lines that the vault had before, and of new ones. */
  readonly before: number
  readonly taken: number
  /** Why not all of it could be taken, as far as it is readable and the vault can be written. */
  readonly error: string | undefined
}

interface TakeArchiveOptions extends Pick<Paths, "dataHome" | "home">, Policy {
  /** Folder for a copy of a database that is in use. */
  readonly scratch: string
  readonly dryRun: boolean
  /** First set aside copies that are damaged, so that their sessions are taken again. */
  readonly check: boolean
}

/**
 * One session that cannot be taken must not keep the others out.
 *
 * @param file absolute path
 * @throws CtxError `foreign-damaged`, `foreign-unknown`, `foreign-busy`, before anything is taken
 */
export function takeArchive(file: string, options: TakeArchiveOptions): TakenArchive {
  const archive = openForeignArchive(file, options.scratch)
  try {
    const from: Provenance = { tool: archive.tool, file, sha256: sha256Of(file) }
    const copies = copiesBySession(options.dataHome)
    const lines = { ...NONE }
    const errors: string[] = []
    let sessions = 0
    let before = 0
    let taken = 0
    try {
      for (const session of archive.sessions()) {
        try {
          const one = takeSession(session, from, copies, options)
          for (const kind of Object.keys(lines) as (keyof typeof lines)[]) lines[kind] += one.lines[kind]
          if (one.lines.taken + one.lines.known > 0) sessions++
          before += one.before
          taken += one.taken
        } catch (error) {
          errors.push(`session ${sessionName(session.id, archive.tool)}: ${messageOf(error)}`)
        }
      }
    } catch (error) {
      // A row that cannot be read: nothing comes after it.
      errors.push(messageOf(error))
    }
    const [first] = errors
    const error = errors.length > 1 ? `${first}; and ${errors.length - 1} more` : first
    return { tool: archive.tool, sessions, lines, before, taken, error }
  } finally {
    archive.close()
  }
}

function takeSession(
  session: ForeignSession,
  from: Provenance,
  copies: Copies,
  options: TakeArchiveOptions,
): TakenSession {
  const { dataHome, dryRun, check, secrets } = options
  const all = session.items.length
  if (session.cwd !== undefined && isExcludedFolder(options, session.cwd)) return nothing({ excluded: all })
  const name = sessionName(session.id, from.tool)
  // No such file exists: the path records the source and the session. Without `~` it would be below the archive, which
  // is not a folder.
  const path = join(`${from.file}~`, `${name}.jsonl`)
  // Under either name, because the tool recorded a session of the host.
  const wishes = [session.id, name].flatMap((id) => forgottenOf(dataHome, id, path) ?? [])
  if (wishes.some(({ whole }) => whole)) return nothing({ forgotten: all })
  const isHeld = isHeldIn(copies.get(session.id) ?? [])
  const fresh = session.items.filter((item) => !isHeld(item))
  const wanted = distinct(fresh.map((item) => markedLine(session, item, from)))
  const held = all - fresh.length
  if (wanted.length === 0) return nothing({ held })
  const first = firstLine(session, from)
  const copy = join("imported", from.tool, `${name}.jsonl.zst`)
  if (check && !dryRun) setAsideIfDamaged(vaultFile(dataHome, copy), path, Date.now())
  let chosen: MadeLine[] = []
  const made = appendMade({
    copy: vaultFile(dataHome, copy),
    path,
    now: Date.now(),
    dryRun,
    secrets,
    edit: (content) => wishes.reduce((text, { edit }) => edit(text, 0), content),
    choose: (there) => {
      const known = uuidsIn(there)
      chosen = wanted.filter(({ uuid }) => !known.has(uuid))
      if (chosen.length === 0) return []
      return (known.has(first.uuid) ? chosen : [first, ...chosen]).map(({ text }) => text)
    },
    onBegin: () => markPending(dataHome, { path, copy, session: name }),
  })
  const known = wanted.length - chosen.length
  return { lines: { ...NONE, taken: chosen.length, known, held }, ...made }
}

/** The tools store some rows twice. */
function distinct(lines: readonly MadeLine[]): MadeLine[] {
  const seen = new Set<string>()
  return lines.filter(({ uuid }) => !seen.has(uuid) && seen.add(uuid))
}

function uuidsIn(contents: Iterable<Uint8Array>): Set<string> {
  const found = new Set<string>()
  for (const content of contents) {
    for (const line of Buffer.from(content).toString("utf8").split("\n")) {
      if (line !== "") found.add(String((JSON.parse(line) as { uuid: unknown }).uuid))
    }
  }
  return found
}
