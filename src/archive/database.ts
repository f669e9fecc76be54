/**
 * Opens the archive's database. One connection a process; every write is one immediate transaction.
 *
 * Whoever has it open shares the lock of `archive.lock`; who puts another file in its place holds that lock alone
 * (replace.ts). So nobody writes into a file that has been replaced.
 */
import { constants, Database } from "bun:sqlite"
import { CtxError, codeOf, isMissing } from "../util/errors.ts"
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
}

/** A connection that gives its share of the lock back when it is closed. */
class LockedDatabase extends Database {
  #lock: number | undefined

  constructor(path: string, options: object, held: number | undefined) {
    super(path, options)
    this.#lock = held
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
  const path = databasePath(dataHome)
  const wanted = options.readonly ? { readonly: true } : { create: true }
  const held = shareLock(dataHome, options)
  let db: Database
  try {
    db = new LockedDatabase(path, { ...wanted, strict: true }, held)
  } catch (error) {
    if (held !== undefined) closeSync(held)
    throw error
  }
  if (options.readonly && !canRead(db, options)) return openFrozen(path)
  return prepared(db, options)
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
  let db: Database | undefined
  try {
    db = new LockedDatabase(databasePath(dataHome), { readwrite: true, strict: true }, held)
    db.run(`PRAGMA busy_timeout = ${wait}`)
    const stamps = db
      .query<Stamps, []>(
        `SELECT user_version AS schema, application_id AS seen, (SELECT max(version) FROM parser) AS parser
         FROM pragma_user_version, pragma_application_id`,
      )
      .get()!
    return { db, stamps }
  } catch (error) {
    if (db !== undefined) db.close()
    else if (held !== undefined) closeSync(held)
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

/** A log without its index cannot be read where nothing can be written: no file of it may be made. */
function canRead(db: Database, { wait }: OpenOptions): boolean {
  try {
    db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(wait))}`)
    schemaVersion(db)
    return true
  } catch (error) {
    db.close()
    if (!/^SQLITE_(CANTOPEN|READONLY)/.test(codeOf(error))) throw error
    return false
  }
}

/** The file without its log: what had been moved over from that when it was last written. */
function openFrozen(path: string): Database {
  const uri = `file:${encodeURI(path).replaceAll("?", "%3f").replaceAll("#", "%23")}?immutable=1`
  return new Database(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

/** A file that is not the archive's database: the one being made, or the one being replaced. Takes no lock. */
export function openFile(path: string, options: OpenOptions): Database {
  const wanted = options.readonly ? { readonly: true } : { create: true }
  return prepared(new Database(path, { ...wanted, strict: true }), options)
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

function prepared(db: Database, options: OpenOptions): Database {
  try {
    // First of all: setting WAL mode on a new file fails at once for all but one process otherwise.
    db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(options.wait))}`)
    if (options.readonly) return db
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length) throw newerSchema(version)
    if (version < MIGRATIONS.length) migrate(db, performance.now() + options.wait)
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
  // Who does not wait needs no clock: the engine takes a while to make its first.
  if (lock(fd, wait > 0 ? performance.now() + wait : 0, true)) return fd
  closeSync(fd)
  throw new CtxError("busy", "the views are being replaced", { hint: "try again in a moment" })
}

export const lockPath = (dataHome: string): string => join(dataHome, "archive.lock")

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

function migrate(db: Database, deadline: number): void {
  useLog(db, deadline)
  db.transaction(() => {
    // Again under the lock: another process may have done it.
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length) throw newerSchema(version)
    for (let n = version; n < MIGRATIONS.length; n++) db.run(MIGRATIONS[n]!)
    // Tables that were there before were filled by an earlier version.
    if (version === 0) db.query("INSERT INTO parser (version) VALUES (?)").run(PARSER)
    db.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
  }).immediate()
}
