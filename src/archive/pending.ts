/**
 * Transcripts whose copies have grown since the views last followed.
 *
 * A hook leaves a marker and no more: indexing costs it twice what archiving does (docs/adr/0003). Whoever reads
 * the views, and the background job, index first.
 */

import { isMissing } from "../util/errors.ts"
import { writeWhole } from "../util/files.ts"
import { readdirSync, readFileSync, renameSync, rmSync, statSync, unlinkSync } from "../util/fs.ts"
import { join } from "../util/path.ts"
import { isSuperseded } from "../vault/layout.ts"

export interface Pending {
  /** Where the host keeps the transcript. */
  readonly path: string
  /** Its copy, below `vault/`. */
  readonly copy: string
  readonly session: string
}

const folder = (dataHome: string): string => join(dataHome, "pending")

const nameOf = (copy: string): string => Bun.hash.xxHash64(copy, 0n).toString(16)

const markerOf = (dataHome: string, copy: string): string => join(folder(dataHome), `${nameOf(copy)}.json`)

/** What the marker is called while this process indexes the copy. */
const claimOf = (dataHome: string, copy: string): string =>
  join(folder(dataHome), `${nameOf(copy)}.${process.pid}.json`)

/** Markers of a copy, those included that a process claimed and did not settle: it may have died. */
function markersOf(dataHome: string, copy: string): string[] {
  return markerNames(dataHome).filter((name) => name.startsWith(`${nameOf(copy)}.`))
}

function markerNames(dataHome: string): string[] {
  try {
    return readdirSync(folder(dataHome)).filter((name) => name.endsWith(".json"))
  } catch {
    return []
  }
}

/** Whether nothing waits for the views. */
export const isSettled = (dataHome: string): boolean => markerNames(dataHome).length === 0

export const isPending = (dataHome: string, copy: string): boolean => markersOf(dataHome, copy).length > 0

/** Leaves the marker, if it is not there. Whole or not at all: half a marker would keep a whole one out. */
export function markPending(dataHome: string, { path, copy, session }: Pending): void {
  const marker = markerOf(dataHome, copy)
  if (statSync(marker, { throwIfNoEntry: false }) !== undefined) return
  writeWhole(marker, JSON.stringify({ path, copy, session }))
}

/**
 * Takes the markers of a copy over, inside the transaction that indexes it and before the copy is read: bytes
 * that come later leave a new one, and if we die before the commit, ours stays.
 */
export function claimPending(dataHome: string, copy: string): void {
  for (const name of markersOf(dataHome, copy)) {
    try {
      renameSync(join(folder(dataHome), name), claimOf(dataHome, copy))
    } catch {
      // settled at this moment, or a disk that cannot be written: indexing twice changes nothing
    }
  }
}

/** Takes away what was claimed. To be called after the commit. */
export function settlePending(dataHome: string, copy: string): void {
  try {
    unlinkSync(claimOf(dataHome, copy))
  } catch {
    // there was none, or the disk cannot be written: indexing twice changes nothing
  }
}

/** Takes away the markers of copies that are gone, whoever has claimed them. */
export function dropPending(dataHome: string, isGone: (pending: Pending) => boolean): void {
  for (const one of listPending(dataHome)) {
    if (!isGone(one)) continue
    for (const name of markersOf(dataHome, one.copy)) rmSync(join(folder(dataHome), name), { force: true })
  }
}

/** @returns false when a marker was gone: settled at this moment, or claimed, and then it has another name */
function readMarkers(dataHome: string, found: Map<string, Pending & { readonly since: number }>): boolean {
  for (const name of markerNames(dataHome)) {
    const file = join(folder(dataHome), name)
    try {
      const { path, copy, session } = JSON.parse(readFileSync(file, "utf8")) as Pending
      const since = Math.min(statSync(file).mtimeMs, found.get(copy)?.since ?? Number.POSITIVE_INFINITY)
      // Under another name nobody could settle it, and whoever indexes would go round for ever.
      if (typeof copy === "string" && typeof path === "string" && name.startsWith(`${nameOf(copy)}.`))
        found.set(copy, { path, copy, session, since })
    } catch (error) {
      if (isMissing(error)) return false
      // Half a marker, or one that we may not read.
    }
  }
  return true
}

/** Times that the folder is read again because a marker was gone: each is a claim of another process. */
const MOST_LOOKS = 100

/** Oldest first: a rewritten transcript before what it became, a session before the forks that copy its lines. */
export function listPending(dataHome: string): Pending[] {
  const found = new Map<string, Pending & { readonly since: number }>()
  for (let look = 0; look < MOST_LOOKS; look++) {
    found.clear()
    if (readMarkers(dataHome, found)) break
  }
  const later = (one: Pending): number => (isSuperseded(one.copy) ? 0 : 1)
  return [...found.values()].sort(
    (a, b) => later(a) - later(b) || a.since - b.since || (a.copy < b.copy ? -1 : 1),
  )
}
