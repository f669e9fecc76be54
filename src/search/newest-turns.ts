/**
 * What an empty query shows: the latest turns by the clock. Ids cannot tell, since they follow the order of archiving.
 */
import type { Database } from "../archive/database.ts"
import { type LatestRow, latestMessages } from "../archive/queries/messages.ts"
import { type EndedSession, sessionsByEnd } from "../archive/queries/sessions.ts"
import { mark } from "../archive/word-index.ts"
import { allOf, anyOf, wordExpression } from "./fts-expression.ts"
import type { Filter } from "./narrowing.ts"
import type { Ranked } from "./rank.ts"

/** How many sessions are looked through at a time, last ended first. The first step is nearly always enough. */
const STEPS = [16, 64, Number.MAX_SAFE_INTEGER] as const

/** @returns the turns of the latest messages that pass the filter, each with its latest message; at most `limit` */
export function newestTurns(db: Database, filter: Filter, limit: number): Ranked[] {
  const sessions = sessionsByEnd(db)
  let found: LatestRow[] = []
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

function latestIn(db: Database, filter: Filter, sessions: readonly EndedSession[]): LatestRow[] {
  const { expression, condition } = filter
  const ids = sessions.map(({ id }) => id)
  const rows = latestMessages(db, ids, expression && within(expression, sessions), condition)
  return rows.filter((row) => filter.accepts(row))
}

/** Adds the sessions to the expression, where they are few enough, so the index reads shorter lists. */
function within(expression: string, sessions: readonly EndedSession[]): string {
  if (sessions.length > STEPS[1]) return expression
  const marks = new Set(sessions.map(({ id }) => wordExpression(mark.session(id))))
  return allOf([expression, anyOf([...marks])])!
}

function laterFirst(a: LatestRow, b: LatestRow): number {
  const [one, other] = [a.time ?? "", b.time ?? ""]
  return one === other ? b.id - a.id : one < other ? 1 : -1
}
