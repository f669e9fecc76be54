/**
 * What has changed in the views since somebody last looked: turns grow in place, are taken back, are forgotten, and
 * views are made anew under other row ids. So turns go by their handles, and what was seen of each is compared with what
 * is there: nothing is missed, whatever happened in between, and no write has to keep a list.
 *
 * It is for copies of the turns elsewhere, on another machine or in another database (sync/).
 *
 * The price is one walk over turns and messages at each look. Words that `forget` blanked inside a tool's input show
 * only if they were in what the views keep of it; the tombstones tell of all (vault/tombstones.ts).
 */
import type { Database } from "../database.ts"
import { HANDLE_PREFIX } from "../handle-prefix.ts"

/** What was seen: a hash of each turn's state, by its handle with `ctx:`. Empty: nothing yet. */
export type Watermark = ReadonlyMap<string, string>

interface Changes {
  /** Handles of turns that are new or other than they were, in the order of the views. */
  readonly changed: readonly string[]
  /** Handles of turns that are no more. */
  readonly gone: readonly string[]
  readonly watermark: Watermark
}

const STATE = `json_array(t.session, t.seq, t.via, t.prompt, t.answer, t.started, t.ended, t.tools, t.errors,
  t.interrupted, t.taken_back, t.origin,
  -- A sum of 64-bit hashes could overflow.
  (SELECT json_array(count(*), sum(m.key >> 32), sum(m.key & 0xffffffff)) FROM messages m WHERE m.turn = t.id),
  (SELECT json_group_array(json_array(c.id, c.target, c.is_error, c.exit_code, c.error)) FROM tool_calls c
   WHERE c.turn = t.id))`

export function changesSince(db: Database, watermark: Watermark): Changes {
  const rows = db.query<{ handle: string; state: string }, []>(
    `SELECT t.handle, ${STATE} AS state FROM turns t ORDER BY t.id`,
  )
  const changed: string[] = []
  const seen = new Map<string, string>()
  for (const row of rows.iterate()) {
    const handle = HANDLE_PREFIX + row.handle
    const state = Bun.hash.xxHash64(row.state).toString(36)
    seen.set(handle, state)
    if (watermark.get(handle) !== state) changed.push(handle)
  }
  const gone = [...watermark.keys()].filter((handle) => !seen.has(handle))
  return { changed, gone, watermark: seen }
}

/** Handles, with `ctx:`, of the turns of which no line is in any other copy than these. */
export function turnsOnlyIn(db: Database, copies: readonly string[]): Set<string> {
  if (copies.length === 0) return new Set()
  const rows = db
    .query<{ handle: string }, [string]>(
      `WITH these AS MATERIALIZED (SELECT id FROM transcripts WHERE copy IN (SELECT value FROM json_each(?)))
       SELECT handle FROM turns t WHERE t.transcript IN these AND NOT EXISTS (
         SELECT 1 FROM messages m WHERE m.turn = t.id AND m.transcript NOT IN these)`,
    )
    .all(JSON.stringify(copies))
  return new Set(rows.map(({ handle }) => HANDLE_PREFIX + handle))
}
