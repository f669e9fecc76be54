/** Requests to models, one by one: for sums by day, model, project or session. */
import type { Tokens } from "../../transcript/types.ts"
import type { Database } from "../database.ts"
import { type StatsSpan, spanValues } from "./span.ts"
import { IS_ORIGINS } from "./token-use.ts"

export interface ModelRequest extends Tokens {
  /** That of the human: a subagent's requests are its parent's. */
  readonly session: string
  readonly project: string | null
  readonly model: string
  /** ISO 8601. */
  readonly time: string | null
  /** Of `cacheCreation`, what is kept for an hour. */
  readonly cacheHour: number
}

/**
 * Each API message once, whichever transcripts have copies of it: a fork's copies are its origin's, and of copies that
 * nothing else tells apart, one with the most output counts, since earlier ones were written before the answer was whole.
 */
export const requestsIn = (db: Database, span: StatsSpan): Iterable<ModelRequest> =>
  db
    .query<ModelRequest & { most: number }, ReturnType<typeof spanValues>>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT coalesce(s.parent, u.session) AS session, p.path AS project, u.model, coalesce(u.time, t.started) AS time,
         u.input, u.output, u.cache_creation AS cacheCreation, u.cache_read AS cacheRead, u.cache_hour AS cacheHour,
         max(u.output) AS most
       FROM usage u JOIN turns t ON t.id = u.turn LEFT JOIN sessions s ON s.id = u.session
         LEFT JOIN projects p ON p.id = s.project
       WHERE ($project IS NULL OR s.project = $project)
         AND ($since IS NULL OR coalesce(u.time, t.started) >= $since)
         AND NOT ${IS_ORIGINS}
       GROUP BY u.message`,
    )
    .iterate(spanValues(span))
