/**
 * Opens the archive's database. One connection a process; every write is one immediate transaction.
 *
 * Whoever has it open shares the lock of `archive.lock`; who puts another file in its place holds that lock alone
 * (replace.ts). So nobody writes into a file that has been replaced.
 */
import { constants, Database } from "bun:sqlite"
import { CtxError, codeOf, isMissing, messageOf } from "../util/errors.ts"
import { closeSync, mkdirSync, openSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { lock } from "../vault/lock.ts"
import { MIGRATIONS, PARSER } from "./schema.ts"

export type { Database, SQLQueryBindings } from "bun:sqlite"

export const databasePath = (dataHome: string): string => join(dataHome, "archive.db")

export interface OpenOptions {
  /** ms to wait for another writer. */
  readonly wait: number
  readonly readonly?: boolean
  /** Not brought up to date: perhaps it cannot be. */
  readonly asItIs?: boolean
}

/** A connection that gives its share of the lock back when it is closed. */
class LockedDatabase extends Database {
  #lock: number | undefined

  holding(lock: number | undefined): this {
    this.#lock = lock
    return this
  }

  override close(throwOnError?: boolean): void {
    super.close(throwOnError)
    if (this.#lock !== undefined) closeSync(this.#lock)
    this.#lock = undefined
  }
}

/**
 * @throws CtxError `newer-schema` when a later version of ctxbridge wrote the file and it was to be written
 */
export function openDatabase(dataHome: string, options: OpenOptions): Database {
  const held = shareLock(dataHome, options)
  try {
    return opened(databasePath(dataHome), options).holding(held)
  } catch (error) {
    if (held !== undefined) closeSync(held)
    throw error
  }
}

function opened(path: string, options: OpenOptions): LockedDatabase {
  if (options.readonly) return openReadable(path, options)
  return prepared(new LockedDatabase(path, { create: true, strict: true }), options)
}

/** What tells whether the views can be read as they are. */
export interface Stamps {
  readonly schema: number
  readonly seen: number
  readonly parser: number | null
}

/**
 * Opens the file that is there, for reading, with as few statements as can be.
 *
 * @param wait ms to wait for another writer; who replaces the file is not waited for
 * @throws whatever SQLite says; CtxError `busy`
 */
export function openWithStamps(dataHome: string, wait: number): { db: Database; stamps: Stamps } {
  const held = shareLock(dataHome, { wait: 0 })
  let db: LockedDatabase | undefined
  try {
    db = new LockedDatabase(databasePath(dataHome), { readwrite: true, strict: true })
    db.run(`PRAGMA busy_timeout = ${wait}`)
    const stamps = db
      .query<Stamps, []>(
        `SELECT user_version AS schema, application_id AS seen, (SELECT max(version) FROM parser) AS parser
         FROM pragma_user_version, pragma_application_id`,
      )
      .get()!
    return { db: db.holding(held), stamps }
  } catch (error) {
    db?.close()
    if (held !== undefined) closeSync(held)
    throw error
  }
}

/** Bytes of pages that a long work keeps in memory: with SQLite's 2 MB, each message's key is read back from the disk. */
const LONG_WORK_CACHE = 24 << 20
/** Bytes of log before it is moved into the database: the more, the fewer pages are written twice. */
const LONG_WORK_LOG = 32 << 20
const PAGE = 4096

/** For whoever is going to write much: an import, a rebuild. */
export function prepareForLongWork(db: Database): void {
  db.run(`PRAGMA cache_size = -${LONG_WORK_CACHE >> 10}`)
  db.run(`PRAGMA wal_autocheckpoint = ${LONG_WORK_LOG / PAGE}`)
}

/**
 * For reading, also where nothing can be written. The log has an index in a file beside it: where there is no room for
 * that, it can be in the memory of one process, which then has the database for itself; where no file can be made at all,
 * the log is left out.
 */
function openReadable(path: string, { wait }: OpenOptions): LockedDatabase {
  try {
    return answering(new LockedDatabase(path, { readonly: true, strict: true }), wait)
  } catch (error) {
    if (/^SQLITE_(CANTOPEN|READONLY)/.test(codeOf(error))) return openFrozen(path)
    if (!codeOf(error).startsWith("SQLITE_IOERR_SHM")) throw error
  }
  const db = new LockedDatabase(path, { readwrite: true, strict: true })
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("PRAGMA query_only = ON")
  return answering(db, wait)
}

/** Closes the database when nothing can be read in it. */
function answering<T extends Database>(db: T, wait: number): T {
  try {
    db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(wait))}`)
    schemaVersion(db)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** The file without its log: what had been moved over from that when it was last written. */
function openFrozen(path: string): LockedDatabase {
  const uri = `file:${encodeURI(path).replaceAll("?", "%3f").replaceAll("#", "%23")}?immutable=1`
  return new LockedDatabase(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

/** A file that is not the archive's database: the one being made, or the one being replaced. Takes no lock. */
export function openFile(path: string, options: OpenOptions): Database {
  return opened(path, options)
}

/**
 * A database that another program made. Nothing in it runs, and nothing of it is trusted.
 *
 * @param untouched to be read without a lock, a journal or a file beside it: for a file that nobody writes
 */
export function openForeign(path: string, untouched: boolean): Database {
  const db = untouched ? openFrozen(path) : new Database(path, { readwrite: true })
  db.run("PRAGMA trusted_schema = OFF")
  db.run("PRAGMA query_only = ON")
  db.run("PRAGMA temp_store = MEMORY")
  return db
}

function prepared<T extends Database>(db: T, options: OpenOptions): T {
  try {
    // First of all: setting WAL mode on a new file fails at once for all but one process otherwise.
    db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(options.wait))}`)
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length) throw newerSchema(version)
    if (version !== MIGRATIONS.length && !options.asItIs) bringUpToDate(db, performance.now() + options.wait)
    db.run("PRAGMA synchronous = NORMAL")
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** undefined where no lock can be made: nobody can replace the file there either. */
function shareLock(dataHome: string, { wait, readonly }: OpenOptions): number | undefined {
  const file = lockPath(dataHome)
  let fd: number
  try {
    fd = openSync(file, readonly ? "r" : "a", 0o600)
  } catch (error) {
    if (readonly || ["EACCES", "EROFS"].includes(codeOf(error))) return undefined
    if (!isMissing(error)) throw error
    mkdirSync(dataHome, { recursive: true, mode: 0o700 })
    fd = openSync(file, "a", 0o600)
  }
  if (lock(fd, performance.now() + Math.max(0, wait), true)) return fd
  closeSync(fd)
  throw new CtxError("busy", "the views are being replaced", { hint: "try again in a moment" })
}

