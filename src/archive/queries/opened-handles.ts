/** Calls with which the model opened turns by their handles: of our server, and of the binary in a shell. */
import { isTool, SHELL_KINDS } from "../../agents/tool-kinds.ts"
import type { Database } from "../database.ts"
import { isAtHome } from "./scope.ts"

export interface OpeningCall {
  /** The call's input, or the beginning of its script. */
  readonly target: string
  readonly name: string
  readonly session: string
  /** ISO 8601. */
  readonly time: string | null
}

/** Oldest first. Those that failed opened nothing. */
export const openingCalls = (db: Database): OpeningCall[] =>
  db
    .query<OpeningCall, []>(
      `SELECT c.target, c.name, c.session, m.time FROM tool_calls c JOIN messages m ON m.id = c.use
       WHERE c.is_error IS NOT 1 AND ${isAtHome("c.origin")} AND (
         c.name LIKE 'mcp\\_\\_%ctxbridge\\_\\_get' ESCAPE '\\'
         OR ${isTool("c.name", ...SHELL_KINDS)} AND c.target LIKE '%ctxbridge%show%')
       ORDER BY c.use`,
    )
    .all()

/** Ids of the turns with these handles, which are without prefix. */
export const turnsByHandle = (db: Database, handles: readonly string[]): Map<string, number> => {
  const rows = db
    .query<{ handle: string; id: number }, [string]>(
      "SELECT handle, id FROM turns WHERE handle IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(handles))
  return new Map(rows.map(({ handle, id }) => [handle, id]))
}
