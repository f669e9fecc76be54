/** Calls that edited or wrote files, and the notes that may say why. */
import { isTool } from "../../agents/tool-kinds.ts"
import type { Database } from "../database.ts"
import { HANDLE_PREFIX } from "../handle-prefix.ts"
import type { CallPlace } from "./calls.ts"
import type { Condition } from "./condition.ts"

export interface FileEdit extends CallPlace {
  readonly tool: string
  readonly path: string
  /** With `ctx:`. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly time: string | null
  readonly prompt: string
  readonly answer: string
  readonly takenBack: number
}

/**
 * Those that did not fail, newest first. Where a path does not fit the line that the views have of a call, also those of
 * other files in the same turn.
 *
 * @param named a condition on rows `f` of `files`
 */
export const editsOf = (db: Database, { sql, values }: Condition, project: string | undefined): FileEdit[] =>
  db
    .query<FileEdit, (string | null)[]>(
      `SELECT c.id, c.use, c.result, c.name AS tool, w.path, ? || t.handle AS handle, t.session, t.seq,
         coalesce(m.time, t.started) AS time, t.prompt, t.answer, t.taken_back AS takenBack
       FROM (SELECT DISTINCT f.turn, f.path FROM files f WHERE f.op IN ('edit', 'write') AND ${sql}) w
         JOIN tool_calls c ON c.turn = w.turn AND (c.target = w.path OR length(w.path) > 250 OR w.path GLOB '*[ \t][ \t]*')
         JOIN turns t ON t.id = c.turn
         LEFT JOIN messages m ON m.id = c.use
         LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${isTool("c.name", "edit", "write")} AND c.is_error IS NOT 1 AND c.use IS NOT NULL
         AND (? IS NULL OR p.path = ?)
       ORDER BY time DESC, c.use DESC`,
    )
    .all(HANDLE_PREFIX, ...values, project ?? null, project ?? null)

export interface NoteBefore {
  /** constraint, decision or refuted. */
  readonly kind: string
  readonly text: string
  /** With `ctx:`. */
  readonly handle: string
  readonly seq: number
}

/** Notes of a session's turns up to this one that the user did not take back, the latest first. */
export const notesUpTo = (db: Database, session: string, seq: number, most: number): NoteBefore[] =>
  db
    .query<NoteBefore, [string, string, number, number]>(
      `SELECT n.kind, n.text, ? || t.handle AS handle, t.seq FROM notes n JOIN turns t ON t.id = n.turn
       WHERE n.session = ? AND t.seq <= ? AND t.taken_back = 0 ORDER BY t.seq DESC, n.place DESC LIMIT ?`,
    )
    .all(HANDLE_PREFIX, session, seq, most)
