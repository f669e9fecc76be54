/** Rows of what was learnt: how often what restores showed was used, by project, and the weight that this gives. */
import type { Database } from "../database.ts"

export interface LearnedRow {
  /** path, command, name. */
  readonly kind: string
  /** What is known of facts like it (restore/slots.ts); "" for an item. */
  readonly cell: string
  /** A path, command or name of which more is known; "" for all of a cell. */
  readonly item: string
  /** How often it was shown, or left out by chance. */
  readonly shown: number
  readonly used: number
  readonly weight: number
}

export const learnedRows = (db: Database, project: number): LearnedRow[] =>
  db
    .query<LearnedRow, [number]>(
      "SELECT kind, cell, item, shown, used, weight FROM learned WHERE project = ? ORDER BY kind, item, cell",
    )
    .all(project)

/** Replaces what was learnt in a project. */
export function setLearned(db: Database, project: number, rows: readonly LearnedRow[]): void {
  db.query("DELETE FROM learned WHERE project = ?").run(project)
  const insert = db.query(
    "INSERT INTO learned (project, kind, cell, item, shown, used, weight) VALUES (?, ?, ?, ?, ?, ?, ?)",
  )
  for (const { kind, cell, item, shown, used, weight } of rows)
    insert.run(project, kind, cell, item, shown, used, weight)
}
