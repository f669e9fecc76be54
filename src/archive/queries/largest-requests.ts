/** The request of a session that sent most, and where its messages are in the session's transcript. */
import type { Database } from "../database.ts"
import { FIRST_PROMPT } from "./turn-kinds.ts"

export interface LargestRequest {
  readonly session: string
  readonly title: string
  /** message.id of the answer. */
  readonly answer: string
  readonly tokens: number
  /** Below `vault/`. */
  readonly copy: string
  /** Offset of a line from which on the transcript has all that was sent. */
  readonly from: number
}

const ORDERS = { latest: "s.ended DESC", largest: "l.tokens DESC" } as const

/** Sessions in which a model answered, without subagents. */
export const largestRequests = (db: Database, order: keyof typeof ORDERS, limit: number): LargestRequest[] =>
  db
    .query<LargestRequest, [number]>(
      // From the last compaction but one, for what the last one has kept.
      `WITH largest AS (
         SELECT session, message, turn, max(input + cache_read + cache_creation) AS tokens
         FROM usage WHERE sidechain = 0 GROUP BY session)
       SELECT l.session, l.message AS answer, l.tokens, x.copy,
         coalesce(nullif(s.title, ''), ${FIRST_PROMPT}, l.session) AS title,
         coalesce((SELECT b.offset FROM boundaries b WHERE b.transcript = t.transcript AND b.offset < t.first
           ORDER BY b.offset DESC LIMIT 1 OFFSET 1), 0) AS "from"
       FROM largest l JOIN sessions s ON s.id = l.session JOIN turns t ON t.id = l.turn
       JOIN transcripts x ON x.id = t.transcript
       WHERE s.parent IS NULL AND l.tokens > 0 ORDER BY ${ORDERS[order]}, l.session LIMIT ?`,
    )
    .all(limit)
