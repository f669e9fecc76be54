/** Rows of usage: tokens of the requests to a model. */
import type { Tokens } from "../../transcript/types.ts"
import type { Database } from "../database.ts"

export interface TokenUse extends Tokens {
  readonly model: string
}

/**
 * Tokens of a turn by model; each API message counts once. A subagent's tokens in its parent's transcript do not count
 * for the parent's turn; in the subagent's own transcript they do count for its turns.
 */
export function usageOf(db: Database, turn: number): TokenUse[] {
  return db
    .query<TokenUse, [number]>(
      `SELECT model, sum(input) AS input, sum(output) AS output, sum(cache_creation) AS cacheCreation,
         sum(cache_read) AS cacheRead FROM usage
       WHERE turn = ? AND (sidechain = 0 OR instr(session, '/') > 0) GROUP BY model ORDER BY model`,
    )
    .all(turn)
}

/** A model that answered in a session, and the tokens of its smallest and largest request. */
interface ModelRequests {
  readonly model: string
  readonly least: number
  readonly most: number
}

/** The latest first. */
export const modelsIn = (db: Database, session: string): ModelRequests[] =>
  db
    .query<ModelRequests, [string]>(
      `SELECT model, min(sent) AS least, max(sent) AS most FROM
         (SELECT model, turn, input + cache_read + cache_creation AS sent FROM usage WHERE session = ? AND sidechain = 0)
       WHERE sent > 0 GROUP BY model ORDER BY max(turn) DESC, model`,
    )
    .all(session)
