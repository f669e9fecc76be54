/**
 * Embedding during one run of the job. The model is loaded when there is something to embed, and kept until the end.
 */

import { logError } from "../base/log.ts"
import type { Paths } from "../config/load.ts"
import { embedCycle } from "../find/embed/embed-turns.ts"
import { type Embedder, embedderId, openSoundEmbedder } from "../find/embed/embedder.ts"
import { DIMENSION } from "../find/embed/model-manifest.ts"
import type { Database } from "../views/database.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { dropDamagedVectors, dropOtherVectors, dueTurns } from "../views/vectors.ts"
import { vectorsDue } from "./due-work.ts"

const NEWEST = Number.MAX_SAFE_INTEGER

export class Embedding {
  readonly #paths: Pick<Paths, "dataHome" | "stateHome">
  #embedder: Embedder | undefined
  /** Id of the embedder wanted when this one was opened. The model may be installed or removed while the job runs. */
  #wanted: string | undefined
  /** Turns from this one on have been processed. Newer turns are picked up when the rest is done. */
  #below = NEWEST
  #failed = false
  readonly #until: () => boolean

  /** @param until checked between turns; true stops the embedding */
  constructor(paths: Pick<Paths, "dataHome" | "stateHome">, until: () => boolean) {
    this.#paths = paths
    this.#until = until
  }

  /** @returns false when nothing is left to embed */
  async step(db: Database): Promise<boolean> {
    if (this.#failed) return false
    try {
      return await this.#cycle(db)
    } catch (error) {
      if (isUnusable(this.#paths.dataHome, error, db)) throw error
      // The archive is safe without vectors, and the next job tries again.
      this.#failed = true
      logError(this.#paths.stateHome, { event: "embed", error })
      return false
    }
  }

  async #cycle(db: Database): Promise<boolean> {
    const { dataHome, stateHome } = this.#paths
    const wanted = embedderId(dataHome)
    if (vectorsDue(stateHome, Date.now())) dropDamagedVectors(db, wanted, DIMENSION)
    if (this.#wanted !== wanted) {
      this.#embedder = undefined
      this.#below = NEWEST
      this.#wanted = wanted
    }
    if (this.#embedder === undefined) {
      if (dueTurns(db, wanted, NEWEST, 1).length === 0) {
        dropOtherVectors(db, wanted)
        return false
      }
      this.#embedder = await openSoundEmbedder(this.#paths)
    }
    const until = (): boolean => this.#until() || embedderId(dataHome) !== wanted
    const oldest = await embedCycle(db, dataHome, this.#embedder, this.#below, until)
    if (oldest !== undefined) {
      this.#below = oldest
      return true
    }
    // Start again from the newest: turns may have come or grown, and rebuilt views number them differently.
    if (this.#below !== NEWEST) {
      this.#below = NEWEST
      return true
    }
    // But not if this is only a fallback for the installed model.
    if (this.#embedder.id === wanted) dropOtherVectors(db, wanted)
    return false
  }
}
