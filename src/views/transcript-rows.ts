/** The transcripts that the archive knows: where their copies are, and how far the views have followed. */
import type { Origin } from "../agents/origin.ts"
import type { TranscriptRecord } from "../record/types.ts"
import type { Segment } from "../vault/copy-file.ts"
import { readList } from "../vault/copy-list.ts"
import {
  isBesideCopy,
  isFetchedCopy,
  isHistoryCopy,
  isOthersCopy,
  isSuperseded,
  supersededPath,
  vaultFile,
} from "../vault/layout.ts"
import type { KnownCopy } from "../vault/lost-copies.ts"
import type { Pending } from "../vault/pending.ts"
import { tailOf } from "../vault/reader.ts"
import { tailHash, withSource } from "../vault/source-file.ts"
import type { Database } from "./database.ts"
import { isInFolder, projectOf } from "./project.ts"
import { joinedProjects } from "./queries/projects.ts"

export interface TranscriptRow {
  readonly id: number
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string
  readonly copyId: string
  readonly session: string
  /** Bytes in the vault. */
  readonly archived: number
  /** Bytes that the views have followed. */
  readonly indexed: number
  /** The turn still growing. */
  readonly turn: number | null
}

const COLUMNS = "id, path, copy, copy_id AS copyId, session, archived, indexed, turn"

export function transcriptByCopy(db: Database, copy: string): TranscriptRow | undefined {
  return (
    db.query<TranscriptRow, [string]>(`SELECT ${COLUMNS} FROM transcripts WHERE copy = ?`).get(copy) ??
    undefined
  )
}

export function transcriptById(db: Database, id: number): TranscriptRow | undefined {
  return (
    db.query<TranscriptRow, [number]>(`SELECT ${COLUMNS} FROM transcripts WHERE id = ?`).get(id) ?? undefined
  )
}

/** Without the files beside them. */
export function transcriptsOf(db: Database, session: string): TranscriptRow[] {
  return db
    .query<TranscriptRow, [string]>(`SELECT ${COLUMNS} FROM transcripts WHERE session = ? ORDER BY id`)
    .all(session)
    .filter(({ copy }) => !isBesideCopy(copy))
}

/**
 * The transcript in which the session continues. What it was before Claude Code rewrote it may have arrived later.
 *
 * @param path of the transcript, if known: a session may have been resumed in another folder
 * @returns one of this machine's own, if there is one
 */
export function currentTranscript(db: Database, session: string, path?: string): TranscriptRow | undefined {
  const all = transcriptsOf(db, session)
  const there = all.filter(({ copy }) => copy.endsWith(".zst") && !isSuperseded(copy))
  const own = there.filter(({ copy }) => !isFetchedCopy(copy))
  const current = own.length > 0 ? own : there
  return current.findLast((one) => one.path === path) ?? current.at(-1) ?? all.at(-1)
}

/**
 * Whether the copy has its session's prompts as the user's own, so that those in the list of all prompts are passed over:
 * neither a file beside a transcript has them, nor a mirror that others may have written.
 */
export const hasPrompts = (copy: string): boolean =>
  !(isHistoryCopy(copy) || isOthersCopy(copy) || isBesideCopy(copy))

/**
 * Records how far a copy has come. A copy with another id than the known one is a new transcript to the views: Claude
 * Code rewrote the file, and the old row follows the old copy to its new place.
 *
 * @returns undefined if there is no such copy
 */
export function noteCopy(db: Database, dataHome: string, found: Pending): TranscriptRow | undefined {
  const tail = tailOf(vaultFile(dataHome, found.copy))
  if (tail === undefined) return undefined
  const archived = tail.last?.to ?? 0
  const { id } = tail.header
  const known = transcriptByCopy(db, found.copy)
  if (known?.copyId === id) {
    if (known.archived !== archived) {
      db.query("UPDATE transcripts SET archived = ? WHERE id = ?").run(archived, known.id)
    }
    return { ...known, archived }
  }
  if (known !== undefined && tail.last !== undefined && isBegunAgain(dataHome, found, known, tail.last)) {
    db.query("UPDATE transcripts SET copy_id = ?, archived = ? WHERE id = ?").run(id, archived, known.id)
    return { ...known, copyId: id, archived }
  }
  noteFormer(db, dataHome, found)
  if (hasPrompts(found.copy)) dropPromptsOnly(db, found.session)
  const row = db
    .query<{ id: number }, [string, string, string, string, number]>(
      `INSERT INTO transcripts (path, copy, copy_id, session, archived) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (copy_id) DO UPDATE SET copy = excluded.copy, archived = excluded.archived RETURNING id`,
    )
    .get(found.path, found.copy, id, found.session, archived)
  return transcriptById(db, row!.id)
}

