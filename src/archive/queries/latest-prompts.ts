/** The latest prompts of all sessions, as something to choose from. */
import type { Database } from "../database.ts"
import { HANDLE_PREFIX } from "../handle-prefix.ts"
import { IS_EMPTY } from "./turn-kinds.ts"

export interface LatestPrompt {
  /** With its prefix. */
  readonly handle: string
  readonly session: string
  readonly prompt: string
  readonly started: string | null
}

/** Sessions to look in: each has a prompt at least, so the turns wanted are among theirs. */
const LATEST_SESSIONS = `SELECT i.id FROM sessions i LEFT JOIN projects q ON q.id = i.project
  WHERE (?1 IS NULL OR q.path = ?1) AND i.parent IS NULL ORDER BY i.ended DESC LIMIT ?2`

/** Newest first. */
export const latestPrompts = (db: Database, project: string | undefined, most: number): LatestPrompt[] =>
  db
    .query<LatestPrompt, [string | null, number]>(
      `SELECT '${HANDLE_PREFIX}' || handle AS handle, session, prompt, started FROM turns t
       WHERE session IN (${LATEST_SESSIONS}) AND t.via <> 'none' AND NOT ${IS_EMPTY} AND taken_back = 0
       ORDER BY started DESC LIMIT ?2`,
    )
    .all(project ?? null, most)
