/**
 * For a transcript changed where the cursor does not look: its length and end are the same, so only a comparison of
 * every byte shows it.
 */
import { closeSync, existsSync } from "node:fs"
import { CtxError } from "../util/errors.ts"
import { checkCopy, withTranscript } from "./check.ts"
import { openLocked, setAside } from "./file.ts"
import { tailOf } from "./reader.ts"

/** ms to wait for another process that archives the same transcript. */
const PATIENCE = 5000

/**
 * Sets a copy aside if it is damaged or differs from the transcript, so that the next capture begins anew. Deletes
 * nothing.
 *
 * @param transcript absolute path
 * @param copy absolute path of its copy
 * @param now ms since the epoch
 * @returns the copy's new path; undefined if it is sound, or there is none
 */
export function setAsideIfDifferent(transcript: string, copy: string, now: number): string | undefined {
  if (!existsSync(transcript) || tailOf(copy) === undefined) return undefined
  // Opened only under the lock, since whoever held it may have archived a file that has taken the transcript's place.
  return setAsideUnless(copy, transcript, now, () =>
    withTranscript(transcript, (source) => source === undefined || isSound(copy, source)),
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
function setAsideUnless(copy: string, path: string, now: number, isFine: () => boolean): string | undefined {
  const held = openLocked(copy, { path, created: now }, performance.now() + PATIENCE)
  if (held === undefined) {
    throw new CtxError("busy", "another process is archiving this transcript", { hint: "try again" })
  }
  try {
    return isFine() ? undefined : setAside(copy)
  } finally {
    closeSync(held.fd)
  }
}
