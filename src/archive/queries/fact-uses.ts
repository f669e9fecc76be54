/** Rows of facts: names, paths, commands and error lines, and how often each was used. */
import type { FactKind } from "../../transcript/facts.ts"
import type { Database } from "../database.ts"
import { sessionKey } from "../identity.ts"
import type { Scope } from "./scope.ts"

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
