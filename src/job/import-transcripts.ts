/**
 * Imports whole histories, transcript by transcript. Each slice is committed, so an import can be stopped and resumed.
 */
import { isDocument } from "../agents/layouts.ts"
import { codeOf, messageOf, throwBusy } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { existsSync } from "../base/fs.ts"
import { OPTIONS } from "../config/options.ts"
import { sessionOf } from "../vault/capture.ts"
import type { Tail } from "../vault/copy-file.ts"
import { isUntouched, readList } from "../vault/copy-list.ts"
import { knownOf } from "../vault/known-values.ts"
import { vaultFile, vaultPath } from "../vault/layout.ts"
import { type Mended, mendCopy, setAsideIfDifferent } from "../vault/mend-copy.ts"
import { withReplacingLock } from "../vault/merge-frames.ts"
import { isPending, markPending, settlePending } from "../vault/pending.ts"
import { tailOf } from "../vault/reader.ts"
import { type Database, databasePath, prepareForLongWork } from "../views/database.ts"
import { isExcluded } from "../views/excluded.ts"
import { catchUp, doubting, index, type OnGap, untilDone } from "../views/indexing.ts"
import { listVault } from "../views/list-vault.ts"
import { open } from "../views/open.ts"
import { openCurrent } from "../views/open-current.ts"
import { promptsOnlySessions } from "../views/queries/sessions.ts"
import { totals } from "../views/queries/totals.ts"
import { lacksAny } from "../views/queries/transcripts.ts"
import { CaptureAhead, type Slice } from "./capture-ahead.ts"
import { fillKnown } from "./fill-known.ts"
import { type FoundMoves, findMoves } from "./find-moves.ts"
import { takeForeignArchive } from "./import/import-archive.ts"
import {
  copyOf,
  type ImportedFile,
  type ImportPlace,
  importFile,
  patiently,
  sizeOf,
  unwantedIn,
  wouldTake,
} from "./import-file.ts"
import { preparePointers } from "./prepare-pointers.ts"
import { followCopies } from "./redact-archive.ts"
import { type Indexed, indexTaken } from "./request-visits.ts"

/** ms to wait for other processes that rewrite copies or have the views open. */
const PATIENCE = 5000

export interface ImportReport {
  readonly ok: boolean
  readonly dryRun: boolean
  readonly files: readonly ImportedFile[]
  readonly takenBytes: number
  /** undefined for a dry run, or if the database could not be opened. */
  readonly turns: { readonly before: number; readonly after: number } | undefined
  /** How many sessions are known only from the list of all prompts; undefined like `turns`. */
  readonly promptsOnly: number | undefined
  /** Why not everything could be indexed. The vault has the bytes regardless. */
  readonly indexError: string | undefined
  /** Damaged copies that were made whole again from their transcripts. */
  readonly mended: MendReport["mended"]
  /** Repositories that were moved, and are joined with their new place, or are not joined any more. */
  readonly moves: FoundMoves
}

interface ImportOptions {
  readonly dryRun: boolean
  /** First compare archived bytes with the transcript, and take again whatever differs or is damaged. */
  readonly check: boolean
  /** Archives of other tools, imported after the transcripts so that nothing in those is stored twice. */
  readonly archives?: readonly string[]
  /** The folder in which somebody works: a repository may have been moved there. */
  readonly folder?: string
  /** Whether a child may take transcripts into the vault ahead of the views. */
  readonly mayStartChild?: boolean
  readonly onProgress?: (done: number, total: number) => void
  /**
   * Called again and again, with the bytes done, while another process keeps the import waiting. Without it, nothing is
   * waited for for long, and what was not done is told.
   */
  readonly onWait?: (done: number, total: number) => void
  /** Called with the number of copies that were compared with their transcripts. */
  readonly onCheck?: (done: number, total: number) => void
  /** Called with each file once it is done. */
  readonly onFile?: (file: ImportedFile) => void
}

const NO_MOVES: FoundMoves = { joined: [], parted: [] }

