/** What commands read from the views and the vault. */
import { compileAsUsual } from "../util/compiling.ts"
import { CtxError, codeOf, EXIT, messageOf, VIEWS_LOST } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { statSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { readList } from "../vault/copy-list.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { type Database, databasePath, openDatabase } from "./database.ts"
import { catchUp } from "./indexing.ts"
import { openAtOnce } from "./open-at-once.ts"
import { openWhole, repair } from "./open-or-repair.ts"
import { listPending } from "./pending.ts"
import { isUnusable } from "./schema-shape.ts"

/** ms that a command may spend on indexing what hooks have left, before it reads. */
const CATCH_UP = 5000
/** Bytes of a vault whose views can be rebuilt in about the same time. */
const AT_ONCE = 8 << 20

/**
 * Opens the archive for reading, with everything indexed that hooks have archived.
 *
 * @param onOutdated called if an earlier version made the views, and making them anew takes too long here
 * @param patience ms that indexing may take
 */
export function openForReading(
  dataHome: string,
  onOutdated: () => void = () => {},
  patience: number = CATCH_UP,
): Database {
  const ready = openAtOnce(dataHome)
  if (ready !== undefined) return ready
  const exists = statSync(databasePath(dataHome), { throwIfNoEntry: false }) !== undefined
  const isEmpty = (): boolean => listPending(dataHome).length === 0 && vaultFiles(dataHome).length === 0
  // A vault that has lost everything still has its list.
  if (!exists && isEmpty() && readList(dataHome).copies.size === 0) {
    throw new CtxError("no-archive", `nothing is archived in ${dataHome}`, {
      hint: "ctxbridge install registers the hooks; ctxbridge import archives what already exists",
      exit: EXIT.notFound,
    })
  }
  try {
    return caughtUp(dataHome, onOutdated, patience)
  } catch (error) {
    if (codeOf(error) === VIEWS_LOST) throw error
    // A newer schema, a read-only disk, or another process rebuilding the views: reading is still possible.
    return readable(dataHome)
  }
}

/** What `read` finds in the views; undefined if there are none or they cannot be read. */
export function readIfPossible<T>(dataHome: string, read: (db: Database) => T): T | undefined {
  return tryTo(() => {
    using db = openForReading(dataHome)
    return read(db)
  })
}

function caughtUp(dataHome: string, onOutdated: () => void, patience: number): Database {
  compileAsUsual()
  const options = { wait: 2000, most: AT_ONCE, onOutdated }
  const db = openWhole(dataHome, options)
  try {
    return followed(db, dataHome, patience)
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
    repair(dataHome, messageOf(error), options)
  }
  return followed(openDatabase(dataHome, options), dataHome, patience)
}

/** Closes the database on failure, or the server would keep its share of the lock for good. */
function followed(db: Database, dataHome: string, patience: number): Database {
  try {
    catchUp(db, dataHome, performance.now() + patience)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function readable(dataHome: string): Database {
  let db: Database | undefined
  try {
    db = openDatabase(dataHome, { wait: 2000, readonly: true })
    db.query("SELECT count(*) FROM turns LIMIT 1").get()
    return db
  } catch (cause) {
    db?.close()
    throw new CtxError("archive-unreadable", `cannot read ${databasePath(dataHome)}: ${messageOf(cause)}`, {
      hint: "the vault does not need it: ctxbridge verify shows what is safe",
      cause,
    })
  }
}

export const vaultFolder = (dataHome: string): string => join(dataHome, "vault")
