/** Puts out of the way what cannot stay in the place of a copy. Deletes nothing of a transcript. */
import { closeSync, existsSync, fstatSync, openSync, unlinkSync } from "node:fs"
import { throwBusy } from "../base/errors.ts"
import { renameSync } from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { checkCopy } from "./check-copy.ts"
import { holdsNothing, inodeOf, setAside, withLockedCopy } from "./copy-file.ts"
import { tailOf } from "./reader.ts"
import { withSource } from "./source-file.ts"

/** ms to wait for another process that archives the same transcript. */
const PATIENCE = 5000

/**
 * For a transcript changed where the cursor does not look: its length and end are the same, so only a comparison of
 * every byte shows it. Sets a copy aside if it is damaged or differs, so that the next capture begins anew.
 *
 * @param transcript absolute path
 * @param copy absolute path of its copy
 * @param now ms since the epoch
 * @returns the copy's new path; undefined if it is sound, or there is none
 */
export function setAsideIfDifferent(transcript: string, copy: string, now: number): string | undefined {
  if (!existsSync(transcript) || tailOf(copy) === undefined) return undefined
  // Opened only under the lock, since whoever held it may have archived a file that has taken the transcript's place.
  return setAsideUnless(
    copy,
    transcript,
    now,
    () => withSource(transcript, (fd) => isSound(copy, fd)) ?? true,
  )
}

/** The same for a copy without a transcript: sets it aside if it is damaged. */
export function setAsideIfDamaged(copy: string, path: string, now: number): string | undefined {
  if (tailOf(copy) === undefined) return undefined
  return setAsideUnless(copy, path, now, () => isSound(copy, undefined))
}

function isSound(copy: string, source: number | undefined): boolean {
  const check = checkCopy(copy, source)
  return check === undefined || (check.damage.length === 0 && check.differsAt === undefined)
}

/** Calls `isFine` under the copy's lock. */
const setAsideUnless = (copy: string, path: string, now: number, isFine: () => boolean): string | undefined =>
  withLockedCopy(
    copy,
    { path, created: now },
    performance.now() + PATIENCE,
    () => (isFine() ? undefined : setAside(copy)),
    () => throwBusy("another process is archiving this transcript", "try again"),
  )

/** Removes a copy that was begun and holds nothing, unless somebody is writing it. */
export function removeBegun(file: string): void {
  const fd = openSync(file, "r+")
  try {
    if (lock(fd, 0) && fstatSync(fd).ino === inodeOf(file) && holdsNothing(fd)) unlinkSync(file)
  } finally {
    closeSync(fd)
  }
}

/** Renames what is in the place of a copy, and is none. The new name is none that a copy may have. */
export function moveAside(file: string): void {
  for (let n = 1; ; n++) {
    const target = `${file}.aside-${n}`
    if (inodeOf(target) !== undefined) continue
    renameSync(file, target)
    return
  }
}
