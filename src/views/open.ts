/**
 * The archive's database: `open` opens it as it is, `openReady` only if nothing has to be done first, `openCurrent`
 * (open-current.ts) with all that the vault has. One connection per process; every write is one immediate transaction.
 *
 * Everyone who has it open shares the lock of `archive.lock`; whoever replaces the file holds that lock exclusively
 * (replace-database.ts). So nobody writes to a file that has been replaced. If somebody deletes the file, those who have
 * it open keep the lock for a file that nobody else can see; so whoever creates it anew also creates a new lock.
 */
import { CtxError, codeOf, isMissing } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, rmSync, statSync } from "../base/fs.ts"
import { isLockFree, lock, openLock, withLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { isSettled } from "../vault/pending.ts"
import {
  type Access,
  connection,
  type Database,
  databasePath,
  type LockedDatabase,
  openFile,
  SCHEMA_VERSION,
} from "./database.ts"
import { PARSER, SEEN_ALL } from "./schema.ts"

interface Purpose {
  /** `create` and `change` make the file if it is missing; the first also brings it to our schema. */
  readonly access: Extract<Access, "create" | "change" | "read">
  /** ms to wait for others who write or replace the file, unless the caller names his own. */
  readonly wait: number
}

const PURPOSES = {
  /** Replies to Claude Code, and may take so long as the hook has left: the caller says how long. */
  hook: { access: "create", wait: 0 },
  /** Replies after that has failed, with what can be read. No time is left to wait for anybody. */
  "read-only-hook": { access: "read", wait: 0 },
  /** Looks at what is there as it is, and goes on without an answer: somebody waits for much else that is looked at. */
  check: { access: "read", wait: 1000 },
  /** Decides what is done to the archive by what is in it: a wrong answer costs more than some waiting. */
  look: { access: "read", wait: 2000 },
  /** Writes into views that others have found whole, or that hold nothing yet. */
  write: { access: "create", wait: 5000 },
  /** Takes out what must not stay, of views that it may be impossible to bring up to date. */
  erase: { access: "change", wait: 5000 },
} as const satisfies Record<string, Purpose>

/**
 * Opens the database without looking whether it holds the whole vault.
 *
 * @param wait ms; by default the purpose's
 * @throws CtxError `newer-schema` if a later version of ctxbridge wrote the file and we want to write to it, `busy`,
 *   `not-a-file`; any error of SQLite's
 */
export function open(
  dataHome: string,
  purpose: keyof typeof PURPOSES,
  wait: number = PURPOSES[purpose].wait,
): Database {
  const { access } = PURPOSES[purpose]
  for (;;) {
    if (access !== "read") renewDeleted(dataHome, wait)
    const held = shareLock(dataHome, wait, access === "read")
    const db = holding(held, () => openFile(databasePath(dataHome), access, wait))
    let lasts = false
    try {
      lasts = held === undefined || isLockOf(dataHome, held)
      if (lasts) return db
    } finally {
      // Deleted, and created anew by somebody else, since we took the lock.
      if (!lasts) db.close()
    }
  }
}

/** ms that `openReady` waits for another writer. It does not wait for a replacement of the file. */
const READY = 2000

/**
 * For a search, which answers at once and has no need of what makes, indexes or repairs. Apart from `open`, as all of it
 * would be loaded.
 *
 * @returns undefined if the views are not there, lack something, are another version's, damaged or being replaced: then
 *   `openCurrent` brings them up to date or tells what is wrong
 */
export function openReady(dataHome: string): Database | undefined {
  const path = databasePath(dataHome)
  if (!existsSync(path)) return undefined
  return tryTo(() => {
    const db = holding(shareLock(dataHome, 0, false), () => connection(path, { readwrite: true }, READY))
    // Checked last: from here on nobody can replace the database.
    if (tryTo(() => isWhole(db) && isSettled(dataHome))) return db
    db.close()
    return undefined
  })
}

/** @param held ends with the connection, or at once if there is none */
function holding(held: number | undefined, connecting: () => LockedDatabase): Database {
  try {
    return connecting().holding(held)
  } catch (error) {
    if (held !== undefined) closeSync(held)
    throw error
  }
}

/** Tells whether the views can be read as they are. */
interface Stamps {
  readonly schema: number
  readonly seen: number
  readonly parser: number | null
}

function isWhole(db: Database): boolean {
  const { schema, seen, parser } = db
    .query<Stamps, []>(
      `SELECT user_version AS schema, application_id AS seen, (SELECT max(version) FROM parser) AS parser
       FROM pragma_user_version, pragma_application_id`,
    )
    .get()!
  return schema === SCHEMA_VERSION && seen === SEEN_ALL && parser === PARSER
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

/** undefined where no lock can be had; then nobody can replace the file either. */
function shareLock(dataHome: string, wait: number, isReader: boolean): number | undefined {
  const file = lockPath(dataHome)
  let fd: number
  try {
    fd = isReader ? openSync(file, "r") : openLock(file)
  } catch (error) {
    if (isReader || ["EACCES", "EROFS"].includes(codeOf(error))) return undefined
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
    if (isReader) return undefined
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
