/** Opens the views for a quick look-up that somebody waits for, skipping what most calls do not need. */
import { existsSync } from "../util/fs.ts"
import { type Database, databasePath, openWithStamps, SCHEMA_VERSION } from "./database.ts"
import { isSettled } from "./pending.ts"
import { PARSER, SEEN_ALL } from "./schema.ts"

/** ms to wait for another writer. */
const WAIT = 2000

/** @returns undefined if something must be done or reported first, by `openForReading` */
export function openAtOnce(dataHome: string): Database | undefined {
  if (!existsSync(databasePath(dataHome))) return undefined
  try {
    const { db, stamps } = openWithStamps(dataHome, WAIT)
    const isWhole = stamps.schema === SCHEMA_VERSION && stamps.seen === SEEN_ALL && stamps.parser === PARSER
    // Checked last: from here on nobody can replace the database.
    if (isWhole && isSettled(dataHome)) return db
    db.close()
  } catch {
    // Damage or a lock: `openForReading` meets it again and reports it.
  }
  return undefined
}
