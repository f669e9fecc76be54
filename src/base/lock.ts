/**
 * Locks of files. They end with the process that holds them; lock files that only exist would need rules for stale ones,
 * and such rules race (docs/adr/0002). docs/files.md has all locks and the order in which they are taken.
 */
import { isMissing } from "./errors.ts"
import { closeSync, constants, openSync } from "./fs.ts"
import { tryLock } from "./libc.ts"

/** ms between two attempts. */
const RETRY = 2

/** Opens a file that exists only to be locked, in either way. */
export const openLock = (file: string): number => openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)

let watch: ((fd: number, waits: boolean) => void) | undefined

/** For tests: from now on, `watcher` is told of each descriptor before its lock is taken, and whether that may wait. */
export function watchLocks(watcher: NonNullable<typeof watch>): void {
  watch = watcher
}

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
  watch?.(fd, deadline > 0)
  while (!tryLock(fd, shared)) {
    if (performance.now() >= deadline) return false
    Bun.sleepSync(RETRY)
  }
  return true
}

/** When to stop waiting. Without waiting no clock is needed, and the engine takes a while for the first use of it. */
const endOf = (wait: number): number => (wait > 0 ? performance.now() + wait : 0)

/**
 * Takes the lock of a file that exists only for it, and makes the file, but not its folder.
 *
 * @param wait ms to wait for others
 * @returns a descriptor that holds the lock until it is closed; undefined if somebody else held it throughout
 * @throws CtxError `lock-failed`, or what the system says if the file cannot be made
 */
export function holdLockFile(file: string, wait: number): number | undefined {
  return locked(openLock(file), endOf(wait), false)
}

function locked(fd: number, deadline: number, shared: boolean): number | undefined {
  let isHeld = false
  try {
    isHeld = lock(fd, deadline, shared)
    return isHeld ? fd : undefined
  } finally {
    if (!isHeld) closeSync(fd)
  }
}

/**
 * Runs `work` under the lock of such a file.
 *
 * @param otherwise what is done if somebody else held it throughout
 */
export function withLockFile<T>(file: string, wait: number, work: () => T, otherwise: () => T): T {
  const fd = holdLockFile(file, wait)
  if (fd === undefined) return otherwise()
  try {
    return work()
  } finally {
    closeSync(fd)
  }
}

/**
 * Waits until nobody holds a lock file alone, without holding it afterwards. One that does not exist is free.
 *
 * @param deadline in ms of performance.now()
 * @returns false if somebody did throughout
 */
export function isLockFree(file: string, deadline: number): boolean {
  let fd: number
  try {
    fd = openSync(file, "r")
  } catch (error) {
    if (isMissing(error)) return true
    throw error
  }
  try {
    return lock(fd, deadline, true)
  } finally {
    closeSync(fd)
  }
}
