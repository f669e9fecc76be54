/** Rows of notes: sentences worded as constraints, decisions, or attempts in vain. */
import type { Database } from "../database.ts"
import { rowsIn, type Scope, STANDS } from "./scope.ts"

interface Note {
  readonly text: string
  readonly turn: number
  /** Handle of the turn, without its prefix. */
  readonly handle: string
}

/** Newest first in each part of the scope, at most so many of each. */
export const notesIn = (
  db: Database,
  scope: Scope,
  kind: "constraint" | "answer" | "decision" | "refuted",
  most: number,
): Note[] =>
  rowsIn<Note>(
    db,
    scope,
    `SELECT n.text, n.turn, t.handle FROM notes n JOIN turns t ON t.id = n.turn
     WHERE n.session = ?1 AND n.kind = '${kind}' AND n.turn <= ?2 AND ${STANDS}
       AND n.origin NOT IN ('subagent', 'import', 'other') AND instr(n.session, '/') = 0
     ORDER BY n.turn DESC, n.place DESC LIMIT ${most}`,
  )
