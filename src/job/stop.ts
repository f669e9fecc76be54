/**
 * Asks the background job to stop, and waits until it has. The request is a lock held by whoever asks, so it ends if
 * that process dies. Stopping loses nothing.
 */
import { join } from "node:path"
import { CtxError, isMissing } from "../util/errors.ts"
import { closeSync, existsSync, openSync } from "../util/fs.ts"
import { lock, openLock } from "../vault/lock.ts"

const askOf = (stateHome: string): string => join(stateHome, "job.stop")

/** Error code of a job that is to stop. */
export const STOPPED = "stopped"

export function isAskedToStop(stateHome: string): boolean {
  let fd: number
  try {
    fd = openSync(askOf(stateHome), "r")
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
  try {
    return !lock(fd, 0, true)
  } finally {
    closeSync(fd)
  }
}

/**
 * Runs `work` while no job is running and none can start.
 *
 * @param wait ms to wait for the job to end
 * @throws CtxError `busy`
 */
export function withoutJob<T>(stateHome: string, wait: number, work: () => T): T {
  if (!existsSync(stateHome)) return work()
  const ask = openLock(askOf(stateHome))
  try {
    const end = performance.now() + wait
    const held = lock(ask, end) ? openLock(join(stateHome, "job.lock")) : undefined
    try {
      if (held !== undefined && lock(held, end)) return work()
      throw new CtxError("busy", "the background job is at work", { hint: "try again when it is done" })
    } finally {
      if (held !== undefined) closeSync(held)
    }
  } finally {
    closeSync(ask)
  }
}
