/**
 * What hooks write elsewhere while the data folder cannot be written: transcripts, markers, and sessions' state. Loaded
 * only after something went wrong.
 */

import { codeOf, messageOf } from "../base/errors.ts"
import { statsOf, tryTo, writeWhole } from "../base/files.ts"
import { rmSync } from "../base/fs.ts"
import { fileNamesIn, readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import type { Paths, PathsAndPolicy } from "../config/load.ts"
import { captureToSpool } from "../vault/capture-to-spool.ts"
import { sessionOf, type Taken, type TakeOptions } from "../vault/capture-transcript.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { markPending, type Pending } from "../vault/pending.ts"
import { existingSpools, prepareSpool, spoolFolders } from "../vault/spool-folders.ts"
import { forgottenOf } from "../vault/tombstones.ts"
import { vaultFiles } from "../vault/vault-files.ts"
import { sessionFile, sessionFolder } from "./session-files.ts"

/** The latest reason why something had to be spooled. */
interface SpoolReason {
  /** ISO 8601. */
  readonly time: string
  readonly code: string
  readonly message: string
}

/** Like `captureTranscript`, into the first place that can be written. None of it can be indexed yet. */
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

export function spoolState(paths: PathsAndPolicy, session: string, text: string): void {
  firstThatTakes(paths, (folder) => writeWhole(sessionFile(folder, session), text))
}

/** A session's state if it is newer than the one in the data folder. */
export function newerState(paths: PathsAndPolicy, session: string): unknown {
  let newest = changed(sessionFile(paths.dataHome, session))
  let found: unknown
  for (const folder of existingSpools(paths)) {
    const file = sessionFile(folder, session)
    if (changed(file) <= newest) continue
    const state = readJson(file)
    if (state === undefined) continue
    found = state
    newest = changed(file)
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
  // The bytes matter more than the reason.
  tryTo(() => writeJson(reasonFile(folder), reason))
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
export function spoolStatus(paths: Paths): SpoolStatus[] {
  return existingSpools(paths).flatMap((folder) => {
    const files = vaultFiles(folder)
    if (files.length === 0) return []
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
    return [
      {
        folder,
        transcripts: files.length,
        bytes,
        reason: (readJson(reasonFile(folder)) as SpoolReason | undefined) ?? null,
      },
    ]
  })
}

/** Files of sessions' state in one spool folder. */
export const spooledStates = (folder: string): { session: string; file: string }[] =>
  fileNamesIn(sessionFolder(folder))
    .filter((name) => name.endsWith(".json"))
    .map((name) => ({ session: name.slice(0, -".json".length), file: join(sessionFolder(folder), name) }))
