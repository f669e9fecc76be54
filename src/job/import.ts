/**
 * Imports whole histories, transcript by transcript. Each slice is committed, so an import can be stopped and resumed.
 */
import { type Database, prepareForLongWork } from "../archive/database.ts"
import { isExcluded } from "../archive/excluded.ts"
import { catchUp } from "../archive/indexing.ts"
import { totals } from "../archive/read.ts"
import { forgottenTranscript, take, UNHURRIED } from "../archive/take.ts"
import { openWhole } from "../archive/whole.ts"
import type { Paths } from "../config/load.ts"
import { OPTIONS } from "../config/options.ts"
import { type TakenArchive, takeArchive } from "../foreign/take.ts"
import { codeOf, messageOf } from "../util/errors.ts"
import { statsOf, tryTo } from "../util/files.ts"
import { remainderOf, withTranscript } from "../vault/check.ts"
import { knownOf } from "../vault/known.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { follows } from "../vault/original.ts"
import { tailOf } from "../vault/reader.ts"
import { setAsideIfDifferent } from "../vault/renew.ts"
import { fillKnown } from "./known.ts"
import { preparePointers } from "./pointers.ts"
import { archiveAll } from "./run.ts"
import { isQuiet } from "./transcripts.ts"

type Place = Pick<Paths, "dataHome" | "home" | "stateHome" | "secrets"> & Partial<Pick<Paths, "exclude">>

/** ms to wait for other processes that rewrite copies or have the views open. */
const PATIENCE = 5000

export interface ImportedFile {
  readonly path: string
  readonly size: number
  /** Bytes in the vault before and after; a dry run gives what they would be. */
  readonly before: number
  readonly archived: number
  /** Bytes committed: more than `archived - before` if the host has rewritten the file. */
  readonly taken: number
  /** Bytes of an unfinished last line that the host is still writing. */
  readonly waiting: number
  /** The user has had this session forgotten. */
  readonly forgotten: boolean
  /** The session's folder is excluded. */
  readonly excluded: boolean
  /**
   * What another tool's archive held. `size` is then the archive's; the other byte counts are of lines made from it.
   */
  readonly archive?: Pick<TakenArchive, "tool" | "sessions" | "lines">
  readonly error: string | undefined
}

export interface ImportReport {
  readonly ok: boolean
  readonly dryRun: boolean
  readonly files: readonly ImportedFile[]
  readonly takenBytes: number
  /** undefined for a dry run, or if the database could not be opened. */
  readonly turns: { readonly before: number; readonly after: number } | undefined
  /** Why not everything could be indexed. The vault has the bytes regardless. */
  readonly indexError: string | undefined
}

export interface ImportOptions {
  readonly dryRun: boolean
  /** First compare archived bytes with the transcript, and take again whatever differs or is damaged. */
  readonly check: boolean
  /** Archives of other tools, imported after the transcripts so that nothing in those is stored twice. */
  readonly archives?: readonly string[]
  readonly onProgress?: (done: number, total: number) => void
  /** Called with each file once it is done. */
  readonly onFile?: (file: ImportedFile) => void
}

export function importTranscripts(
  place: Place,
  paths: readonly string[],
  options: ImportOptions,
): ImportReport {
  const { archives = [], dryRun, check, onProgress, onFile } = options
  const total = [...paths, ...archives].reduce((sum, path) => sum + sizeOf(path), 0)
  const files: ImportedFile[] = []
  let done = 0
  const note = (file: ImportedFile): void => {
    files.push(file)
    done += file.size
    onFile?.(file)
    onProgress?.(done, total)
  }
  if (dryRun) {
    for (const path of paths) note(wouldTake(place, path))
    for (const path of archives) note(importArchive(place, path, options))
    return { ...summary(files), dryRun: true, turns: undefined, indexError: undefined }
  }
  const { db, error } = open(place.dataHome)
  let indexError = error
  try {
    const before = db && totals(db).turns
    for (const path of paths) {
      // Wait for another writer only once. The vault matters more than the views, which catch up later.
      const views = indexError === undefined ? db : undefined
      const file = importOne(views, place, path, {
        check,
        onProgress: (archived) => onProgress?.(done + archived, total),
        onUnindexed: (why) => {
          indexError ??= why
        },
      })
      note(file)
    }
    for (const path of archives) {
      note(importArchive(place, path, options))
      try {
        if (db !== undefined && indexError === undefined)
          catchUp(db, place.dataHome, Number.POSITIVE_INFINITY)
      } catch (cause) {
        indexError = messageOf(cause)
      }
    }
    // A session's start renders its own pointer if there is none.
    if (db !== undefined && indexError === undefined)
      tryTo(() => preparePointers(db, place.dataHome, OPTIONS["restore.related"].default))
    const turns = db && before !== undefined ? { before, after: totals(db).turns } : undefined
    const result = summary(files)
    return { ...result, ok: result.ok && indexError === undefined, dryRun: false, turns, indexError }
  } finally {
    db?.close()
    // In all sessions, and only now, as a subagent may come before its session.
    tryTo(() => fillKnown(place, PATIENCE))
  }
}

