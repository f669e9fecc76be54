/**
 * Takes transcripts into vault and views, one after another: alone or, if there is much to take and a second core, with
 * a child that captures ahead. The views are the same either way.
 */

import { codeOf, messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import type { Tail } from "../vault/copy-file.ts"
import { tailOf } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { doubting, index, type OnGap, untilDone } from "../views/indexing.ts"
import { isPending, settlePending } from "../views/pending.ts"
import { CaptureAhead, type Slice } from "./capture-ahead.ts"
import { copyOf, type ImportedFile, type ImportPlace, importFile, sizeOf } from "./import-file.ts"
import { type Indexed, indexTaken } from "./request-visits.ts"

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

export class Importer {
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
