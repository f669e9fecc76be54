/** Waits for locks. Lock files would need rules for stale ones, and such rules race (docs/adr/0002). */
import { constants, openSync } from "../util/fs.ts"
import { tryLock } from "../util/libc.ts"

/** ms between two attempts. */
const RETRY = 2

/** Opens a file that exists only to be locked, in either way. */
export const openLock = (file: string): number => openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)

/**
 * Takes the lock on an open file, waiting until `deadline` (ms of performance.now()). It is released when the
 * descriptor is closed or the process dies.
 *
 * @param fd open for writing, or for reading if shared: NFS demands it
 * @param shared share the lock with others that also do; waits only for exclusive holders
 * @returns false if somebody else held it throughout
 * @throws CtxError `lock-failed` if the file cannot be locked
 */
export function lock(fd: number, deadline: number, shared = false): boolean {
  while (!tryLock(fd, shared)) {
    if (performance.now() >= deadline) return false
    Bun.sleepSync(RETRY)
  }
  return true
}
