/**
 * Opens the archive with all that the vault has in its views: makes them anew if they are damaged, lost or an earlier
 * version's, and indexes what hooks have left. Apart from open.ts, as hooks and most searches have no need of that.
 */

import { CtxError, codeOf, EXIT, messageOf, VIEWS_LOST } from "../base/errors.ts"
import { statSync } from "../base/fs.ts"
import { compileAsUsual } from "../base/own-program.ts"
import { readList } from "../vault/copy-list.ts"
import { listPending } from "../vault/pending.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { isComplete, isOutdated } from "./completeness.ts"
import { type Database, databasePath } from "./database.ts"
import { catchUp } from "./indexing.ts"
import { open, openReady } from "./open.ts"
import { rebuild, untilRebuilt } from "./rebuild-views.ts"
import { isUnusable } from "./schema-shape.ts"

interface Purpose {
  /** ms to wait for others. */
  readonly wait: number
  /** Bytes in the vault above which making the views anew is left to the background job. */
  readonly most: number
  /** ms that indexing may take. What is read then may lack something, or be what was there before. */
  readonly indexing?: number
}

/** Bytes of a vault whose views can be made anew in a second or two. */
const AT_ONCE = 8 << 20

const PURPOSES = {
  /** Somebody waits for what a command or the server reads. Where nothing can be written, views are read as they are. */
  command: { wait: 2000, most: AT_ONCE, indexing: 5000 },
  /** The same for what is looked for elsewhere as well: undefined if nothing is archived on this machine. */
  elsewhere: { wait: 2000, most: AT_ONCE, indexing: 5000 },
  /** Somebody waits after each key, or a request of Claude Code's waits. */
  key: { wait: 2000, most: AT_ONCE, indexing: 300 },
  /** The job, and commands that do its work themselves: the whole vault, whatever that takes. They index, too. */
  job: { wait: 5000, most: Number.POSITIVE_INFINITY },
} as const satisfies Record<string, Purpose>

/**
 * @param renew called if views of an earlier version are read as they are, since making them anew takes too long here
 * @throws CtxError `no-archive`, `archive-unreadable`, or `views-lost` if making the views anew takes too long here
 */
export function openCurrent(dataHome: string, purpose: "elsewhere"): Database | undefined
export function openCurrent(
  dataHome: string,
  purpose: Exclude<keyof typeof PURPOSES, "elsewhere">,
  renew?: (dataHome: string) => void,
): Database
export function openCurrent(
  dataHome: string,
  purpose: keyof typeof PURPOSES,
  renew: (dataHome: string) => void = () => {},
): Database | undefined {
  const { wait, most, indexing }: Purpose = PURPOSES[purpose]
  const whole = { wait, most, onOutdated: () => renew(dataHome) }
  if (indexing === undefined) return openWhole(dataHome, whole)
  const ready = openReady(dataHome)
  if (ready !== undefined) return ready
  if (isNothing(dataHome)) {
    if (purpose === "elsewhere") return undefined
    throw new CtxError("no-archive", `nothing is archived in ${dataHome}`, {
      hint: "ctxbridge install registers the hooks; ctxbridge import archives what already exists",
      exit: EXIT.notFound,
    })
  }
  try {
    return caughtUp(dataHome, whole, indexing)
  } catch (error) {
    if (codeOf(error) === VIEWS_LOST) throw error
    // A newer schema, a read-only disk, or another process rebuilding the views: reading is still possible.
    return readable(dataHome, wait)
  }
}

function isNothing(dataHome: string): boolean {
  if (statSync(databasePath(dataHome), { throwIfNoEntry: false }) !== undefined) return false
  const isEmpty = listPending(dataHome).length === 0 && vaultFiles(dataHome).length === 0
  // A vault that has lost everything still has its list.
  return isEmpty && readList(dataHome).copies.size === 0
}

interface WholeOptions extends Pick<Purpose, "wait" | "most"> {
  /** Called if views of an earlier version are used as they are. */
  readonly onOutdated: () => void
}

function caughtUp(dataHome: string, options: WholeOptions, indexing: number): Database {
  compileAsUsual()
  const db = openWhole(dataHome, options)
  try {
    return followed(db, dataHome, indexing)
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
    makeAnew(dataHome, messageOf(error), options)
  }
  return followed(open(dataHome, "write", options.wait), dataHome, indexing)
}

/** Closes the database on failure, or the server would keep its share of the lock for good. */
function followed(db: Database, dataHome: string, indexing: number): Database {
  try {
    catchUp(db, dataHome, performance.now() + indexing)
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

function readable(dataHome: string, wait: number): Database {
  let db: Database | undefined
  try {
    db = open(dataHome, "look", wait)
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

/**
 * Also makes views of an earlier version anew, but uses them as they are while that has to wait.
 *
 * @throws CtxError `views-lost` if that is more than the caller wants to wait for
 */
function openWhole(dataHome: string, options: WholeOptions): Database {
  const { wait } = options
  let reason = "the database was missing, or was remade without the earlier sessions"
  try {
    const db = open(dataHome, "write", wait)
    const found = soundness(db, dataHome)
    if (found === "sound") return db
    if (found === "outdated") return renewed(db, dataHome, options)
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
    reason = messageOf(error)
  }
  try {
    makeAnew(dataHome, reason, options)
  } catch (error) {
    // Somebody else is rebuilding the views, and waiting for that is worthwhile.
    if (codeOf(error) !== "busy" || !untilRebuilt(dataHome, wait)) throw error
    const db = open(dataHome, "write", wait)
    if (soundness(db, dataHome) === "lost") throw error
    return db
  }
  return open(dataHome, "write", wait)
}

function makeAnew(dataHome: string, reason: string, { wait, most }: WholeOptions): void {
  if (vaultBytes(dataHome) > most) {
    throw new CtxError(VIEWS_LOST, `the views are being rebuilt from the vault: ${reason}`, {
      hint: "wait for the background job, or run ctxbridge rebuild",
    })
  }
  rebuild(dataHome, { now: Date.now(), wait, reason })
}

const vaultBytes = (dataHome: string): number =>
  vaultFiles(dataHome).reduce((sum, file) => sum + file.bytes, 0)

/** Closes the database if it does not hold the whole vault. */
function soundness(db: Database, dataHome: string): "sound" | "outdated" | "lost" {
  let found: "sound" | "outdated" | "lost" = "lost"
  try {
    if (isComplete(db, dataHome)) found = isOutdated(db) ? "outdated" : "sound"
  } finally {
    if (found === "lost") db.close()
  }
  return found
}

/** @param db views made by another version */
function renewed(db: Database, dataHome: string, { wait, most, onOutdated }: WholeOptions): Database {
  if (vaultBytes(dataHome) > most) {
    onOutdated()
    return db
  }
  db.close()
  try {
    rebuild(dataHome, { now: Date.now(), wait })
  } catch (error) {
    // Somebody has it open or is rebuilding, too; it is left to the next call.
    if (codeOf(error) !== "busy") throw error
  }
  return open(dataHome, "write", wait)
}
