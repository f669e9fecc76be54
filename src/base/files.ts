/** Small files that exist either completely or not at all. */
import {
  closeSync,
  constants,
  existsSync,
  type FileStats,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "./fs.ts"
import { dirname } from "./path.ts"

/** Replaces a file by renaming; creates its folder if missing. 0600 in 0700. */
export function writeWhole(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  renameSync(temporary, file)
}

/**
 * Like `writeWhole`, for when a person is waiting and the file may be lost in a power failure. When a file is renamed
 * over another, ext4 flushes it at once (auto_da_alloc in ext4(5)), which takes up to 3 ms. So the old file is moved
 * aside first, where `readReplaced` finds it if it reads at that moment or after a kill.
 */
export function replaceSoon(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  const isThere = existsSync(file)
  if (isThere) tryTo(() => renameSync(file, asideOf(file)))
  renameSync(temporary, file)
  if (isThere) tryTo(() => unlinkSync(asideOf(file)))
}

/** How often to look for a file that is being replaced: each time, another process may have moved it. */
const LOOKS = 5

/**
 * Calls `read` with the file's path, or with that of its predecessor when the file is missing.
 *
 * @param read returns undefined for what cannot be read
 */
export function readReplaced<T>(file: string, read: (file: string) => T | undefined): T | undefined {
  for (let look = 0; look < LOOKS; look++) {
    const there = existsSync(file) ? file : asideOf(file)
    const found = there === file || existsSync(there) ? read(there) : undefined
    if (found !== undefined) return found
  }
  return undefined
}

/** Where `replaceSoon` moves the previous file. */
export const asideOf = (file: string): string => `${file}.old`

/** For files that may be gone, damaged or not ours to read, because others write them: undefined if they are. */
export function tryTo<T>(act: () => T): T | undefined {
  try {
    return act()
  } catch {
    return undefined
  }
}

/** Waits until a file, or the names in a folder, are on the disk. */
export function flush(path: string): void {
  // Windows flushes only what may be written, and names of its own accord.
  if (process.platform === "win32" && statSync(path).isDirectory()) return
  const fd = openSync(path, process.platform === "win32" ? constants.O_RDWR : "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/**
 * Whether a file's mode gives others any right. Windows has no modes: what is in the user's profile is open to nobody
 * else, as it inherits that.
 */
export const letsOthersIn = (mode: number): boolean => process.platform !== "win32" && (mode & 0o077) !== 0

/** Follows links; undefined if nothing exists there, if we may not look, or if no file can have that name. */
export function statsOf(path: string): FileStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Which file has that name now; undefined: none has. */
export const inodeOf = (file: string): number | undefined => statSync(file, { throwIfNoEntry: false })?.ino

/** Writes a file that nobody reads until it is complete; creates its folder if missing. 0600 in 0700. */
export function writePrivate(file: string, text: string): void {
  try {
    writeMaking(file, text)
  } catch (error) {
    // A full disk has room for the name, which no later process would use again.
    tryTo(() => unlinkSync(file))
    throw error
  }
}

function writeMaking(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 })
  } catch {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { mode: 0o600 })
  }
}

/**
 * Reads a file that someone else may have put there, perhaps as a link: reading a pipe would block, and a device has no
 * end.
 *
 * @param most bytes
 * @returns undefined when it is not a regular file, or larger
 */
export function readOrdinary(file: string, most: number): string | undefined {
  const stats = statSync(file)
  if (!stats.isFile() || stats.size > most) return undefined
  // Files in /proc have size 0, and some of them never end.
  return stats.size === 0 ? "" : readFileSync(file, "utf8")
}
