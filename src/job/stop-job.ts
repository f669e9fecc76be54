/**
 * Asks the background job to stop, and waits until it has. The request is a lock held by whoever asks, so it ends if
 * that process dies. Stopping loses nothing.
 */

import { throwBusy } from "../base/errors.ts"
import { existsSync } from "../base/fs.ts"
import { isLockFree, withLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"

const askOf = (stateHome: string): string => join(stateHome, "job.stop")

/** Held by the job for as long as it works. */
export const jobLock = (stateHome: string): string => join(stateHome, "job.lock")

/** Error code of a job that is to stop. */
export const STOPPED = "stopped"

export const isAskedToStop = (stateHome: string): boolean => !isLockFree(askOf(stateHome), 0)

/**
 * Runs `work` while no job is running and none can start.
 *
 * @param wait ms to wait for the job to end
 * @throws CtxError `busy`
 */
export function withoutJob<T>(stateHome: string, wait: number, work: () => T): T {
  if (!existsSync(stateHome)) return work()
  const end = performance.now() + wait
  return withLockFile(
    askOf(stateHome),
    wait,
    () => withLockFile(jobLock(stateHome), end - performance.now(), work, atWork),
    atWork,
  )
}

const atWork = (): never => throwBusy("the background job is running")
