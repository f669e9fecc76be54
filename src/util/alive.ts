/** Whether a process still runs: what only its number tells of may be its own, or left behind. */
import { codeOf } from "./errors.ts"

/** @param pid anything that was read of a file's name: what is no number of a process is none that runs */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Of another user, it may not be asked, and runs.
    return codeOf(error) === "EPERM"
  }
}
