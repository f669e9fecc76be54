/**
 * What is told of a session whose transcript was made of what its agent keeps otherwise, and how far such sessions have
 * been read, so that those that have not changed since need not be looked at. Without that, all of them are looked at
 * again, which changes nothing.
 */
import { tryTo } from "../../base/files.ts"
import { hashName, readJson, writeJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import type { Paths, Policy } from "../../config/load.ts"
import { objectOf } from "../../record/json.ts"
import type { Taken } from "../../vault/capture.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn, tailOf } from "../../vault/reader.ts"

export type MadePlace = Pick<Paths, "dataHome" | "home"> & Partial<Policy>

export interface TakeMade {
  /** ms since the epoch. */
  readonly now: number
  /**
   * ms of performance.now() at which to stop: the state is `behind` then, and the next call goes on. Default: when all is
   * taken.
   */
  readonly deadline?: number | undefined
  /** Count what would be appended; write nothing. */
  readonly dryRun?: boolean
  /** Look at all of it, however far it has been read before. */
  readonly isWhole?: boolean
}

export interface MadeTaken extends Taken {
  /** Whether the session's folder is excluded. */
  readonly isExcluded: boolean
  /** Lines of the copy whose SHA-256 is not the one that they name. */
  readonly altered: number
}

/** As the vault is, with nothing added. */
export function nothingTaken(
  { dataHome }: Pick<Paths, "dataHome">,
  about: Pick<Taken, "path" | "copy" | "session">,
  state: Taken["captured"]["state"],
  isExcluded = false,
): MadeTaken {
  const tail = tryTo(() => tailOf(vaultFile(dataHome, about.copy)))
  const archived = tail?.last?.to ?? 0
  const rest = { archived, size: archived, taken: 0, superseded: undefined }
  const captured = { state, id: tail?.header.id, ...rest }
  return { ...about, captured, fresh: [], unmarked: false, isExcluded, altered: 0 }
}

interface Seen {
  /** The time of the session's last change that its agent tells, in ms since the epoch. */
  readonly updated: number
  /** Bytes of the copy then. */
  readonly to: number
  /** What excluded it, if it was left out for that. */
  readonly leftOutBy?: string
}

const seenFile = ({ dataHome }: Pick<Paths, "dataHome">, path: string): string =>
  join(dataHome, "followed", `${hashName(path)}.json`)

export function seenOf(place: MadePlace, path: string): Seen | undefined {
  const { updated, to, leftOutBy } = objectOf(readJson(seenFile(place, path)))
  if (typeof updated !== "number" || typeof to !== "number") return undefined
  if (typeof leftOutBy === "string")
    return leftOutBy === excludedBy(place) ? { updated, to, leftOutBy } : undefined
  // A copy that is gone, or was brought back from an earlier backup.
  return archivedIn(vaultFile(place.dataHome, vaultPath(path, place.home))) < to ? undefined : { updated, to }
}

export const noteSeen = (place: MadePlace, path: string, seen: Seen): void => {
  tryTo(() => writeJson(seenFile(place, path), seen))
}

/** Whether a session may have rows that the vault lacks. */
export const hasNews = (place: MadePlace, path: string, updated: number): boolean =>
  updated > (seenOf(place, path)?.updated ?? -1)

/* What is left out. Without a note of it, it would seem to be missing for ever: nobody reads it all to see whose it is. */

const excludedBy = ({ exclude = [] }: MadePlace): string => hashName(JSON.stringify(exclude))

/** As long as the same folders are excluded. */
export const noteLeftOut = (place: MadePlace, path: string, updated: number): void =>
  noteSeen(place, path, { updated, to: 0, leftOutBy: excludedBy(place) })

/** Whether a session was left out because of its folder when it was last looked at, and is as it was. */
export const isLeftOut = (place: MadePlace, path: string, updated: number): boolean =>
  seenOf(place, path)?.leftOutBy !== undefined && !hasNews(place, path, updated)
