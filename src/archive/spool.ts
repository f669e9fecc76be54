/**
 * What hooks write elsewhere while the data folder cannot be written: transcripts, markers, and sessions' state. Loaded
 * only after something went wrong.
 */
import { join } from "node:path"
import type { PathsAndPolicy } from "../config/load.ts"
import { codeOf, messageOf } from "../util/errors.ts"
import { statsOf, writeWhole } from "../util/files.ts"
import { readdirSync, readFileSync, rmSync } from "../util/fs.ts"
import { knownOf } from "../vault/known.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { captureToSpool } from "../vault/spool.ts"
import { existingSpools, prepareSpool, type SpoolPaths, spoolFolders } from "../vault/spool-folders.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/walk.ts"
import { markPending, type Pending } from "./pending.ts"
import { sessionOf, type Taken, type TakeOptions } from "./take.ts"

/** The latest reason why something had to be spooled. */
export interface SpoolReason {
  /** ISO 8601. */
  readonly time: string
  readonly code: string
  readonly message: string
}

/** Like `take`, into the first place that can be written. None of it can be indexed yet. */
export function takeToSpool(
  paths: PathsAndPolicy,
  path: string,
  options: TakeOptions,
  cause: unknown,
): Taken {
  const copy = vaultPath(path, paths.home)
  const session = sessionOf(path, options.parent)
  const request = {
    transcript: path,
    copy: vaultFile(paths.dataHome, copy),
    now: options.now,
    deadline: options.deadline,
    hurried: options.hurried,
    lastLine: options.lastLine,
    forgotten: () => readable(() => forgottenOf(paths.dataHome, session, path)),
    // Filtered now, because moving it into the vault does not filter it again.
    secrets: paths.secrets,
    known: knownOf(paths, session, path),
  }
  const { folder, captured } = captureToSpool(request, copy, spoolFolders(paths))
  if (folder !== undefined) rememberReason(folder, cause, options.now)
  return { path, copy, session, captured, fresh: [], unmarked: false }
}

/** If tombstones cannot be read either, they are checked when the piece is moved. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (codeOf(error) === "tombstone-damaged") throw error
    return undefined
  }
}

/** Spools a marker that could not be left where the views look. */
export function spoolMarker(paths: PathsAndPolicy, pending: Pending): void {
  firstThatTakes(paths, (folder) => markPending(folder, pending))
}

const stateFile = (folder: string, session: string): string => join(folder, "sessions", `${session}.json`)

export function spoolState(paths: PathsAndPolicy, session: string, text: string): void {
  firstThatTakes(paths, (folder) => writeWhole(stateFile(folder, session), text))
}

/** A session's state if it is newer than the one in the data folder. */
export function newerState(paths: PathsAndPolicy, session: string): unknown {
  let newest = changed(stateFile(paths.dataHome, session))
  let found: unknown
  for (const folder of existingSpools(paths)) {
    const file = stateFile(folder, session)
    if (changed(file) <= newest) continue
    try {
      found = JSON.parse(readFileSync(file, "utf8"))
      newest = changed(file)
    } catch {
      // Half of it is as good as nothing.
    }
  }
  return found
}

/** ms since the epoch, 0 if there is no such file. */
const changed = (file: string): number => statsOf(file)?.mtimeMs ?? 0

function firstThatTakes(paths: PathsAndPolicy, write: (folder: string) => void): void {
  let failure: unknown
  const folders = spoolFolders(paths)
  // Twice, as whoever empties a spool may remove its folder between these two steps.
  for (const folder of [...folders, ...folders]) {
    if (!prepareSpool(folder)) continue
    try {
      write(folder)
      return
    } catch (error) {
      failure = error
    }
  }
  throw failure
}

const reasonFile = (folder: string): string => join(folder, "reason.json")

function rememberReason(folder: string, cause: unknown, now: number): void {
  const time = new Date(now).toISOString()
  const reason: SpoolReason = { time, code: codeOf(cause), message: messageOf(cause) }
  try {
    writeWhole(reasonFile(folder), JSON.stringify(reason))
  } catch {
    // The bytes matter more than the reason.
  }
}

export const forgetReason = (folder: string): void => rmSync(reasonFile(folder), { force: true })

/** What one spool folder holds. */
export interface SpoolStatus {
  readonly folder: string
  readonly transcripts: number
  /** Bytes on disk. */
  readonly bytes: number
  readonly reason: SpoolReason | null
}

/** Spool folders with transcripts in them. */
export function spoolStatus(paths: SpoolPaths): SpoolStatus[] {
  return existingSpools(paths).flatMap((folder) => {
    const files = vaultFiles(folder)
    if (files.length === 0) return []
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return [{ folder, transcripts: files.length, bytes, reason: reasonIn(folder) ?? null }]
  })
}

function reasonIn(folder: string): SpoolReason | undefined {
  try {
    return JSON.parse(readFileSync(reasonFile(folder), "utf8")) as SpoolReason
  } catch {
    return undefined
  }
}

/** Files of sessions' state in one spool folder. */
export function spooledStates(folder: string): { session: string; file: string }[] {
  try {
    const names = readdirSync(join(folder, "sessions")).filter((name) => name.endsWith(".json"))
    return names.map((name) => ({
      session: name.slice(0, -".json".length),
      file: stateFile(folder, name.slice(0, -".json".length)),
    }))
  } catch {
    return []
  }
}
