/** How much of the agents' history is missing from the vault, and its import in the background. */

import { transcriptFolders } from "../agents/agents.ts"
import { isMade } from "../agents/layouts.ts"
import { statsOf, tryTo } from "../base/files.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { forgottenTranscript } from "../vault/capture.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { archivedIn } from "../vault/reader.ts"
import { isExcluded } from "../views/excluded.ts"
import { oneForEachCopy, transcriptFilesBelow } from "./find-transcripts.ts"
import { hasNews, isLeftOut } from "./import/taken-made.ts"
import { waitingRequests } from "./requests.ts"
import { spawnJob } from "./spawn.ts"

type Place = Pick<PathsAndPolicy, "dataHome" | "home" | "claudeDir" | "named" | "exclude">

export interface History {
  /** All transcripts but excluded and forgotten ones, and how many have bytes that the vault lacks. */
  readonly transcripts: number
  readonly left: number
  readonly bytes: number
  readonly bytesLeft: number
  /** Of those that have, how many Claude Code deletes before a moment that was asked for. */
  readonly expiring: number
}

/**
 * Costs three or four small reads per transcript.
 *
 * @param lastChange ms since the epoch: of what has not changed since, Claude Code's is deleted soon
 */
export function historyOf(place: Place, lastChange = 0): History {
  const history = { transcripts: 0, left: 0, bytes: 0, bytesLeft: 0, expiring: 0 }
  const below = transcriptFolders(place).flatMap((folder) => transcriptFilesBelow(folder))
  for (const { path, changed } of oneForEachCopy(below, place.home)) {
    const isStored = isMade(path)
    if (isStored && isUnwanted(place, path, changed)) continue
    const archived = archivedIn(vaultFile(place.dataHome, vaultPath(path, place.home)))
    if (!isStored && !isWanted(place, path)) continue
    // Nobody knows before how many bytes will be made of it.
    const news = isStored && hasNews(place, path, changed) ? 1 : 0
    const size = isStored ? archived + news : (statsOf(path)?.size ?? 0)
    const missing = size - Math.min(size, archived)
    history.transcripts++
    history.bytes += size
    history.bytesLeft += missing
    if (missing > 0) history.left++
    if (missing > 0 && changed < lastChange && path.startsWith(`${place.claudeDir}/`)) history.expiring++
  }
  return history
}

/** The same of a session that is no transcript; that its folder is excluded shows when it is first looked at. */
const isUnwanted = (place: Place, path: string, changed: number): boolean =>
  isLeftOut(place, path, changed) ||
  tryTo(() => forgottenTranscript(place.dataHome, path.replace(/\.zst$/, ""))?.whole) === true

/** If a transcript cannot be read, its folder is unknown, and it cannot be archived either. */
function isWanted(place: Place, path: string): boolean {
  try {
    return !isExcluded(place, path) && forgottenTranscript(place.dataHome, path)?.whole !== true
  } catch {
    return false
  }
}

/** Leaves the whole import to the background job and returns at once. */
export const importInBackground = (place: Place): void =>
  spawnJob(place.dataHome, { transcripts: [], sweep: transcriptFolders(place), settle: false, history: true })

/** How far a background import is; undefined if none is running or waiting. */
export function importUnderWay(place: Place): History | undefined {
  return waitingRequests(place.dataHome).some(({ history }) => history) ? historyOf(place) : undefined
}
