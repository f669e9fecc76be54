/** Rows of facts: names, paths, commands and error lines, and how often each was used. */
import { isTool, SHELL_KINDS } from "../../agents/tool-kinds.ts"
import type { FactKind } from "../../record/facts.ts"
import type { Database } from "../database.ts"
import { sessionKey } from "../identity.ts"
import { isAtHome, type Scope } from "./scope.ts"

export interface FactRow {
  readonly text: string
  readonly form: string
  readonly times: number
  readonly latest: number
}

/** First and last seen in turns that the user took back. */
const IS_TAKEN_BACK = `(coalesce((SELECT taken_back FROM turns WHERE id = since), 0)
  AND coalesce((SELECT t.taken_back FROM messages m JOIN turns t ON t.id = m.turn WHERE m.id = latest), 0))`

/** Newest first in each part of the scope, at most so many of each. */
export function factsIn(db: Database, scope: Scope, kind: FactKind, most: number): FactRow[] {
  const query = db.query<FactRow, [bigint, string, number, number]>(
    `SELECT text, iif(form = '', text, form) AS form, times, latest FROM facts WHERE session = ?1 AND kind = ?2 AND since <= ?3
       AND (?4 OR NOT ${IS_TAKEN_BACK}) ORDER BY latest DESC, text DESC LIMIT ${most}`,
  )
  return scope.flatMap(({ session, upTo, takenBack }) =>
    query.all(sessionKey(session), kind, upTo, takenBack),
  )
}

/** Whether these words were run as one command in the session. */
export const isCommandOf = (db: Database, session: string, words: string): boolean =>
  db
    .query<{ n: number }, [bigint, string]>(
      "SELECT 1 AS n FROM facts WHERE session = ? AND kind = 'command' AND text = ?",
    )
    .get(sessionKey(session), words) !== null

/* Calls with which the model opened turns by their handles: of our server, and of the binary in a shell. */

interface OpeningCall {
  /** The call's input, or the beginning of its script. */
  readonly target: string
  readonly name: string
  /** ISO 8601. */
  readonly time: string | null
}

/** Oldest first. Those that failed opened nothing. */
export const openingCalls = (db: Database): OpeningCall[] =>
  db
    .query<OpeningCall, []>(
      `SELECT c.target, c.name, m.time FROM tool_calls c JOIN messages m ON m.id = c.use
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
