/**
 * What an empty query shows: the latest turns by the clock. Ids cannot tell, since they follow the order of archiving.
 */
import type { Database } from "../archive/database.ts"
import { mark } from "../archive/word-index.ts"
import { allOf, anyOf, wordExpression } from "./expression.ts"
import type { Filter } from "./narrowing.ts"
import type { Ranked } from "./rank.ts"

interface Row {
  readonly id: number
  readonly turn: number
  readonly session: string
  readonly time: string | null
}

interface Ended {
  readonly id: string
  readonly ended: string | null
}

/** How many sessions are looked through at a time, last ended first. The first step is nearly always enough. */
const STEPS = [16, 64, Number.MAX_SAFE_INTEGER] as const

/** `/compact` and the like leave nothing to show. */
const SAYS_SOMETHING = "NOT (t.via = 'command' AND t.tools = 0 AND t.answer = '')"

/** @returns the turns of the latest messages that pass the filter, each with its latest message; at most `limit` */
export function latestTurns(db: Database, filter: Filter, limit: number): Ranked[] {
  const sessions = db.query<Ended, []>("SELECT id, ended FROM sessions ORDER BY ended DESC").all()
  let found: Row[] = []
  let from = 0
  for (const step of STEPS) {
    const rows = latestIn(db, filter, sessions.slice(from, from + step))
    found = [...found, ...rows].sort(laterFirst).slice(0, limit)
    from += step
    // All remaining sessions ended before the last turn found.
    const next = sessions[from]
    if (next === undefined || (found.length === limit && (next.ended ?? "") <= (found.at(-1)!.time ?? "")))
      break
  }
  return found.map(({ turn, id }) => ({ turn, message: id, score: 0 }))
}

/** The latest message of each turn in these sessions. */
function latestIn(db: Database, filter: Filter, sessions: readonly Ended[]): Row[] {
  const { expression, condition = { sql: "TRUE", values: [] } } = filter
  const [from, match] =
    expression === undefined
      ? ["turns t CROSS JOIN messages m ON m.turn = t.id WHERE TRUE", []]
      : [
          "words CROSS JOIN messages m ON m.id = words.rowid CROSS JOIN turns t ON t.id = m.turn WHERE words MATCH ?",
          [within(expression, sessions)],
        ]
  const owner = expression === undefined ? "t" : "m"
  return db
    .query<Row, string[]>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT m.id, m.turn, m.session, max(coalesce(m.time, '')) AS time FROM ${from}
       AND ${SAYS_SOMETHING} AND ${owner}.session IN (SELECT value FROM json_each(?)) AND ${condition.sql} GROUP BY m.turn`,
    )
    .all(...match, JSON.stringify(sessions.map(({ id }) => id)), ...condition.values)
    .filter((row) => filter.accepts(row))
}

/** Adds the sessions to the expression, where they are few enough, so the index reads shorter lists. */
function within(expression: string, sessions: readonly Ended[]): string {
  if (sessions.length > STEPS[1]) return expression
  const marks = new Set(sessions.map(({ id }) => wordExpression(mark.session(id))))
  return allOf([expression, anyOf([...marks])])!
}

function laterFirst(a: Row, b: Row): number {
  const [one, other] = [a.time ?? "", b.time ?? ""]
  return one === other ? b.id - a.id : one < other ? 1 : -1
}
