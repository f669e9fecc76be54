/** Turns and sessions as a model names them. What is wrong with a name is told in terms of tools: it may have no shell. */
import type { Database } from "../archive/database.ts"
import { type Found, find, findSession } from "../archive/find.ts"
import type { SessionRow } from "../archive/read.ts"
import { CtxError, codeOf, EXIT, messageOf } from "../util/errors.ts"

/** @throws CtxError for a name of nothing, or of several */
export const named = (db: Database, word: string): Found => hinted(() => find(db, word))

/** @throws CtxError for a name of nothing, of several, or of a turn */
export const namedSession = (db: Database, word: string): SessionRow => hinted(() => findSession(db, word))

function hinted<T>(look: () => T): T {
  try {
    return look()
  } catch (error) {
    if (codeOf(error) !== "not-found") throw error
    throw new CtxError("not-found", messageOf(error), {
      hint: "search and timeline give handles, timeline and status the ids of sessions",
      exit: EXIT.notFound,
    })
  }
}