export function importTranscripts(
  place: ImportPlace,
  paths: readonly string[],
  options: ImportOptions,
): ImportReport {
  const { archives = [], dryRun, check, mayStartChild = false, onProgress, onCheck, onFile } = options
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
    for (const path of archives) note(importForeignArchive(place, path, options))
    return {
      ...summary(files),
      dryRun: true,
      turns: undefined,
      promptsOnly: undefined,
      indexError: undefined,
      moves: NO_MOVES,
      mended: [],
    }
  }
  const onWait = options.onWait && (() => options.onWait?.(done, total))
  const repaired = mendDamaged(place, paths, {
    check,
    wait: PATIENCE,
    onLook: (n) => onCheck?.(n, paths.length),
    onWait,
  })
  const { db, error } = openToIndex(place.dataHome, onWait)
  let indexError = error ?? repaired.viewsError
  try {
    const before = db && totals(db).turns
    const importer = new Importer(place, paths, { db, mayStartChild, indexError, onWait })
    try {
      for (const path of paths) {
        const file = importer.next(path, (archived) => onProgress?.(done + archived, total))
        note(withRepair(file, repaired))
      }
    } finally {
      importer.close()
    }
    indexError = importer.indexError
    // The vault has all of it by now.
    if (db !== undefined && importer.isHeldUp && onWait !== undefined) {
      patiently(onWait, () => catchUp(db, place.dataHome, Number.POSITIVE_INFINITY))
      indexError = repaired.viewsError
    }
    for (const path of archives) {
      note(importForeignArchive(place, path, options))
      try {
        if (db !== undefined && indexError === undefined)
          patiently(onWait, () => catchUp(db, place.dataHome, Number.POSITIVE_INFINITY))
      } catch (cause) {
        indexError = messageOf(cause)
      }
    }
    let moves: FoundMoves = NO_MOVES
    try {
      if (db !== undefined && indexError === undefined)
        moves = findMoves(db, place.dataHome, {
          folders: options.folder === undefined ? [] : [options.folder],
          now: Date.now(),
          anew: true,
        })
    } catch (cause) {
      indexError = messageOf(cause)
    }
    const { claudeDir, claudeConfig } = place
    if (
      db !== undefined &&
      indexError === undefined &&
      claudeDir !== undefined &&
      claudeConfig !== undefined
    ) {
      const places = { ...place, claudeDir, claudeConfig }
      tryTo(() => preparePointers(db, places, OPTIONS["restore.related"].default))
    }
    const turns = db && before !== undefined ? { before, after: totals(db).turns } : undefined
    const promptsOnly = db && promptsOnlySessions(db).length
    const result = summary(files)
    return {
      ...result,
      ok: result.ok && indexError === undefined,
      dryRun: false,
      turns,
      promptsOnly,
      indexError,
      moves,
      mended: repaired.mended,
    }
  } finally {
    db?.close()
    // In all sessions, and only now, as a subagent may come before its session.
    tryTo(() => fillKnown(place, PATIENCE))
    tryTo(() =>
      listVault(
        place.dataHome,
        paths.map((path) => vaultPath(path, place.home)),
      ),
    )
  }
}

/** A copy that was set aside before the import had held something; one that could not be looked at is told of. */
function withRepair(file: ImportedFile, { failed, former }: MendReport): ImportedFile {
  const before = former.get(file.path)?.last?.to ?? file.before
  return { ...file, before, error: file.error ?? failed.get(file.path) }
}

/** Takes everything from another tool's archive that the vault lacks, without indexing it. */
function importForeignArchive(
  place: ImportPlace,
  path: string,
  { dryRun, check }: ImportOptions,
): ImportedFile {
  const file = { path, size: sizeOf(path), waiting: 0, forgotten: false, excluded: false }
  try {
    const options = { ...place, scratch: place.stateHome, dryRun, check }
    const { before, taken, error, ...archive } = takeForeignArchive(path, options)
    return { ...file, before, archived: before + taken, taken, archive, error }
  } catch (cause) {
    return { ...file, before: 0, archived: 0, taken: 0, error: messageOf(cause) }
  }
}

