/** Tells whether a process is still running. If not, files named after it were left behind. */
import { codeOf } from "./errors.ts"

/** @param pid as read from a file's name; anything that is not a process id counts as not running */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It belongs to another user, so it is running.
    return codeOf(error) === "EPERM"
  }
}