/** Takes everything from another tool's archive that the vault lacks, without indexing it. */
function importArchive(place: Place, path: string, { dryRun, check }: ImportOptions): ImportedFile {
  const { dataHome, stateHome, secrets } = place
  const file = { path, size: sizeOf(path), waiting: 0, forgotten: false, excluded: false }
  try {
    const options = { dataHome, scratch: stateHome, dryRun, check, secrets, exclusion: place }
    const { before, taken, error, ...archive } = takeArchive(path, options)
    return { ...file, before, archived: before + taken, taken, archive, error }
  } catch (cause) {
    return { ...file, before: 0, archived: 0, taken: 0, error: messageOf(cause) }
  }
}

function open(dataHome: string): { db: Database | undefined; error: string | undefined } {
  try {
    const db = openWhole(dataHome, { wait: 5000, most: Number.POSITIVE_INFINITY })
    prepareForLongWork(db)
    return { db, error: undefined }
  } catch (error) {
    return { db: undefined, error: messageOf(error) }
  }
}

/** 0 if the file is missing or may not be looked at; opening it will report why. */
export const sizeOf = (path: string): number => statsOf(path)?.size ?? 0

interface One {
  readonly check: boolean
  readonly onProgress: (archived: number) => void
  /** Called if the vault takes the transcript but the views cannot. */
  readonly onUnindexed: (why: string) => void
}

function importOne(
  db: Database | undefined,
  place: Place,
  path: string,
  { check, onProgress, onUnindexed }: One,
): ImportedFile {
  const file = vaultFile(place.dataHome, vaultPath(path, place.home))
  const old = tailOf(file)
  const before = old?.last?.to ?? 0
  let error: string | undefined
  try {
    const forgotten = forgottenTranscript(place.dataHome, path)
    if (forgotten?.whole) return leftOut(path)
    if (isExcluded(place, path)) return excluded(path)
    if (check) setAsideIfDifferent(path, file, Date.now())
    const lastLine = isQuiet(path) ? "any" : "whole"
    takeAll(place, path, lastLine)
    // Before the views follow, which would have to be made again.
    tryTo(() => fillKnown(place, PATIENCE))
    try {
      if (db !== undefined) archiveAll(db, place, path, Number.POSITIVE_INFINITY, { lastLine, onProgress })
    } catch (cause) {
      if (!codeOf(cause).startsWith("SQLITE_BUSY")) throw cause
      onUnindexed(messageOf(cause))
    }
    onProgress(tailOf(file)?.last?.to ?? 0)
  } catch (cause) {
    // One unreadable file, or a full disk, must not hide what was done with the others.
    error = messageOf(cause)
  }
  const now = tailOf(file)
  const archived = now?.last?.to ?? 0
  const taken = now?.header.id === old?.header.id ? archived - before : archived
  try {
    const rest = withTranscript(path, (source) => source !== undefined && remainderOf(source, archived))
    if (rest === false) error ??= "it is gone, or not a file"
    else if (rest.missing > 0)
      error ??= `${rest.missing} bytes were not taken: another process holds the copy`
    const { size, waiting } = rest === false ? { size: 0, waiting: 0 } : rest
    return { path, size, before, archived, taken, waiting, ...WANTED, error }
  } catch (cause) {
    const size = sizeOf(path)
    return {
      path,
      size,
      before,
      archived,
      taken,
      waiting: 0,
      ...WANTED,
      error: error ?? messageOf(cause),
    }
  }
}

const leftOut = (path: string): ImportedFile => ({
  path,
  size: sizeOf(path),
  before: 0,
  archived: 0,
  taken: 0,
  waiting: 0,
  forgotten: true,
  excluded: false,
  error: undefined,
})

const WANTED = { forgotten: false, excluded: false } as const

const excluded = (path: string): ImportedFile => ({ ...leftOut(path), forgotten: false, excluded: true })

/** Archives into the vault only. */
function takeAll(place: Place, path: string, lastLine: "whole" | "any"): void {
  for (;;) {
    const { captured } = take(place, path, {
      now: Date.now(),
      deadline: performance.now() + 300,
      lastLine,
      level: UNHURRIED,
      known: knownOf,
    })
    if (captured.state !== "behind") return
  }
}

function wouldTake(place: Place, path: string): ImportedFile {
  try {
    if (forgottenTranscript(place.dataHome, path)?.whole) return leftOut(path)
    if (isExcluded(place, path)) return excluded(path)
    return withTranscript(path, (source) => {
      if (source === undefined) throw new Error("it is gone, or not a file")
      const tail = tailOf(vaultFile(place.dataHome, vaultPath(path, place.home)))
      const before = tail?.last?.to ?? 0
      const from = tail !== undefined && !follows(source, { size: sizeOf(path) }, tail) ? 0 : before
      const { size, missing, waiting } = remainderOf(source, from)
      const half = isQuiet(path) ? waiting : 0
      const taken = missing + half
      const after = { archived: from + taken, taken, waiting: waiting - half }
      return { path, size, before, ...after, ...WANTED, error: undefined }
    })
  } catch (cause) {
    const error = messageOf(cause)
    return { ...leftOut(path), ...WANTED, error }
  }
}

function summary(files: readonly ImportedFile[]): Pick<ImportReport, "ok" | "files" | "takenBytes"> {
  return {
    ok: files.every(({ error }) => error === undefined),
    files,
    takenBytes: files.reduce((sum, { taken }) => sum + taken, 0),
  }
}