export const lockPath = (dataHome: string): string => join(dataHome, "archive.lock")

/** In memory, and with nothing in it: what a version's tables are. */
export function emptyDatabase(version: number): Database {
  const db = new Database(":memory:")
  for (const migration of MIGRATIONS.slice(0, version)) db.run(migration)
  return db
}

/** How many migrations the file has seen. */
export function schemaVersion(db: Database): number {
  const row = db.query<{ user_version: number }, []>("PRAGMA user_version").get()
  return row?.user_version ?? 0
}

export const SCHEMA_VERSION: number = MIGRATIONS.length

export function newerSchema(version: number): CtxError {
  return new CtxError(
    "newer-schema",
    `the archive has schema ${version}, this ctxbridge knows ${MIGRATIONS.length}`,
    {
      hint: "update ctxbridge; reading goes on, and hooks keep filling the vault",
    },
  )
}

/** ms between two tries. */
const RETRY = 2

/**
 * Two who make a new file at the same moment: SQLite waits for nobody while it changes the journal, since both might
 * wait for each other.
 */
function useLog(db: Database, deadline: number): void {
  for (;;) {
    try {
      db.run("PRAGMA journal_mode = WAL")
      return
    } catch (error) {
      if (codeOf(error) !== "SQLITE_BUSY" || performance.now() >= deadline) throw error
      Bun.sleepSync(RETRY)
    }
  }
}

/** @throws CtxError with SQLite's code for damage: only new views help against it */
function bringUpToDate(db: Database, deadline: number): void {
  try {
    migrate(db, deadline)
  } catch (error) {
    // It has not what its version has, or has already what the next one brings.
    if (!/^SQLITE_(ERROR|CONSTRAINT|MISMATCH)/.test(codeOf(error))) throw error
    const message = `it cannot be brought up to date: ${messageOf(error)}`
    throw new CtxError("SQLITE_CORRUPT", message, { cause: error })
  }
}

function migrate(db: Database, deadline: number): void {
  useLog(db, deadline)
  db.transaction(() => {
    // Again under the lock: another process may have done it.
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length) throw newerSchema(version)
    if (version < 0) throw new CtxError("SQLITE_ERROR", `there is no schema ${version}`)
    for (let n = version; n < MIGRATIONS.length; n++) db.run(MIGRATIONS[n]!)
    // Tables that were there before were filled by an earlier version.
    if (version === 0) db.query("INSERT INTO parser (version) VALUES (?)").run(PARSER)
    db.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
  }).immediate()
}
