/** Lines of transcripts that are no JSON objects, so that the views have nothing of them. */
import type { Database } from "../database.ts"

interface Malformed {
  readonly session: string
  readonly lines: number
}

/** By session, most first. */
export const malformedLines = (db: Database): Malformed[] =>
  db
    .query<Malformed, []>(
      `SELECT session, sum(malformed) AS lines FROM transcripts WHERE malformed > 0
       GROUP BY session ORDER BY lines DESC, session`,
    )
    .all()
