/**
 * Opens the archive's database. One connection per process; every write is one immediate transaction.
 *
 * Everyone who has it open shares the lock of `archive.lock`; whoever replaces the file holds that lock exclusively
 * (replace-database.ts). So nobody writes to a file that has been replaced. If somebody deletes the file, those who have it open
 * keep the lock for a file that nobody else can see; so whoever creates it anew also creates a new lock.
 */
import { constants, Database } from "bun:sqlite"
import { CtxError, codeOf, isMissing, messageOf } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, rmSync, statSync } from "../util/fs.ts"
import { isLockFree, lock, openLock, withLockFile } from "../util/lock.ts"
import { join } from "../util/path.ts"
import { MIGRATIONS, PARSER } from "./schema.ts"

export type { Database, SQLQueryBindings } from "bun:sqlite"

/** Indexing uses some forty statements in turn. With Bun's 20, it would compile most of them again and again. */
const STATEMENTS = 100

export const databasePath = (dataHome: string): string => join(dataHome, "archive.db")

interface OpenOptions {
  /** ms to wait for another writer. */
  readonly wait: number
  readonly readonly?: boolean
  /** Leaves the schema as it is, as it may be impossible to update. */
  readonly asItIs?: boolean
  /** Also opens a file that says it is of a later version, once it is known that it is not. */
  readonly anyVersion?: boolean
}

/** A connection that releases its share of the lock when it is closed. */
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

  /** For `using`: closes in the same way. Bun's own asks for errors about statements in use. */
  override [Symbol.dispose](): void {
    this.close()
  }
}

/** @throws CtxError `newer-schema` if a later version of ctxbridge wrote the file and we want to write to it */
export function openDatabase(dataHome: string, options: OpenOptions): Database {
  for (;;) {
    if (!options.readonly) renewDeleted(dataHome, options.wait)
    const held = shareLock(dataHome, options)
    try {
      const db = opened(databasePath(dataHome), options).holding(held)
      if (held === undefined || isLockOf(dataHome, held)) return db
      // Deleted, and created anew by somebody else, since we took the lock.
      db.close()
    } catch (error) {
      if (held !== undefined) closeSync(held)
      throw error
    }
  }
}

/** Runs `work` with the database open. */
export function withDatabase<T>(dataHome: string, options: OpenOptions, work: (db: Database) => T): T {
  const db = openDatabase(dataHome, options)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

/** Whether a lock that is held keeps others from replacing the database that is there now. */
export function isLockOf(dataHome: string, held: number): boolean {
  return fstatSync(held).ino === statSync(lockPath(dataHome), { throwIfNoEntry: false })?.ino
}

/**
 * If there is no database, creates an empty file and a lock that nobody holds.
 *
 * @param wait ms to wait for others who do
 */
export function renewDeleted(dataHome: string, wait: number): void {
  const path = databasePath(dataHome)
  if (existsSync(path)) return
  const renew = (): void => {
    if (existsSync(path)) return
    // The log and its index are those of the deleted file.
    for (const file of [lockPath(dataHome), `${path}-wal`, `${path}-shm`]) rmSync(file, { force: true })
    closeSync(openSync(path, "a", 0o600))
  }
  // If nothing can be created here, whoever opens the database tells why.
  tryTo(() => {
    mkdirSync(dataHome, { recursive: true, mode: 0o700 })
    withLockFile(gatePath(dataHome), wait, renew, () => {})
  })
}

function opened(path: string, options: OpenOptions): LockedDatabase {
  refuseOther(path)
  if (options.readonly) return openReadable(path, options)
  return prepared(new LockedDatabase(path, { create: true, strict: true }), options)
}

/**
 * SQLite would wait for the other end of a pipe.
 *
 * @throws CtxError `not-a-file`
 */
function refuseOther(path: string): void {
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new CtxError("not-a-file", "the database is not a file", {
      hint: "ctxbridge doctor --fix moves it aside, and makes the database anew from the vault",
    })
  }
}

/** Tells whether the views can be read as they are. */
export interface Stamps {
  readonly schema: number
  readonly seen: number
  readonly parser: number | null
}

/**
 * Opens the existing file for reading, with as few statements as possible.
 *
 * @param wait ms to wait for another writer; does not wait for a replacement of the file
 * @throws any error of SQLite's; CtxError `busy`
 */
