/** Opens the views, and makes them anew when they are damaged or do not hold the whole vault. */
import { CtxError, isDamage, messageOf, VIEWS_LOST } from "../util/errors.ts"
import { vaultFiles } from "../vault/walk.ts"
import { isComplete } from "./complete.ts"
import { type Database, openDatabase } from "./database.ts"
import { rebuild } from "./rebuild.ts"

export interface WholeOptions {
  /** ms to wait for others. */
  readonly wait: number
  /** Bytes in the vault from which on making the views anew is left to others. */
  readonly most: number
}

/** @throws CtxError `views-lost` when there is more to do than the caller wants to wait for */
export function openWhole(dataHome: string, { wait, most }: WholeOptions): Database {
  let reason = "the database was missing, or made anew without the sessions before"
  try {
    const db = openDatabase(dataHome, { wait })
    if (isSound(db, dataHome)) return db
  } catch (error) {
    if (!isDamage(error)) throw error
    reason = messageOf(error)
  }
  repair(dataHome, reason, { wait, most })
  return openDatabase(dataHome, { wait })
}

export function repair(dataHome: string, reason: string, { wait, most }: WholeOptions): void {
  const bytes = vaultFiles(dataHome).reduce((sum, file) => sum + file.bytes, 0)
  if (bytes > most) {
    throw new CtxError(VIEWS_LOST, `the views are being made anew from the vault: ${reason}`, {
      hint: "wait for the background job, or run ctxbridge rebuild",
    })
  }
  rebuild(dataHome, { now: Date.now(), wait, reason })
}

/** Closes the database unless it holds the whole vault. */
function isSound(db: Database, dataHome: string): boolean {
  let sound = false
  try {
    sound = isComplete(db, dataHome)
  } finally {
    if (!sound) db.close()
  }
  return sound
}
