/** Rows of files: which turns read, wrote, edited or mentioned a path. */
import type { Database } from "../database.ts"
import { HANDLE_PREFIX } from "../handle-prefix.ts"
import type { Condition } from "./condition.ts"
import { rowsIn, type Scope, STANDS } from "./scope.ts"

export interface TouchedFile {
  readonly path: string
  readonly op: string
  readonly count: number
}

export function filesOf(db: Database, turn: number): TouchedFile[] {
  return db
    .query<TouchedFile, [number]>("SELECT path, op, count FROM files WHERE turn = ? ORDER BY path, op")
    .all(turn)
}

/** @param named a condition on rows `f` of `files` */
export function turnsTouching(db: Database, { sql, values }: Condition): Set<number> {
  const rows = db
    .query<{ turn: number }, string[]>(`SELECT DISTINCT f.turn FROM files f WHERE ${sql}`)
    .all(...values)
  return new Set(rows.map(({ turn }) => turn))
}

/** A path, and the session's folder, which relative paths in commands start from. */
export interface PathIn {
  readonly path: string
  readonly cwd: string | null
}

export interface FileOfTurn extends PathIn {
  readonly op: string
  /** With `ctx:`. */
  readonly handle: string
  readonly time: string | null
  readonly takenBack: number
}

export const filesWithTurn = (db: Database, turn: number): FileOfTurn[] =>
  db
    .query<FileOfTurn, [string, number]>(
      `SELECT f.path, f.op, ? || t.handle AS handle, t.started AS time, t.taken_back AS takenBack, s.cwd
       FROM files f JOIN turns t ON t.id = f.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE f.turn = ? ORDER BY f.path, f.op`,
    )
    .all(HANDLE_PREFIX, turn)

export interface TouchRow extends PathIn {
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly time: string | null
  /** Separated by spaces. */
  readonly ops: string
  /** What was asked for. */
  readonly prompt: string
  /** What the model said it had done. */
  readonly answer: string
  readonly takenBack: number
}

/**
 * One row per turn and path, newest first.
 *
 * @param named a condition on rows `f` of `files`
 */
export const touchRows = (
  db: Database,
  { sql, values }: Condition,
  project: string | undefined,
): TouchRow[] =>
  db
    .query<TouchRow, (string | null)[]>(
      `SELECT ? || t.handle AS handle, t.session, t.seq, t.started AS time, f.path,
         group_concat(f.op, ' ' ORDER BY f.op) AS ops, t.prompt, t.answer, t.taken_back AS takenBack, s.cwd
       FROM files f JOIN turns t ON t.id = f.turn
       LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${sql} AND (? IS NULL OR p.path = ?)
       GROUP BY t.id, f.path ORDER BY t.started DESC, t.id DESC`,
    )
    .all(HANDLE_PREFIX, ...values, project ?? null, project ?? null)

/** The latest turns that changed files, newest first in each part of the scope. */
export const turnsWithChanges = (db: Database, scope: Scope, most: number): number[] =>
  rowsIn<{ turn: number }>(
    db,
    scope,
    `SELECT DISTINCT f.turn FROM files f JOIN turns t ON t.id = f.turn
     WHERE f.session = ?1 AND f.turn <= ?2 AND f.op IN ('edit', 'write') AND ${STANDS}
     ORDER BY f.turn DESC LIMIT ${most}`,
  ).map(({ turn }) => turn)

/** Whether the session changed another file than `path` whose path ends with `end`. */
export const hasNamesake = (db: Database, session: string, path: string, end: string): boolean =>
  db
    .query<{ n: number }, [string, string, string]>(
      `SELECT 1 AS n FROM files WHERE session = ?1 AND op IN ('edit', 'write') AND path <> ?2
       AND substr(path, -length(?3)) = ?3 LIMIT 1`,
    )
    .get(session, path, end) !== null

/** Files that the session changed, the latest first; the same one may come several times. */
export const pathsChanged = (db: Database, session: string, most: number): string[] =>
  db
    .query<{ path: string }, [string]>(
      `SELECT path FROM files WHERE session = ? AND op IN ('edit', 'write') ORDER BY turn DESC LIMIT ${most}`,
    )
    .all(session)
    .map(({ path }) => path)
