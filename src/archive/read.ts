/** What commands read from the views and the vault. */

import { compileAsUsual } from "../util/compiling.ts"
import { CtxError, codeOf, EXIT, messageOf, VIEWS_LOST } from "../util/errors.ts"
import { statSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { vaultFiles } from "../vault/walk.ts"
import { type Database, databasePath, openDatabase } from "./database.ts"
import { HANDLE_PREFIX } from "./handle-prefix.ts"
import { catchUp } from "./indexing.ts"
import { openAtOnce } from "./open-at-once.ts"
import { openWhole, repair } from "./open-or-repair.ts"
import { listPending } from "./pending.ts"
import { isUnusable } from "./shape.ts"

/** ms that a command may spend on indexing what hooks have left, before it reads. */
const CATCH_UP = 5000
/** Bytes of a vault whose views can be rebuilt in about the same time. */
const AT_ONCE = 8 << 20

/** Opens the archive for reading, with everything indexed that hooks have archived. */
export function openForReading(dataHome: string): Database {
  const ready = openAtOnce(dataHome)
  if (ready !== undefined) return ready
  const exists = statSync(databasePath(dataHome), { throwIfNoEntry: false }) !== undefined
  if (!exists && listPending(dataHome).length === 0 && vaultFiles(dataHome).length === 0) {
    throw new CtxError("no-archive", `nothing is archived in ${dataHome}`, {
      hint: "ctxbridge install registers the hooks; ctxbridge import archives what already exists",
      exit: EXIT.notFound,
    })
  }
  try {
    return caughtUp(dataHome)
  } catch (error) {
    if (codeOf(error) === VIEWS_LOST) throw error
    // A newer schema, a read-only disk, or another process rebuilding the views: reading is still possible.
    return readable(dataHome)
  }
}

function caughtUp(dataHome: string): Database {
  compileAsUsual()
  const options = { wait: 2000, most: AT_ONCE }
  const db = openWhole(dataHome, options)
  try {
    return followed(db, dataHome)
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
    repair(dataHome, messageOf(error), options)
  }
  return followed(openDatabase(dataHome, options), dataHome)
}

/** Closes the database on failure, or the server would keep its share of the lock for good. */
function followed(db: Database, dataHome: string): Database {
  try {
    catchUp(db, dataHome, performance.now() + CATCH_UP)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function readable(dataHome: string): Database {
  let db: Database | undefined
  try {
    db = openDatabase(dataHome, { wait: 2000, readonly: true })
    db.query("SELECT count(*) FROM turns LIMIT 1").get()
    return db
  } catch (cause) {
    db?.close()
    throw new CtxError("archive-unreadable", `cannot read ${databasePath(dataHome)}: ${messageOf(cause)}`, {
      hint: "the vault does not need it: ctxbridge verify shows what is safe",
      cause,
    })
  }
}

export interface SessionRow {
  readonly id: string
  readonly parent: string | null
  readonly agent: string | null
  readonly title: string | null
  readonly cwd: string | null
  readonly project: string | null
  readonly branch: string | null
  readonly version: string | null
  readonly started: string | null
  readonly ended: string | null
  readonly turns: number
  readonly messages: number
  readonly tools: number
  readonly errors: number
  /** Bytes of its transcripts in the vault. */
  readonly archived: number
  readonly firstPrompt: string | null
}

const SESSION = `
  SELECT s.id, s.parent, s.agent, s.title, s.cwd, p.path AS project, s.branch, s.version, s.started, s.ended,
    (SELECT count(*) FROM turns t WHERE t.session = s.id AND t.via <> 'none') AS turns,
    (SELECT count(*) FROM turns t JOIN messages m ON m.turn = t.id WHERE t.session = s.id) AS messages,
    (SELECT coalesce(sum(t.tools), 0) FROM turns t WHERE t.session = s.id) AS tools,
    (SELECT coalesce(sum(t.errors), 0) FROM turns t WHERE t.session = s.id) AS errors,
    (SELECT coalesce(sum(x.archived), 0) FROM transcripts x WHERE x.session = s.id) AS archived,
    (SELECT t.prompt FROM turns t WHERE t.session = s.id AND t.via NOT IN ('none', 'command') ORDER BY t.seq LIMIT 1)
      AS firstPrompt
  FROM sessions s LEFT JOIN projects p ON p.id = s.project`

export interface SessionFilter {
  readonly project?: string | undefined
  readonly agents?: boolean
  readonly limit: number
}

/** Newest first. */
export function listSessions(db: Database, filter: SessionFilter): SessionRow[] {
  return db
    .query<SessionRow, [string | null, number, number]>(
      // Selected first and counted later, because sorting would otherwise count every session of the archive.
      `${SESSION} WHERE s.id IN (
         SELECT i.id FROM sessions i LEFT JOIN projects q ON q.id = i.project
         WHERE (?1 IS NULL OR q.path = ?1) AND (?2 OR i.parent IS NULL) ORDER BY i.ended DESC, i.id LIMIT ?3)
       ORDER BY s.ended DESC, s.id`,
    )
    .all(filter.project ?? null, filter.agents ? 1 : 0, filter.limit)
}

/** Sessions whose id begins with `prefix`. */
export function findSessions(db: Database, prefix: string): SessionRow[] {
  return db
    .query<SessionRow, [string]>(
      `${SESSION} WHERE substr(s.id, 1, length(?1)) = ?1 ORDER BY s.id = ?1 DESC, s.id`,
    )
    .all(prefix)
}

export interface TurnRow {
  readonly id: number
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly via: string
  readonly prompt: string
  readonly answer: string
  readonly started: string | null
  readonly ended: string | null
  readonly tools: number
  readonly errors: number
  readonly interrupted: number
  readonly takenBack: number
}

/** Columns of a TurnRow. */
export const TURN_COLUMNS =
  "id, handle, session, seq, via, prompt, answer, started, ended, tools, errors, interrupted, taken_back AS takenBack"

const TURN = `SELECT ${TURN_COLUMNS} FROM turns`

export function turnsOf(db: Database, session: string, offset = 0, limit = -1): TurnRow[] {
  return db
    .query<TurnRow, [string, number, number]>(`${TURN} WHERE session = ? ORDER BY seq LIMIT ?3 OFFSET ?2`)
    .all(session, offset, limit)
}

/** Turns whose handle begins with `handle`; its `ctx:` may be missing. */
export function findTurns(db: Database, handle: string): TurnRow[] {
  const bare = handle.startsWith(HANDLE_PREFIX) ? handle.slice(HANDLE_PREFIX.length) : handle
  if (!/^[0-9a-z]+$/.test(bare)) return []
  return db
    .query<TurnRow, [string]>(
      `${TURN} WHERE substr(handle, 1, length(?1)) = ?1 ORDER BY length(handle), handle LIMIT 10`,
    )
    .all(bare)
}

export interface MessageRow {
  readonly id: number
  readonly offset: number
  readonly length: number
  readonly role: string
  readonly sidechain: number
  readonly time: string | null
  readonly copy: string
}

/** A turn's messages in transcript order. */
export function messagesOf(db: Database, turn: number): MessageRow[] {
  return db
    .query<MessageRow, [number]>(
      `SELECT m.id, m.offset, m.length, m.role, m.sidechain, m.time, t.copy
       FROM messages m JOIN transcripts t ON t.id = m.transcript WHERE m.turn = ? ORDER BY m.transcript, m.offset`,
    )
    .all(turn)
}

export interface UsageRow {
  readonly model: string
  readonly input: number
  readonly output: number
  readonly cacheCreation: number
  readonly cacheRead: number
}

/**
 * Tokens of a turn by model; each API message counts once. A subagent's tokens in its parent's transcript do not count
 * for the parent's turn; in the subagent's own transcript they do count for its turns.
 */
export function usageOf(db: Database, turn: number): UsageRow[] {
  return db
    .query<UsageRow, [number]>(
      `SELECT model, sum(input) AS input, sum(output) AS output, sum(cache_creation) AS cacheCreation,
         sum(cache_read) AS cacheRead FROM usage
       WHERE turn = ? AND (sidechain = 0 OR instr(session, '/') > 0) GROUP BY model ORDER BY model`,
    )
    .all(turn)
}

export interface FileRow {
  readonly path: string
  readonly op: string
  readonly count: number
}

export function filesOf(db: Database, turn: number): FileRow[] {
  return db
    .query<FileRow, [number]>("SELECT path, op, count FROM files WHERE turn = ? ORDER BY path, op")
    .all(turn)
}

export interface Totals {
  readonly sessions: number
  readonly subagents: number
  readonly turns: number
  readonly messages: number
  readonly toolCalls: number
  readonly errors: number
  readonly files: number
  readonly transcripts: number
  /** Bytes of transcripts in the vault, uncompressed. */
  readonly archivedBytes: number
  readonly indexedBytes: number
  readonly projects: number
  readonly restores: number
  readonly compactions: number
}

export function totals(db: Database): Totals {
  return db
    .query<Totals, []>(
      `SELECT (SELECT count(*) FROM sessions WHERE parent IS NULL) AS sessions,
        (SELECT count(*) FROM sessions WHERE parent IS NOT NULL) AS subagents,
        (SELECT count(*) FROM turns WHERE via NOT IN ('none', 'brief')) AS turns,
        (SELECT count(*) FROM messages) AS messages,
        (SELECT count(*) FROM tool_calls) AS toolCalls,
        (SELECT count(*) FROM tool_calls WHERE is_error = 1) AS errors,
        (SELECT count(DISTINCT path) FROM files) AS files,
        (SELECT count(*) FROM transcripts) AS transcripts,
        (SELECT coalesce(sum(archived), 0) FROM transcripts) AS archivedBytes,
        (SELECT coalesce(sum(indexed), 0) FROM transcripts) AS indexedBytes,
        (SELECT count(*) FROM projects) AS projects,
        (SELECT count(*) FROM restores WHERE text <> '') AS restores,
        (SELECT count(*) FROM boundaries) AS compactions`,
    )
    .get()!
}

export const vaultFolder = (dataHome: string): string => join(dataHome, "vault")
