/**
 * Imports whole histories, transcript by transcript. Each slice is committed, so an import can be stopped and resumed.
 */
import { type Database, prepareForLongWork } from "../archive/database.ts"
import { catchUp } from "../archive/indexing.ts"
import { openWhole } from "../archive/open-or-repair.ts"
import { totals } from "../archive/queries/totals.ts"
import { OPTIONS } from "../config/options.ts"
import { takeArchive } from "../foreign/import-archive.ts"
import { messageOf } from "../util/errors.ts"
import { tryTo } from "../util/files.ts"
import { fillKnown } from "./fill-known.ts"
import { type ImportedFile, type ImportPlace, sizeOf, wouldTake } from "./import-file.ts"
import { Importer } from "./importer.ts"
import { preparePointers } from "./prepare-pointers.ts"

/** ms to wait for other processes that rewrite copies or have the views open. */
const PATIENCE = 5000

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

interface ImportOptions {
  readonly dryRun: boolean
  /** First compare archived bytes with the transcript, and take again whatever differs or is damaged. */
  readonly check: boolean
  /** Archives of other tools, imported after the transcripts so that nothing in those is stored twice. */
  readonly archives?: readonly string[]
  /** Whether a child may take transcripts into the vault ahead of the views. */
  readonly mayStartChild?: boolean
  readonly onProgress?: (done: number, total: number) => void
  /** Called with each file once it is done. */
  readonly onFile?: (file: ImportedFile) => void
}

export function importTranscripts(
  place: ImportPlace,
  paths: readonly string[],
  options: ImportOptions,
): ImportReport {
  const { archives = [], dryRun, check, mayStartChild = false, onProgress, onFile } = options
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
    const importer = new Importer(place, paths, { db, check, mayStartChild, indexError })
    try {
      for (const path of paths) note(importer.next(path, (archived) => onProgress?.(done + archived, total)))
    } finally {
      importer.close()
    }
    indexError = importer.indexError
    for (const path of archives) {
      note(importArchive(place, path, options))
      try {
        if (db !== undefined && indexError === undefined)
          catchUp(db, place.dataHome, Number.POSITIVE_INFINITY)
      } catch (cause) {
        indexError = messageOf(cause)
      }
    }
    const { claudeDir, hostConfig } = place
    if (db !== undefined && indexError === undefined && claudeDir !== undefined && hostConfig !== undefined) {
      const places = { ...place, claudeDir, hostConfig }
      tryTo(() => preparePointers(db, places, OPTIONS["restore.related"].default))
    }
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
function importArchive(place: ImportPlace, path: string, { dryRun, check }: ImportOptions): ImportedFile {
  const file = { path, size: sizeOf(path), waiting: 0, forgotten: false, excluded: false }
  try {
    const options = { ...place, scratch: place.stateHome, dryRun, check }
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

function summary(files: readonly ImportedFile[]): Pick<ImportReport, "ok" | "files" | "takenBytes"> {
  return {
    ok: files.every(({ error }) => error === undefined),
    files,
    takenBytes: files.reduce((sum, { taken }) => sum + taken, 0),
  }
}
