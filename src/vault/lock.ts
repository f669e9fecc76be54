/** Waiting for a lock. Lock files would need rules for stale ones, which race (docs/adr/0002). */
import { tryLock } from "../util/libc.ts"

/** ms between two tries. */
const RETRY = 2

/**
 * Takes the lock on an open file, waiting until `deadline` (ms of performance.now()).
 *
 * @param shared together with others that share it; waits only for one who does not
 * @returns false when somebody else held it all the time. Closing the descriptor releases it, and so does death.
 */
export function lock(fd: number, deadline: number, shared = false): boolean {
  while (!tryLock(fd, shared)) {
    if (performance.now() >= deadline) return false
    Bun.sleepSync(RETRY)
  }
  return true
}
