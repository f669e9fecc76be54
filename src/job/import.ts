/** Takes whole histories: transcript by transcript, each slice committed, so that it can be stopped and continued. */
import { statSync } from "node:fs"
import type { Database } from "../archive/database.ts"
import { totals } from "../archive/read.ts"
import { take } from "../archive/take.ts"
import { openWhole } from "../archive/whole.ts"
import type { Paths } from "../config/load.ts"
import { messageOf } from "../util/errors.ts"
import { follows } from "../vault/capture.ts"
import { remainderOf, withTranscript } from "../vault/check.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { tailOf } from "../vault/reader.ts"
import { setAsideIfDifferent } from "../vault/renew.ts"
import { preparePointers } from "./pointers.ts"
import { archiveAll } from "./run.ts"

type Place = Pick<Paths, "dataHome" | "home" | "secrets">

/** A file not touched for this long (ms) is not being written: its last line is taken as it is. */
const QUIET = 60_000

export interface ImportedFile {
  readonly path: string
  readonly size: number
  /** Bytes in the vault before and after; a dry run says what they would be. */
  readonly before: number
  readonly archived: number
  /** Bytes committed. More than `archived - before` when the host had rewritten the file. */
  readonly taken: number
  /** A half last line that the host is still writing. */
  readonly waiting: number
  readonly error: string | undefined
}

export interface ImportReport {
  readonly ok: boolean
  readonly dryRun: boolean
  readonly files: readonly ImportedFile[]
  readonly takenBytes: number
  /** undefined for a dry run, and where the database could not be opened. */
  readonly turns: { readonly before: number; readonly after: number } | undefined
  /** Why nothing could be indexed; the vault took the bytes all the same. */
  readonly indexError: string | undefined
}

export interface ImportOptions {
  readonly dryRun: boolean
  /** Compare what is archived byte by byte first; archive anew what differs or is damaged. */
  readonly check: boolean
  readonly onProgress?: (done: number, total: number) => void
}

export function importTranscripts(
  place: Place,
  paths: readonly string[],
  options: ImportOptions,
): ImportReport {
  const total = paths.reduce((sum, path) => sum + sizeOf(path), 0)
  if (options.dryRun) {
    const files = paths.map((path) => wouldTake(place, path))
    return { ...summary(files), dryRun: true, turns: undefined, indexError: undefined }
  }
  const { db, error } = open(place.dataHome)
  try {
    const before = db && totals(db).turns
    const files: ImportedFile[] = []
    let done = 0
    for (const path of paths) {
      files.push(
        importOne(db, place, path, options.check, (archived) => options.onProgress?.(done + archived, total)),
      )
      done += sizeOf(path)
    }
    if (db !== undefined) preparePointers(db, place.dataHome)
    const turns = db && before !== undefined ? { before, after: totals(db).turns } : undefined
    const result = summary(files)
    return { ...result, ok: result.ok && error === undefined, dryRun: false, turns, indexError: error }
  } finally {
    db?.close()
  }
}

function open(dataHome: string): { db: Database | undefined; error: string | undefined } {
  try {
    return { db: openWhole(dataHome, { wait: 5000, most: Number.POSITIVE_INFINITY }), error: undefined }
  } catch (error) {
    return { db: undefined, error: messageOf(error) }
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

function importOne(
  db: Database | undefined,
  place: Place,
  path: string,
  check: boolean,
  onProgress: (archived: number) => void,
): ImportedFile {
  const file = vaultFile(place.dataHome, vaultPath(path, place.home))
  const old = tailOf(file)
  const before = old?.last?.to ?? 0
  let error: string | undefined
  try {
    if (check) setAsideIfDifferent(path, file, Date.now())
    const lastLine = isQuiet(path) ? "any" : "whole"
    if (db === undefined) takeAll(place, path, lastLine, onProgress)
    else archiveAll(db, place, path, Number.POSITIVE_INFINITY, { lastLine, onProgress })
  } catch (cause) {
    // One unreadable file, or a full disk, must not hide what was done with the others.
    error = messageOf(cause)
  }
  const now = tailOf(file)
  const archived = now?.last?.to ?? 0
  const taken = now?.header.id === old?.header.id ? archived - before : archived
  try {
    const rest = withTranscript(path, (source) => source !== undefined && remainderOf(source, archived))
    if (rest === false) error ??= "it is gone, or no file"
    else if (rest.missing > 0)
      error ??= `${rest.missing} bytes were not taken: another process holds the copy`
    const { size, waiting } = rest === false ? { size: 0, waiting: 0 } : rest
    return { path, size, before, archived, taken, waiting, error }
  } catch (cause) {
    return { path, size: sizeOf(path), before, archived, taken, waiting: 0, error: error ?? messageOf(cause) }
  }
}

function isQuiet(path: string): boolean {
  const modified = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return Date.now() - modified > QUIET
}

/** Into the vault alone. */
function takeAll(
  place: Place,
  path: string,
  lastLine: "whole" | "any",
  onProgress: (n: number) => void,
): void {
  for (;;) {
    const { captured } = take(place, path, { now: Date.now(), deadline: performance.now() + 300, lastLine })
    onProgress(captured.archived)
    if (captured.state !== "behind") return
  }
}

function wouldTake(place: Place, path: string): ImportedFile {
  try {
    return withTranscript(path, (source) => {
      if (source === undefined) throw new Error("it is gone, or no file")
      const tail = tailOf(vaultFile(place.dataHome, vaultPath(path, place.home)))
      const before = tail?.last?.to ?? 0
      const from = tail !== undefined && !follows(source, { size: sizeOf(path) }, tail) ? 0 : before
      const { size, missing, waiting } = remainderOf(source, from)
      const half = isQuiet(path) ? waiting : 0
      const taken = missing + half
      return { path, size, before, archived: from + taken, taken, waiting: waiting - half, error: undefined }
    })
  } catch (cause) {
    const error = messageOf(cause)
    return { path, size: sizeOf(path), before: 0, archived: 0, taken: 0, waiting: 0, error }
  }
}

function summary(files: readonly ImportedFile[]): Pick<ImportReport, "ok" | "files" | "takenBytes"> {
  return {
    ok: files.every(({ error }) => error === undefined),
    files,
    takenBytes: files.reduce((sum, { taken }) => sum + taken, 0),
  }
}
