/**
 * Transcripts whose copies have grown since the views last followed.
 *
 * A hook only leaves a marker, because indexing costs it twice as much as archiving (docs/adr/0003). The background
 * job, and whoever reads the views, index first.
 */
import { isMissing } from "../base/errors.ts"
import { readFileSync, rmSync, statSync } from "../base/fs.ts"
import { dropFile, fileNamesIn, hashName, takeFile, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { isBesideCopy, isHistoryCopy, isSuperseded } from "./layout.ts"

export interface Pending {
  /** Where Claude Code keeps the transcript. */
  readonly path: string
  /** Its copy, as a path below `vault/`. */
  readonly copy: string
  readonly session: string
}

const folder = (dataHome: string): string => join(dataHome, "pending")

const markerOf = (dataHome: string, copy: string): string => join(folder(dataHome), `${hashName(copy)}.json`)

/** Name of the marker while this process indexes the copy. */
const claimOf = (dataHome: string, copy: string): string =>
  join(folder(dataHome), `${hashName(copy)}.${process.pid}.json`)

/** Markers of a copy, including those claimed by a process that did not settle them and may have died. */
function markersOf(dataHome: string, copy: string): string[] {
  return markerNames(dataHome).filter((name) => name.startsWith(`${hashName(copy)}.`))
}

const markerNames = (dataHome: string): string[] =>
  fileNamesIn(folder(dataHome)).filter((name) => name.endsWith(".json"))

/** Whether nothing waits for the views. */
export const isSettled = (dataHome: string): boolean => markerNames(dataHome).length === 0

export const isPending = (dataHome: string, copy: string): boolean => markersOf(dataHome, copy).length > 0

/**
 * Leaves a marker unless there is one. Written as a whole, since half a marker would keep a whole one out; an empty one
 * is what a power failure leaves, because nobody waits for the disk.
 */
export function markPending(dataHome: string, { path, copy, session }: Pending): void {
  const marker = markerOf(dataHome, copy)
  if ((statSync(marker, { throwIfNoEntry: false })?.size ?? 0) > 0) return
  writeJson(marker, { path, copy, session })
}

/**
 * Takes over the markers of a copy, inside the transaction that indexes it and before the copy is read: later bytes
 * leave a new marker, and if we die before the commit, ours stays.
 */
export function claimPending(dataHome: string, copy: string): void {
  for (const name of markersOf(dataHome, copy))
    takeFile(join(folder(dataHome), name), claimOf(dataHome, copy))
}

/** Removes what was claimed. Call after the commit. */
export const settlePending = (dataHome: string, copy: string): void => dropFile(claimOf(dataHome, copy))

/** Removes the markers of copies that are gone, whoever has claimed them. */
export function dropPending(dataHome: string, isGone: (pending: Pending) => boolean): void {
  for (const one of listPending(dataHome)) {
    if (!isGone(one)) continue
    for (const name of markersOf(dataHome, one.copy)) rmSync(join(folder(dataHome), name), { force: true })
  }
}

/** @returns false if a marker disappeared: it was just settled, or claimed and so renamed */
function readMarkers(dataHome: string, found: Map<string, Pending & { readonly since: number }>): boolean {
  for (const name of markerNames(dataHome)) {
    const file = join(folder(dataHome), name)
    try {
      const { path, copy, session } = JSON.parse(readFileSync(file, "utf8")) as Pending
      const since = Math.min(statSync(file).mtimeMs, found.get(copy)?.since ?? Number.POSITIVE_INFINITY)
      // Nobody could settle a marker under another name, so indexing would never end.
      if (typeof copy === "string" && typeof path === "string" && name.startsWith(`${hashName(copy)}.`))
        found.set(copy, { path, copy, session, since })
    } catch (error) {
      if (isMissing(error)) return false
      // It is half a marker, or one that we may not read.
    }
  }
  return true
}

/** How often the folder is read again because a marker disappeared, each time to another process. */
const MOST_LOOKS = 100

/** Oldest first. */
export function listPending(dataHome: string): Pending[] {
  const found = new Map<string, Pending & { readonly since: number }>()
  for (let look = 0; look < MOST_LOOKS; look++) {
    found.clear()
    if (readMarkers(dataHome, found)) break
  }
  return [...found.values()].sort((a, b) => a.since - b.since || (a.copy < b.copy ? -1 : 1))
}

/**
 * In the order in which views follow: a transcript's former content before its current one, a session before forks that
 * copy its lines. Files beside transcripts come after these, and the list of all prompts last (view-sources.ts).
 */
export function pendingInOrder(dataHome: string): Pending[] {
  const later = ({ copy }: Pending): number =>
    (isHistoryCopy(copy) ? 4 : isBesideCopy(copy) ? 2 : 0) + (isSuperseded(copy) ? 0 : 1)
  return listPending(dataHome).sort((a, b) => later(a) - later(b))
}
