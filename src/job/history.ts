/** How much of the host's history is not in the vault, and the import of it in the background. */
import { join } from "node:path"
import { isExcluded } from "../archive/excluded.ts"
import type { Paths } from "../config/load.ts"
import { statsOf } from "../util/files.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { archivedIn } from "../vault/reader.ts"
import { waitingRequests } from "./requests.ts"
import { spawnJob } from "./spawn.ts"
import { transcriptsBelow } from "./transcripts.ts"

type Place = Pick<Paths, "dataHome" | "home" | "claudeDir" | "exclude">

export interface History {
  /** All transcripts of the host that are wanted, and those of them with bytes that the vault does not hold. */
  readonly transcripts: number
  readonly left: number
  readonly bytes: number
  readonly bytesLeft: number
}

const historyFolder = ({ claudeDir }: Pick<Paths, "claudeDir">): string => join(claudeDir, "projects")

/** Two small reads for each transcript, and one where folders are excluded. */
export function historyOf(place: Place): History {
  const history = { transcripts: 0, left: 0, bytes: 0, bytesLeft: 0 }
  for (const path of transcriptsBelow(historyFolder(place))) {
    if (!isWanted(place, path)) continue
    const size = statsOf(path)?.size ?? 0
    const missing = size - Math.min(size, archivedIn(vaultFile(place.dataHome, vaultPath(path, place.home))))
    history.transcripts++
    history.bytes += size
    history.bytesLeft += missing
    if (missing > 0) history.left++
  }
  return history
}

/** Of what cannot be read nobody knows whose folder it is of; nor can it be archived. */
function isWanted(place: Place, path: string): boolean {
  try {
    return !isExcluded(place, path)
  } catch {
    return false
  }
}

/** The background job takes all of it; the caller goes on at once. */
export const importInBackground = (place: Place): void =>
  spawnJob(place.dataHome, { transcripts: [], sweep: [historyFolder(place)], settle: false, history: true })

/** undefined unless an import in the background is at work or waits for a job to go on with it. */
export function importUnderWay(place: Place): History | undefined {
  return waitingRequests(place.dataHome).some(({ history }) => history) ? historyOf(place) : undefined
}
