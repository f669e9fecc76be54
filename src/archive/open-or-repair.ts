/** Opens the views, and rebuilds them if they are damaged or do not hold the whole vault. */
import { CtxError, codeOf, messageOf, VIEWS_LOST } from "../util/errors.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { isComplete, isOutdated } from "./completeness.ts"
import { type Database, openDatabase } from "./database.ts"
import { rebuild, untilRebuilt } from "./rebuild-views.ts"
import { isUnusable } from "./schema-shape.ts"

interface WholeOptions {
  /** ms to wait for others. */
  readonly wait: number
  /** Bytes in the vault above which rebuilding is left to others. */
  readonly most: number
  /** Called if views of an earlier version are used as they are. */
  readonly onOutdated?: (() => void) | undefined
}

/**
 * Also rebuilds views of an earlier version, but uses them as they are while that has to wait.
 *
 * @throws CtxError `views-lost` if rebuilding is more than the caller wants to wait for
 */
export function openWhole(dataHome: string, { wait, most, onOutdated }: WholeOptions): Database {
  let reason = "the database was missing, or was remade without the earlier sessions"
  try {
    const db = openDatabase(dataHome, { wait })
    const found = soundness(db, dataHome)
    if (found === "sound") return db
    if (found === "outdated") return renewed(db, dataHome, { wait, most, onOutdated })
  } catch (error) {
    if (!isUnusable(dataHome, error)) throw error
    reason = messageOf(error)
  }
  try {
    repair(dataHome, reason, { wait, most })
  } catch (error) {
    // Somebody else is rebuilding the views, and waiting for that is worthwhile.
    if (codeOf(error) !== "busy" || !untilRebuilt(dataHome, wait)) throw error
    const db = openDatabase(dataHome, { wait })
    if (soundness(db, dataHome) === "lost") throw error
    return db
  }
  return openDatabase(dataHome, { wait })
}

export function repair(dataHome: string, reason: string, { wait, most }: WholeOptions): void {
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
    onOutdated?.()
    return db
  }
  db.close()
  try {
    rebuild(dataHome, { now: Date.now(), wait })
  } catch (error) {
    // Somebody has it open or is rebuilding, too; it is left to the next call.
    if (codeOf(error) !== "busy") throw error
  }
  return openDatabase(dataHome, { wait })
}