/**
 * Whether a copy that was lost has been begun again by a hook, from the same transcript: then all that the views know of
 * the former one is where it was.
 */
function isBegunAgain(dataHome: string, found: Pending, known: TranscriptRow, last: Segment): boolean {
  for (let n = 1; ; n++) {
    const former = tailOf(vaultFile(dataHome, formerOf(found, n).copy))
    if (former === undefined) break
    if (former.header.id === known.copyId) return false
  }
  const listed = readList(dataHome).copies.get(known.copyId)
  if (listed === undefined || listed.to < known.indexed || last.to < known.indexed) return false
  const isOf = (end: number, hash: string): boolean =>
    withSource(found.path, (fd, size) => size >= end && tailHash(fd, end).toString(16) === hash) ?? false
  return isOf(listed.to, listed.hash) && isOf(last.to, last.tailHash.toString(16))
}

/**
 * Makes room for a new copy: the rows of those that were set aside before it follow them to their places. These rows
 * come first, because what is said in one turn is ordered by transcript, then by offset.
 */
function noteFormer(db: Database, dataHome: string, found: Pending): void {
  for (let n = 1; noteCopy(db, dataHome, formerOf(found, n)) !== undefined; n++);
  // A copy that is gone altogether gets a path that no file has.
  db.query("UPDATE transcripts SET copy = copy || '#' || copy_id WHERE copy = ?").run(found.copy)
}

/** The `n`th of the copies that Claude Code's rewriting has left of a transcript. */
export const formerOf = (found: Pending, n: number): Pending => ({
  ...found,
  copy: supersededPath(found.copy, n),
})

interface CopyOfSession {
  readonly copy: string
  readonly session: string
  readonly project: string | null
  readonly ended: string | null
  readonly program: string | null
}

export const allCopies = (db: Database): CopyOfSession[] =>
  db
    .query<CopyOfSession, []>(
      `SELECT t.copy, t.session, p.path AS project, s.ended, s.program FROM transcripts t
         LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project`,
    )
    .all()

/** A copy that is gone altogether gets a path that no file has (`noteFormer`). */
export const goneEnding = (id: string): string => `#${id}`

/** Ids of the copies that the views know to be gone. */
export const goneCopies = (db: Database): string[] =>
  db
    .query<{ id: string }, []>("SELECT copy_id AS id FROM transcripts WHERE copy NOT LIKE '%.zst'")
    .all()
    .map(({ id }) => id)

const placeOf = ({ id, copy }: KnownCopy): string =>
  copy.endsWith(goneEnding(id)) ? copy.slice(0, -goneEnding(id).length) : copy

/** What the views know of copies; those that are gone, too, by their former places. */
export const knownCopies = (db: Database): KnownCopy[] =>
  db
    .query<KnownCopy, []>(
      'SELECT copy_id AS id, copy, path, session, max(archived, indexed) AS "to" FROM transcripts',
    )
    .all()
    .map((one) => ({ ...one, copy: placeOf(one) }))

/* What a transcript's lines tell about their session → its row. */

export class SessionRows {
  readonly #db: Database
  readonly #session: string
  #isKnown = false
  #projectId: number | undefined
  #version: string | undefined
  #branch: string | undefined
  #model: string | undefined
  #isSpawned: boolean | undefined
  #lastTime: string | undefined
  #title: { readonly text: string; readonly origin: Origin } | undefined

  constructor(db: Database, session: string) {
    this.#db = db
    this.#session = session
  }

