/** Indexes what a reply needs before it reads the views, within its transaction. */
import type { Taken } from "../archive/capture-transcript.ts"
import type { Database } from "../archive/database.ts"
import { listPending, type Pending, settlePending } from "../archive/pending.ts"
import { isCopyIndexed } from "../archive/queries/transcripts.ts"
import { codeOf } from "../util/errors.ts"
import { dirname } from "../util/path.ts"
import type { Stretch } from "../vault/reader.ts"

type Index = typeof import("../archive/indexing.ts").index

export class Indexer {
  readonly #db: Database
  readonly #dataHome: string
  readonly #index: Index | undefined
  readonly #copies: string[] = []

  /** @param index undefined if there is nothing to index */
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
   * Indexes what the hook has taken of its own session. The session may be a fork, and the lines it shares with its
   * origin belong to whichever is indexed first. So before a session that is new to the views, everything that has
   * waited longer is indexed, even if that leaves no time for the session itself.
   */
  indexOwn(taken: Taken, end: number): void {
    if (taken.captured.archived > 0 && !isCopyIndexed(this.#db, taken.copy))
      this.indexFolder(dirname(taken.path), end, taken)
    this.index(taken, end, taken.fresh)
  }

  /**
   * Indexes what other sessions of the folder have left, oldest first.
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
        // Nested in the reply's transaction: a copy that cannot be read to its end leaves nothing behind.
        this.#db.transaction(() => this.index(one, end))()
      } catch (error) {
        if (codeOf(error).startsWith("SQLITE_")) throw error
        // A copy that is damaged or was just replaced keeps its marker, and must not hold up the reply.
      }
    }
  }

  /** Call after the commit. */
  settle(): void {
    for (const copy of this.#copies) settlePending(this.#dataHome, copy)
  }
}
