/** What a reply has indexed before it reads the views, within its transaction. */
import type { Database } from "../archive/database.ts"
import { listPending, type Pending, settlePending } from "../archive/pending.ts"
import type { Taken } from "../archive/take.ts"
import { codeOf } from "../util/errors.ts"
import { dirname } from "../util/path.ts"
import type { Stretch } from "../vault/reader.ts"

type Index = typeof import("../archive/indexing.ts").index

export class Indexer {
  readonly #db: Database
  readonly #dataHome: string
  readonly #index: Index | undefined
  readonly #copies: string[] = []

  /** @param index undefined when there is nothing to index */
  constructor(db: Database, dataHome: string, index: Index | undefined) {
    this.#db = db
    this.#dataHome = dataHome
    this.#index = index
  }

  /** @param end ms of performance.now() at which to stop */
  index(pending: Pending, end: number, fresh: readonly Stretch[] = []): void {
    if (this.#index === undefined) return
    this.#index(this.#db, this.#dataHome, pending, () => performance.now() >= end, fresh)
    this.#copies.push(pending.copy)
  }

  /**
   * What the hook has taken of its own session. It may be a fork, and the lines that it has from its origin are those of
   * whoever is indexed first: so before a session that is new to the views comes what has waited longer, even if there
   * is no time left for it then.
   */
  indexOwn(taken: Taken, end: number): void {
    if (taken.captured.archived > 0 && !this.#isKnown(taken))
      this.indexFolder(dirname(taken.path), end, taken)
    this.index(taken, end, taken.fresh)
  }

  #isKnown({ copy }: Pending): boolean {
    return this.#db.query("SELECT 1 FROM transcripts WHERE copy = ?").get(copy) !== null
  }

  /**
   * What other sessions of the folder have left, oldest first.
   *
   * @param end ms of performance.now() at which to stop
   * @param before the copy at which to stop
   */
  indexFolder(folder: string, end: number, before?: Pending): void {
    if (this.#index === undefined) return
    for (const one of listPending(this.#dataHome)) {
      if (performance.now() >= end || one.copy === before?.copy) return
      if (!one.path.startsWith(`${folder}/`) || this.#copies.includes(one.copy)) continue
      try {
        // Within the reply's: what cannot be read to its end is as if it had not been begun.
        this.#db.transaction(() => this.index(one, end))()
      } catch (error) {
        if (codeOf(error).startsWith("SQLITE_")) throw error
        // A damaged copy, or one that was replaced at this moment, keeps its marker, and nobody waiting.
      }
    }
  }

  /** To be called after the commit. */
  settle(): void {
    for (const copy of this.#copies) settlePending(this.#dataHome, copy)
  }
}