  note(record: TranscriptRecord): void {
    if (record.timestamp !== undefined) this.#lastTime = record.timestamp
    if (record.version !== undefined) this.#version = record.version
    if (record.gitBranch !== undefined) this.#branch = record.gitBranch
    if (record.model !== undefined) this.#model = record.model
    if (this.#isKnown || (record.cwd === undefined && record.parts.length === 0)) return
    this.#isKnown = record.cwd !== undefined
    // Once a session has a project, it stays there, wherever it continues.
    const place =
      this.project() !== undefined || record.cwd === undefined
        ? undefined
        : sessionPlaceOf(this.#db, record.cwd)
    const [parent, agent] = splitSession(this.#session)
    const { spawned } = record
    this.#isSpawned = undefined
    this.#db
      .query(
        `INSERT INTO sessions (id, project, own, parent, agent, cwd, branch, version, started, program)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT (id) DO UPDATE SET project = coalesce(project, excluded.project),
           own = iif(project IS NULL, excluded.own, own), cwd = coalesce(cwd, excluded.cwd),
           started = coalesce(started, excluded.started), program = coalesce(program, excluded.program),
           parent = iif(?11, coalesce(parent, excluded.parent), parent),
           agent = iif(?11, coalesce(agent, excluded.agent), agent)`,
      )
      .run(
        this.#session,
        place?.project ?? null,
        place?.own ?? null,
        parent ?? spawned?.parent ?? null,
        agent ?? spawned?.name ?? null,
        record.cwd ?? null,
        record.gitBranch ?? null,
        record.version ?? null,
        record.timestamp ?? null,
        record.program ?? null,
        // A fork also has the first line of the session that it began with.
        record.sessionId === this.#session ? 1 : 0,
      )
  }

  /** Whether another session has started it, so that no human speaks in it. */
  isSpawned(): boolean {
    this.#isSpawned ??=
      this.#db
        .query<{ n: number }, [string]>("SELECT parent IS NOT NULL AS n FROM sessions WHERE id = ?")
        .get(this.#session)?.n === 1
    return this.#isSpawned
  }

  /** What the lines have named for the answers that follow; empty if they have named none. */
  model(): string {
    this.#model ??=
      this.#db
        .query<{ model: string | null }, [string]>("SELECT model FROM sessions WHERE id = ?")
        .get(this.#session)?.model ?? ""
    return this.#model
  }

  /** A name that the user gave stands until the user gives another, whatever is generated meanwhile. */
  name(text: string, origin: Origin): void {
    if (origin === "human" || this.#title?.origin !== "human") this.#title = { text, origin }
  }

  /** Row id of the project of its folder, once known, whatever that is joined with. */
  project(): number | undefined {
    this.#projectId ??=
      this.#db
        .query<{ project: number | null }, [string]>(
          "SELECT coalesce(own, project) AS project FROM sessions WHERE id = ?",
        )
        .get(this.#session)?.project ?? undefined
    return this.#projectId
  }

  /** Written only after the last line, whose values count. */
  flush(): void {
    const seen = [
      this.#lastTime,
      this.#title?.text,
      this.#title?.origin,
      this.#version,
      this.#branch,
      this.#model || undefined,
    ]
    if (seen.every((value) => value === undefined)) return
    const isKept = "title_origin = 'human' AND ?3 IS NOT 'human'"
    this.#db
      .query(
        `UPDATE sessions SET ended = coalesce(?1, ended), title = iif(${isKept}, title, coalesce(?2, title)),
           title_origin = iif(${isKept}, title_origin, coalesce(?3, title_origin)), version = coalesce(?4, version),
           branch = coalesce(?5, branch), model = coalesce(?6, model) WHERE id = ?7`,
      )
      .run(...seen.map((value) => value ?? null), this.#session)
  }
}

function splitSession(session: string): [parent: string | undefined, agent: string | undefined] {
  const slash = session.indexOf("/")
  return slash < 0 ? [undefined, undefined] : [session.slice(0, slash), session.slice(slash + 1)]
}

/** The project of a folder, and its own if that is joined with another. */
function sessionPlaceOf(
  db: Database,
  cwd: string,
): { readonly project: number; readonly own: number | null } {
  const { id, joined } = projectRow(db, nameOf(db, cwd))
  return joined === null ? { project: id, own: null } : { project: joined, own: id }
}

/** Of a folder that is gone, only a joined project tells that it was in a repository. */
function nameOf(db: Database, cwd: string): string {
  const path = projectOf(cwd)
  if (path !== cwd) return path
  return joinedProjects(db).find((one) => isInFolder(cwd, one)) ?? path
}

const projectRow = (db: Database, path: string): { id: number; joined: number | null } =>
  db
    .query<{ id: number; joined: number | null }, [string]>(
      "INSERT INTO projects (path) VALUES (?) ON CONFLICT DO UPDATE SET path = path RETURNING id, joined",
    )
    .get(path)!

/** Takes out what was known of a session only from the list of all prompts (ingest.ts). Call when its transcript has come. */
function dropPromptsOnly(db: Database, session: string): void {
  if (db.query("SELECT 1 FROM sessions WHERE id = ? AND prompts_only = 1").get(session) === null) return
  const turns = "SELECT id FROM turns WHERE session = ?1 AND via = 'history'"
  for (const rows of [`notes WHERE turn IN (${turns})`, `messages WHERE turn IN (${turns})`])
    db.query(`DELETE FROM ${rows}`).run(session)
  db.query("DELETE FROM turns WHERE session = ? AND via = 'history'").run(session)
  // What others have written in a session of that name stays.
  db.query("UPDATE sessions SET prompts_only = 0 WHERE id = ?").run(session)
  db.query("DELETE FROM sessions WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM turns WHERE session = ?1)").run(
    session,
  )
}
