/** Whether a process still runs: files named by its number are then in use, and otherwise left behind. */
import { codeOf } from "./errors.ts"

/** @param pid whatever was read from a file's name: what is not a process's number does not run */
export function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // It is another user's, so it runs.
    return codeOf(error) === "EPERM"
  }
}
