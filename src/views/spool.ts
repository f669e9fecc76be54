/**
 * What hooks write elsewhere while the data folder cannot be written: transcripts, markers, and sessions' state. Loaded
 * only after something went wrong.
 */

import { fstatSync, statSync } from "node:fs"
import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { statsOf, tryTo, writeWhole } from "../base/files.ts"
import { rmSync } from "../base/fs.ts"
import { fileNamesIn, readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import type { Paths, PathsAndPolicy } from "../config/load.ts"
import {
  type Captured,
  type CaptureRequest,
  capture,
  NOTHING_TAKEN,
  sessionOf,
  type Taken,
  type TakeOptions,
} from "../vault/capture.ts"
import { archivedBytes, readTail, type Tail } from "../vault/copy-file.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { markPending, type Pending } from "../vault/pending.ts"
import { withCopy } from "../vault/reader.ts"
import { follows, sameStart, withSource } from "../vault/source-file.ts"
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

/*
 * A piece in the spool is a copy that begins where the vault's copy ends, as far as that can be read. The cursor is the
 * furthest trailer of copy and pieces, so nothing is spooled twice.
 */

interface Spooled {
  /** The place that took it; undefined if a place already held it. */
  readonly folder: string | undefined
  readonly captured: Captured
}

/**
 * Takes the new bytes of a transcript into the spool when the vault cannot be written.
 *
 * @param request as for the vault; its `copy` is the one there, which may be readable
 * @param copy its path below `vault/`
 * @param folders the places, best first
 * @throws the last place's error if none could be written
 */
export function captureToSpool(request: CaptureRequest, copy: string, folders: readonly string[]): Spooled {
  const pieces = folders.map((folder) => vaultFile(folder, copy))
  const known = furthest(request.transcript, [request.copy, ...pieces])
  if (known === undefined) return { folder: undefined, captured: { ...NOTHING_TAKEN, state: "missing" } }
  const { size, tail } = known
  if (tail !== undefined && archivedBytes(tail) === size) {
    const { id } = tail.header
    return { folder: undefined, captured: { ...NOTHING_TAKEN, state: "current", id, archived: size, size } }
  }
  const from = tail && continuing(tail)
  let failure: unknown
  for (const [n, folder] of folders.entries()) {
    if (!prepareSpool(folder)) continue
    try {
      return { folder, captured: capture({ ...request, copy: pieces[n]!, from }) }
    } catch (error) {
      failure = error
    }
  }
  throw failure ?? new CtxError("no-spool", "no folder can take what the vault cannot")
}

function continuing({ header, last }: Tail): NonNullable<CaptureRequest["from"]> | undefined {
  const base =
    last === undefined
      ? header.base
      : { to: last.to, tailHash: last.tailHash.toString(16), hidden: last.hidden }
  return base && { id: header.id, base }
}

/** Among the files that match the current transcript, the end of the one that reaches furthest. */
function furthest(
  transcript: string,
  files: readonly string[],
): { size: number; tail: Tail | undefined } | undefined {
  return withSource(transcript, (source, size) => {
    let best: Tail | undefined
    for (const file of files) {
      const tail = tailIfSame(file, source)
      if (tail !== undefined && (best === undefined || archivedBytes(tail) > archivedBytes(best))) best = tail
    }
    return { size, tail: best }
  })
}

/** Also undefined if the file cannot be read, which is why we are here. */
function tailIfSame(file: string, source: number) {
  try {
    if (statSync(file, { throwIfNoEntry: false }) === undefined) return undefined
    return withCopy(file, (fd) => {
      const tail = readTail(fd)
      // Taken after the tail: another hook may have archived what Claude Code has added meanwhile.
      const stats = fstatSync(source)
      if (tail === undefined || !follows(source, stats, tail)) return undefined
      return sameStart(source, stats, { fd, tail }) ? tail : undefined
    })
  } catch {
    return undefined
  }
}
