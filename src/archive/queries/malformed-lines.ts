/** Lines of transcripts that are no JSON objects. The views have only the whole records in them. */
import type { Database } from "../database.ts"

interface Malformed {
  readonly session: string
  readonly lines: number
  /** Whole records that were found in them. */
  readonly rescued: number
}

/** By session, most first. */
export const malformedLines = (db: Database): Malformed[] =>
  db
    .query<Malformed, []>(
      `SELECT session, sum(malformed) AS lines, sum(rescued) AS rescued FROM transcripts WHERE malformed > 0
       GROUP BY session ORDER BY lines DESC, session`,
    )
    .all()
