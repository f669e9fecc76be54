/**
 * Brings the views up to date with one copy after another, several in one transaction: most transcripts are short, and
 * each commit writes the pages of every index anew.
 */
import type { Database } from "../archive/database.ts"
import { doubting, index, type OnGap, untilDone } from "../archive/indexing.ts"
import { settlePending } from "../archive/pending.ts"
import { type Indexed, indexTaken } from "./request-visits.ts"

/** ms of indexing in one transaction, so that others get their turn. */
const SLICE = 300

export class IndexBatch {
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
        const stop = this.#begin() + SLICE
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