export function openWithStamps(dataHome: string, wait: number): { db: Database; stamps: Stamps } {
  const held = shareLock(dataHome, { wait: 0 })
  let db: LockedDatabase | undefined
  try {
    refuseOther(databasePath(dataHome))
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

/** Bytes of pages cached during long work. With SQLite's 2 MB, each message's key would be read back from disk. */
const LONG_WORK_CACHE = 24 << 20
/** Bytes of log before it is moved into the database. The more, the fewer pages are written twice. */
const LONG_WORK_LOG = 32 << 20
const PAGE = 4096

/** Prepares for many writes, as in an import or a rebuild. */
export function prepareForLongWork(db: Database): void {
  db.run(`PRAGMA cache_size = -${LONG_WORK_CACHE >> 10}`)
  db.run(`PRAGMA wal_autocheckpoint = ${LONG_WORK_LOG / PAGE}`)
}

/**
 * Opens for reading, even where nothing can be written. The log has an index in a file beside it. If there is no room
 * for that file, the index is kept in memory, which needs the database exclusively. If no file can be created, the log
 * is ignored.
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

/** Closes the database if nothing can be read in it. */
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

/** Opens the file without its log, so only what had been moved over from the log is visible. */
function openFrozen(path: string): LockedDatabase {
  const uri = `file:${encodeURI(path).replaceAll("?", "%3f").replaceAll("#", "%23")}?immutable=1`
  return new LockedDatabase(uri, constants.SQLITE_OPEN_READONLY | constants.SQLITE_OPEN_URI)
}

/** Opens a file that is not the archive's database: one being made or being replaced. Takes no lock. */
export function openFile(path: string, options: OpenOptions): Database {
  return opened(path, options)
}

/**
 * Opens a file that a backend keeps. It is one file, without a log beside it, and what is deleted is overwritten.
 *
 * @param wait ms to wait for another writer
 */
export function openApart(
  path: string,
  { wait, readonly }: Pick<OpenOptions, "wait" | "readonly">,
): Database {
  if (readonly !== true) closeSync(openSync(path, "a", 0o600))
  const db = new Database(
    path,
    readonly === true ? { readonly, strict: true } : { readwrite: true, strict: true },
  )
  db.run(`PRAGMA busy_timeout = ${wait}`)
  db.run("PRAGMA trusted_schema = OFF")
  if (readonly !== true) db.run("PRAGMA secure_delete = ON")
  return db
}

/**
 * Opens a database that another program made. Executes and trusts nothing in it.
 *
 * @param untouched whether to read it without a lock, a journal or files beside it; only for files that nobody writes
 */
export function openForeign(path: string, untouched: boolean): Database {
  const db = untouched ? openFrozen(path) : new Database(path, { readwrite: true })
  db.run("PRAGMA trusted_schema = OFF")
  db.run("PRAGMA query_only = ON")
  db.run("PRAGMA temp_store = MEMORY")
  return db
}

function prepared<T extends Database>(db: T, options: OpenOptions): T {
  Database.MAX_QUERY_CACHE_SIZE = STATEMENTS
  try {
    // Must come first: otherwise, setting WAL mode on a new file fails at once for all processes but one.
    db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(options.wait))}`)
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length && !options.anyVersion) throw newerSchema(version)
    if (version !== MIGRATIONS.length && !options.asItIs) bringUpToDate(db, performance.now() + options.wait)
    db.run("PRAGMA synchronous = NORMAL")
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** undefined where no lock can be had; then nobody can replace the file either. */
function shareLock(dataHome: string, { wait, readonly }: OpenOptions): number | undefined {
  const file = lockPath(dataHome)
  let fd: number
  try {
    fd = readonly ? openSync(file, "r") : openLock(file)
  } catch (error) {
    if (readonly || ["EACCES", "EROFS"].includes(codeOf(error))) return undefined
    if (!isMissing(error)) throw error
    mkdirSync(dataHome, { recursive: true, mode: 0o700 })
    fd = openLock(file)
  }
  // Without waiting no clock is needed, and the engine takes a while for the first use of it.
  const deadline = wait > 0 ? performance.now() + wait : 0
  try {
    if (passGate(dataHome, deadline) && lock(fd, deadline, true)) return fd
  } catch (error) {
    closeSync(fd)
    if (readonly) return undefined
    throw error
  }
  closeSync(fd)
  throw new CtxError("busy", "the views are being replaced", { hint: "try again in a moment" })
}

export const lockPath = (dataHome: string): string => join(dataHome, "archive.lock")

/**
 * Closed by whoever waits to be alone, or readers that overlap would share the lock for ever, and by whoever creates the
 * database and its lock anew.
 */
export const gatePath = (dataHome: string): string => join(dataHome, "gate.lock")

/** @returns false if it was closed throughout */
function passGate(dataHome: string, deadline: number): boolean {
  try {
    return isLockFree(gatePath(dataHome), deadline)
  } catch (error) {
    if (codeOf(error) === "lock-failed") throw error
    // Who may not look at it cannot wait for it.
    return true
  }
}

/** An empty database in memory with the tables of a schema version. */
export function emptyDatabase(version: number): Database {
  const db = new Database(":memory:")
  for (const migration of MIGRATIONS.slice(0, version)) db.run(migration)
  return db
}

/** Number of migrations applied to the file. */
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

/** ms between two attempts. */
const RETRY = 2

/**
 * Retries while two processes create the file at the same moment: SQLite does not wait during a change of the journal
 * mode, since both might wait for each other.
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

/** @throws CtxError with SQLite's code for damage, because only new views help */
function bringUpToDate(db: Database, deadline: number): void {
  try {
    migrate(db, deadline)
  } catch (error) {
    // Tables or columns of its version are missing, or some of the next version are already there.
    if (!/^SQLITE_(ERROR|CONSTRAINT|MISMATCH)/.test(codeOf(error))) throw error
    const message = `it cannot be brought up to date: ${messageOf(error)}`
    throw new CtxError("SQLITE_CORRUPT", message, { cause: error })
  }
}

function migrate(db: Database, deadline: number): void {
  useLog(db, deadline)
  db.transaction(() => {
    // Checked again under the lock, since another process may have migrated.
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length) throw newerSchema(version)
    if (version < 0) throw new CtxError("SQLITE_ERROR", `there is no schema ${version}`)
    for (let n = version; n < MIGRATIONS.length; n++) db.run(MIGRATIONS[n]!)
    // Only for new tables: existing ones were filled by an earlier version.
    if (version === 0) db.query("INSERT INTO parser (version) VALUES (?)").run(PARSER)
    db.run(`PRAGMA user_version = ${MIGRATIONS.length}`)
  }).immediate()
}
