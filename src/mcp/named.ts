/** Finds turns and sessions by the names a model gives. Errors speak of tools, since the model may have no shell. */
import type { Database } from "../archive/database.ts"
import type { Session } from "../archive/queries/sessions.ts"
import { type Found, findByName, findSessionByName } from "../read/by-name.ts"
import { CtxError, codeOf, EXIT, messageOf } from "../util/errors.ts"

/** @throws CtxError for a name that matches nothing, or several things */
export const named = (db: Database, word: string): Found => hinted(() => findByName(db, word))

/** @throws CtxError for a name that matches nothing, several things, or a turn */
export const namedSession = (db: Database, word: string): Session => hinted(() => findSessionByName(db, word))

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