function openToIndex(
  dataHome: string,
  onWait: (() => void) | undefined,
): { db: Database | undefined; error: string | undefined } {
  try {
    const db = patiently(onWait, () => openCurrent(dataHome, "job"))
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

/* Finds copies that were changed by somebody else or are known to be damaged, and mends them from their transcripts. */

interface MendedTranscript {
  readonly path: string
  /** Path of the copy below `vault/`. */
  readonly copy: string
  /** Bytes taken from the transcript again. */
  readonly bytes: number
}

interface MendReport {
  readonly mended: readonly MendedTranscript[]
  /** Why a copy could not be looked at, by its transcript. */
  readonly failed: ReadonlyMap<string, string>
  /** How copies ended that were set aside, by their transcripts. */
  readonly former: ReadonlyMap<string, Tail>
  /** Why the views could not be made anew where they lack what was mended. */
  readonly viewsError: string | undefined
}

interface MendDamagedOptions {
  /** Looks at every copy, and sets those aside that differ from their transcripts or cannot be mended. */
  readonly check: boolean
  /** ms to wait for others. */
  readonly wait: number
  readonly onLook?: (n: number) => void
  /** Called while another process keeps this waiting; without it, that is an error after `wait`. */
  readonly onWait?: (() => void) | undefined
}

/** Call before the views are opened: where they lack what is mended, they are made anew. */
function mendDamaged(
  place: ImportPlace,
  paths: readonly string[],
  { check, wait, onLook, onWait }: MendDamagedOptions,
): MendReport {
  const { dataHome, home } = place
  const listed = new Map([...readList(dataHome).copies.values()].map((one) => [one.copy, one]))
  const mended: MendedTranscript[] = []
  const failed = new Map<string, string>()
  const former = new Map<string, Tail>()
  const stale = new Set<string>()
  for (const [n, path] of paths.entries()) {
    // Its copy has other bytes.
    if (isDocument(path)) continue
    const copy = vaultPath(path, home)
    const known = listed.get(copy)
    if (!check && (known === undefined || isUntouched(dataHome, known))) continue
    const file = vaultFile(dataHome, copy)
    try {
      onLook?.(n)
      if (!existsSync(path) || (known === undefined && !existsSync(file))) continue
      if (unwantedIn(place, path)?.whole === true || isExcluded(place, path)) continue
      const session = sessionOf(path)
      const options = {
        listed: known,
        secrets: place.secrets,
        known: knownOf(place, session, path),
        forgotten: () => unwantedIn(place, path),
        now: Date.now(),
      }
      const work = (): [Mended | undefined] => [mendCopy(file, path, options)]
      const [done] = patiently(
        onWait,
        () => withReplacingLock(dataHome, wait, work) ?? throwBusy("another process is replacing copies"),
      )
      if (done?.state === "mended") {
        mended.push({ path, copy, bytes: done.gaps.reduce((sum, [from, to]) => sum + to - from, 0) })
        // Noted first: whoever comes next takes what the views have not followed yet.
        markPending(dataHome, { path, copy, session })
        if (lacks(dataHome, file, done)) stale.add(copy)
      } else if (check && done?.state !== "sound") {
        const tail = tailOf(file)
        if (setAsideIfDifferent(path, file, Date.now()) !== undefined && tail !== undefined)
          former.set(path, tail)
      }
    } catch (error) {
      // One copy that cannot be mended must not keep the others from it.
      failed.set(path, messageOf(error))
    }
  }
  return { mended, failed, former, viewsError: renewed(dataHome, stale, wait, onWait) }
}

/** Whether the views have gone on behind what could not be read. */
function lacks(dataHome: string, file: string, { gaps }: Mended): boolean {
  if (gaps.length === 0 || !existsSync(databasePath(dataHome))) return false
  const id = tailOf(file)?.header.id ?? ""
  const isLacking = tryTo(() => {
    using db = open(dataHome, "check")
    return lacksAny(db, id, gaps)
  })
  return isLacking ?? true
}

function renewed(
  dataHome: string,
  stale: ReadonlySet<string>,
  wait: number,
  onWait: (() => void) | undefined,
): string | undefined {
  if (stale.size === 0) return undefined
  try {
    patiently(onWait, () => followCopies(dataHome, stale, { now: Date.now(), wait }, "nothing"))
    return undefined
  } catch (error) {
    return `${messageOf(error)}: ctxbridge rebuild brings in what was mended`
  }
}

/*
 * Takes transcripts into vault and views, one after another: alone or, if there is much to take and a second core, with
 * a child that captures ahead. The views are the same either way.
 */

/** Bytes to take from which on a child helps. For less, it would not be ready in time. */
const WORTH_A_CHILD = 4 << 20
/** Maximum ms of capture between two commits. */
const SLICE = 300

interface ImporterOptions {
  /** undefined: the views cannot be opened. */
  readonly db: Database | undefined
  readonly mayStartChild: boolean
  readonly indexError: string | undefined
  /** Called while another process keeps the import waiting; without it, nothing is waited for for long. */
  readonly onWait: (() => void) | undefined
}

type OnProgress = (archived: number) => void

class Importer {
  readonly #place: ImportPlace
  readonly #batch: IndexBatch | undefined
  /** Those not begun yet. */
  readonly #paths: string[]
  readonly #onWait: (() => void) | undefined
  #mayStartChild: boolean
  #ahead: CaptureAhead | undefined
  #taken = 0
  /** Why the views do not follow. Another writer is waited for only once: the vault matters more than the views. */
  indexError: string | undefined

  /** Whether another writer was why: what waits for the views can follow once that is done. */
  isHeldUp = false

  /** @param paths in the order in which they are to be taken */
  constructor(place: ImportPlace, paths: readonly string[], options: ImporterOptions) {
    this.#place = place
    this.#paths = [...paths]
    this.#batch = options.db && new IndexBatch(options.db, place.dataHome)
    this.#mayStartChild = options.mayStartChild && navigator.hardwareConcurrency > 1
    this.#onWait = options.onWait
    this.indexError = options.indexError
  }

  /** @param path the next of those that were given */
  next(path: string, onProgress: OnProgress): ImportedFile {
    if (this.#mayStartChild) this.#startChild(path)
    this.#paths.shift()
    const file =
      this.#ahead === undefined
        ? this.#alone(path, this.#tailOf(path), onProgress)
        : this.#fromChild(this.#ahead, path, onProgress)
    this.#taken += file.taken
    return file
  }

  /** Call in the end: only then have the views followed all of them. */
  close(): void {
    this.#endChild()
    try {
      this.#batch?.commit()
    } catch (error) {
      this.#leave(error)
    }
  }

  #leave(error: unknown): void {
    this.indexError ??= messageOf(error)
    this.isHeldUp ||= codeOf(error).startsWith("SQLITE_BUSY")
  }

  #endChild(): void {
    this.#ahead?.close()
    this.#ahead = undefined
  }

  #startChild(path: string): void {
    const missing = sizeOf(path) - (this.#tailOf(path)?.last?.to ?? 0)
    if (this.#taken + missing < WORTH_A_CHILD) return
    this.#mayStartChild = false
    // Where no process can be started, this one goes on alone.
    this.#ahead =
      process.platform === "win32"
        ? undefined
        : tryTo(() => new CaptureAhead(this.#place, this.#paths, this.#onWait))
  }

  /** Where the copy may not be read, that is an error of this transcript alone, told once its turn has come. */
  #tailOf(path: string): Tail | undefined {
    return tryTo(() => tailOf(copyOf(this.#place, path)))
  }

  #alone(path: string, old: Tail | undefined, onProgress: OnProgress): ImportedFile {
    return importFile(this.#place, path, {
      slice: SLICE,
      onWait: this.#onWait,
      old,
      onTaken: (taken) => {
        if (taken.captured.id === undefined) return
        this.#index(taken, taken.captured, onProgress)
        // Nobody else could write while this process goes on capturing.
        this.#following(() => this.#batch?.commit())
      },
    })
  }

  #fromChild(ahead: CaptureAhead, path: string, onProgress: OnProgress): ImportedFile {
    let failed: string | undefined
    const attempt = (work: () => void): void => {
      try {
        if (failed === undefined) work()
      } catch (error) {
        failed = messageOf(error)
      }
    }
    const file = ahead.next(
      (slice) => attempt(() => this.#index(slice, slice, onProgress)),
      () => attempt(() => this.#following(() => this.#batch?.commit())),
    )
    if ("path" in file) return failed === undefined ? file : { ...file, error: failed }
    this.#endChild()
    return this.#alone(path, file.old, onProgress)
  }

  #index(
    copy: Indexed,
    { archived, taken }: Pick<Slice, "archived" | "taken">,
    onProgress: OnProgress,
  ): void {
    if (taken > 0 || isPending(this.#place.dataHome, copy.copy))
      this.#following(() => this.#batch?.add(copy, () => onProgress(archived)))
    onProgress(archived)
  }

  /** @throws whatever keeps the views from following, unless it is another writer */
  #following(work: () => void): void {
    try {
      if (this.indexError === undefined) work()
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY")) throw error
      this.#leave(error)
    }
  }
}

/*
 * Brings the views up to date with one copy after another, several in one transaction: most transcripts are short, and
 * each commit writes the pages of every index anew.
 */

/** ms of indexing in one transaction, so that others get their turn. */
const BATCH_SLICE = 300

class IndexBatch {
  readonly #db: Database
  readonly #dataHome: string
  readonly #onGap: OnGap
  /** Indexed in the open transaction. */
  readonly #open = new Map<string, Indexed>()
  /** When the open transaction began; undefined: there is none. */
  #begun: number | undefined

  constructor(db: Database, dataHome: string) {
    this.#db = db
    this.#dataHome = dataHome
    this.#onGap = doubting(dataHome)
  }

  /**
   * @param onSlice called after each commit in between
   * @throws what keeps the views from following this copy; they have followed those before it
   */
  add(copy: Indexed, onSlice: () => void): void {
    try {
      for (let last = -1; ; ) {
        const stop = this.#begin() + BATCH_SLICE
        this.#open.set(copy.copy, copy)
        const row = index(this.#db, this.#dataHome, copy, untilDone(stop), copy.fresh, this.#onGap)
        if (performance.now() >= stop) this.#commit()
        // No progress: only an unfinished line is left.
        if (row === undefined || row.indexed >= row.archived || row.indexed === last) return
        last = row.indexed
        onSlice()
      }
    } catch (error) {
      // No transaction could be begun.
      if (this.#open.size === 0) throw error
      this.#each()
    }
  }

  /** Call before waiting for anything, and in the end. */
  commit(): void {
    try {
      this.#commit()
    } catch {
      this.#each()
    }
  }

  #commit(): void {
    if (this.#begun === undefined) return
    this.#db.run("COMMIT")
    this.#begun = undefined
    for (const copy of this.#open.keys()) settlePending(this.#dataHome, copy)
    this.#open.clear()
  }

  #begin(): number {
    if (this.#begun === undefined) {
      this.#db.run("BEGIN IMMEDIATE")
      this.#begun = performance.now()
    }
    return this.#begun
  }

  /** Undoes the transaction, in which one copy has failed, and indexes each of its copies by itself. */
  #each(): void {
    if (this.#db.inTransaction) this.#db.run("ROLLBACK")
    this.#begun = undefined
    const copies = [...this.#open.values()]
    this.#open.clear()
    const forEver = Number.POSITIVE_INFINITY
    for (const copy of copies) indexTaken(this.#db, this.#dataHome, copy, forEver, () => {})
  }
}
