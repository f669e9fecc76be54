/** The host's own figures of a query or process → rows of the views. */
import type { HostResult } from "../transcript/types.ts"
import type { Database } from "./database.ts"
import { hash } from "./identity.ts"
import type { TranscriptRow } from "./transcript-rows.ts"
import type { Line } from "./turn-growth.ts"

/**
 * A copy in a transcript that the host has rewritten changes nothing. A fork keeps the copies of its origin's, from whose
 * total its own process goes on (queries/token-use.ts).
 */
export function noteResult(
  db: Database,
  { id, session }: TranscriptRow,
  { record, offset }: Line,
  { kind, isError, cost, requests, duration, tokens, mark }: HostResult,
): void {
  db.query(
    `INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
  ).run(
    hash("host-result", session, kind, mark),
    session,
    id,
    offset,
    kind,
    isError ? 1 : 0,
    cost ?? null,
    requests === undefined ? null : Math.round(requests),
    duration ?? null,
    tokens?.input ?? null,
    tokens?.output ?? null,
    tokens?.cacheCreation ?? null,
    tokens?.cacheRead ?? null,
    record.timestamp ?? null,
  )
}
