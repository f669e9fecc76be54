/** The views for whoever only looks something up and is waited for: opened without what most calls have no need of. */
import { existsSync } from "../util/fs.ts"
import { type Database, databasePath, openWithStamps, SCHEMA_VERSION } from "./database.ts"
import { isSettled } from "./pending.ts"
import { PARSER, SEEN_ALL } from "./schema.ts"

/** ms to wait for another writer. */
const WAIT = 2000

/**
 * @returns undefined where something is to be done first, or told: `openForReading` (read.ts) does it
 */
export function openAtOnce(dataHome: string): Database | undefined {
  if (!existsSync(databasePath(dataHome))) return undefined
  try {
    const { db, stamps } = openWithStamps(dataHome, WAIT)
    const isWhole = stamps.schema === SCHEMA_VERSION && stamps.seen === SEEN_ALL && stamps.parser === PARSER
    // Looked at last: from here on nobody puts another database in the place of this one.
    if (isWhole && isSettled(dataHome)) return db
    db.close()
  } catch {
    // Damage, a lock: there it is met again, and people are told.
  }
  return undefined
}
