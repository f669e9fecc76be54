/** Who asks for nothing in particular is shown the latest, by the clock: ids follow the order in which it was archived. */
import type { Database } from "../archive/database.ts"
import type { Filter } from "./narrowing.ts"
import type { Ranked } from "./rank.ts"

interface Row {
  readonly id: number
  readonly turn: number
  readonly session: string
  readonly time: string | null
}

/** @returns the turns of the latest messages that the filter leaves, each with its latest; at most `limit` */
export function latestTurns(db: Database, filter: Filter, limit: number): Ranked[] {
  const { expression, condition = { sql: "TRUE", values: [] } } = filter
  const [from, values] =
    expression === undefined
      ? ["messages m WHERE", []]
      : ["words CROSS JOIN messages m ON m.id = words.rowid WHERE words MATCH ? AND", [expression]]
  const rows = db
    .query<Row, string[]>(
      `SELECT m.id, m.turn, m.session, m.time FROM ${from} ${condition.sql} ORDER BY m.time DESC, m.id DESC`,
    )
    .iterate(...values, ...condition.values)
  const turns = new Map<number, Ranked>()
  for (const row of rows) {
    if (turns.size >= limit) break
    if (!turns.has(row.turn) && filter.accepts(row))
      turns.set(row.turn, { turn: row.turn, message: row.id, score: 0 })
  }
  return [...turns.values()]
}
