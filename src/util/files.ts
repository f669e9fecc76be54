/** Small files that are there whole or not at all. */
import {
  existsSync,
  type FileStats,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "./fs.ts"
import { dirname } from "./path.ts"

/** Replaces a file by a rename; makes its folder when it is missing. 0600 in 0700. */
export function writeWhole(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  renameSync(temporary, file)
}

/**
 * The same where a person waits, for what may be lost with the power: a file that is renamed over another is written
 * out at once by ext4 (auto_da_alloc in ext4(5)), which takes up to 3 ms. So the old file steps aside first. Whoever
 * reads in that moment, or after a kill in it, finds it there: `readReplaced`.
 */
export function replaceSoon(file: string, text: string): void {
  const temporary = `${file}.${process.pid}`
  writePrivate(temporary, text)
  const isThere = existsSync(file)
  if (isThere) tryTo(() => renameSync(file, asideOf(file)))
  renameSync(temporary, file)
  if (isThere) tryTo(() => unlinkSync(asideOf(file)))
}

/** Looks for a file that may be being replaced: each time, somebody may have moved it behind our back. */
const LOOKS = 5

/**
 * Calls `read` with the file's name, and with that of the one before it where the file is missing.
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

/** Where `replaceSoon` sets the former file aside. */
export const asideOf = (file: string): string => `${file}.old`

/** For what may be gone: another process replaces it at this moment, or it could not be written. */
export function tryTo(act: () => void): void {
  try {
    act()
  } catch {
    // as wanted
  }
}

/** What is there, links followed; undefined where there is nothing, where we may not look, and for a name that no file has. */
export function statsOf(path: string): FileStats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** Writes a file that nobody reads before we are done with it; makes its folder when it is missing. 0600 in 0700. */
export function writePrivate(file: string, text: string): void {
  try {
    writeFileSync(file, text, { mode: 0o600 })
  } catch {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(file, text, { mode: 0o600 })
  }
}

/**
 * The text of a file that somebody else has put there, with a link for instance: a pipe would hold us, a device has no end.
 *
 * @param most bytes
 * @returns undefined for what is no file, or a larger one
 */
export function readOrdinary(file: string, most: number): string | undefined {
  const stats = statSync(file)
  if (!stats.isFile() || stats.size > most) return undefined
  // Files of /proc have no length, and some of them no end.
  return stats.size === 0 ? "" : readFileSync(file, "utf8")
}
