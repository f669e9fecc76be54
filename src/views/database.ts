/**
 * SQLite's only door: what is done to a file once it is opened. Who opens the archive's database says what for (open.ts):
 * then it is locked, too. Every write is one immediate transaction.
 */
import { constants, Database } from "bun:sqlite"
import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { closeSync, openSync, statSync } from "../base/fs.ts"
import { join } from "../base/path.ts"
import { MIGRATIONS, PARSER } from "./schema.ts"

export type { Database, SQLQueryBindings } from "bun:sqlite"

/** Indexing uses some forty statements in turn. With Bun's 20, it would compile most of them again and again. */
const STATEMENTS = 100

export const databasePath = (dataHome: string): string => join(dataHome, "archive.db")

/** A connection that releases its share of a lock, if it has one, when it is closed. */
export class LockedDatabase extends Database {
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

/** What is opened, and what may be done to it. */
const OPENERS = {
  /** Views that are written: made if they are missing, and brought to our schema. @throws CtxError `newer-schema` */
  create: (path: string, wait: number) => prepared(path, wait),
  /** Views that keep their schema, as it may be impossible to bring it up to date. @throws CtxError `newer-schema` */
  change: (path: string, wait: number) => prepared(path, wait, { keeps: "schema" }),
  /** The same, also if they say that they are of a later version: once it is known that they are not. */
  salvage: (path: string, wait: number) => prepared(path, wait, { keeps: "version" }),
  /** Views that are only read, even where nothing can be written. */
  read: openReadable,
  /** What a backend keeps: one file, without a log beside it, in which what is deleted is overwritten. */
  apart: (path: string, wait: number) => {
    closeSync(openSync(path, "a", 0o600))
    const db = connection(path, { readwrite: true }, wait)
    db.run("PRAGMA trusted_schema = OFF")
    db.run("PRAGMA secure_delete = ON")
    return db
  },
  /** The same, by somebody who only looks. */
  "apart-read": (path: string, wait: number) => {
    const db = connection(path, { readonly: true }, wait)
    db.run("PRAGMA trusted_schema = OFF")
    return db
  },
  /** Another program's, which may have a journal. */
  foreign: (path: string) => untrusted(new LockedDatabase(path, { readwrite: true })),
  /** Another program's that it may be writing: only read, and together with its log. */
  "foreign-live": (path: string, wait: number) => untrusted(connection(path, { readonly: true }, wait)),
  /** Another program's that nobody writes: without a lock, a journal or files beside it. */
  "foreign-at-rest": (path: string) => untrusted(openFrozen(path)),
} as const

export type Access = keyof typeof OPENERS

/**
 * Opens one file of SQLite's and takes no lock: the archive's database has a door of its own (open.ts).
 *
 * @param wait ms to wait for another writer
 * @throws CtxError `not-a-file`; any error of SQLite's
 */
export function openFile(path: string, access: Access, wait = 0): LockedDatabase {
  return OPENERS[access](path, wait)
}

/**
 * The connection alone, for whoever needs no more: each statement costs a search time.
 *
 * @throws CtxError `not-a-file`; any error of SQLite's
 */
export function connection(
  path: string,
  how: { readonly [way in "create" | "readwrite" | "readonly"]?: true },
  wait: number,
): LockedDatabase {
  // SQLite would wait for the other end of a pipe.
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
    throw new CtxError("not-a-file", "the database is not a file", {
      hint: "ctxbridge doctor --fix moves it aside, and makes the database anew from the vault",
    })
  }
  const db = new LockedDatabase(path, { ...how, strict: true })
  // Must come first: otherwise, setting WAL mode on a new file fails at once for all processes but one.
  db.run(`PRAGMA busy_timeout = ${Math.max(0, Math.floor(wait))}`)
  return db
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
 * The log has an index in a file beside it. If there is no room for that file, the index is kept in memory, which needs
 * the database exclusively. If no file can be created, the log is ignored.
 */
function openReadable(path: string, wait: number): LockedDatabase {
  try {
    return answering(connection(path, { readonly: true }, wait))
  } catch (error) {
    if (/^SQLITE_(CANTOPEN|READONLY)/.test(codeOf(error))) return openFrozen(path)
    if (!codeOf(error).startsWith("SQLITE_IOERR_SHM")) throw error
  }
  const db = connection(path, { readwrite: true }, wait)
  db.run("PRAGMA locking_mode = EXCLUSIVE")
  db.run("PRAGMA query_only = ON")
  return answering(db)
}

/** Closes the database if nothing can be read in it. */
function answering(db: LockedDatabase): LockedDatabase {
  try {
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

/** Executes and trusts nothing in it. */
function untrusted(db: LockedDatabase): LockedDatabase {
  db.run("PRAGMA trusted_schema = OFF")
  db.run("PRAGMA query_only = ON")
  db.run("PRAGMA temp_store = MEMORY")
  return db
}

function prepared(
  path: string,
  wait: number,
  { keeps }: { readonly keeps?: "schema" | "version" } = {},
): LockedDatabase {
  const db = connection(path, { create: true }, wait)
  Database.MAX_QUERY_CACHE_SIZE = STATEMENTS
  try {
    const version = schemaVersion(db)
    if (version > MIGRATIONS.length && keeps !== "version") throw newerSchema(version)
    if (version !== MIGRATIONS.length && keeps === undefined) bringUpToDate(db, performance.now() + wait)
    db.run("PRAGMA synchronous = NORMAL")
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/** An empty database in memory with the tables of a schema version. */
export function emptyDatabase(version: number): Database {
  const db = new Database(":memory:")
  for (const migration of MIGRATIONS.slice(0, version)) db.run(migration)
  return db
}

/** A number that another connection's changes change; what this one has written does not. */
export const changesSeen = (db: Database): number =>
  db.query<{ data_version: number }, []>("PRAGMA data_version").get()!.data_version

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
