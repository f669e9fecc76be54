/** What the job embeds in its life. The model is loaded when there is something to embed, and ends with the process. */
import type { Database } from "../archive/database.ts"
import { isUnusable } from "../archive/shape.ts"
import { dropDamagedVectors, dropOtherVectors, dueTurns } from "../archive/vectors.ts"
import { embedCycle } from "../embed/cycle.ts"
import { type Embedder, type EmbedderPlace, embedderId, openSoundEmbedder } from "../embed/embedder.ts"
import { DIMENSION } from "../embed/manifest.ts"
import { logError } from "../util/log.ts"
import { vectorsDue } from "./sweep.ts"

const NEWEST = Number.MAX_SAFE_INTEGER

export class Embedding {
  readonly #place: EmbedderPlace
  #embedder: Embedder | undefined
  /** Names what was to make the vectors when the embedder was opened: the model may be installed or removed meanwhile. */
  #wanted: string | undefined
  /** Turns from here on have been looked at; what has come since is found when the rest is done. */
  #below = NEWEST
  #failed = false
  readonly #until: () => boolean

  /** @param until stops between two turns when it says true */
  constructor(place: EmbedderPlace, until: () => boolean) {
    this.#place = place
    this.#until = until
  }

  /** @returns false when nothing is left to embed */
  async step(db: Database): Promise<boolean> {
    if (this.#failed) return false
    try {
      return await this.#cycle(db)
    } catch (error) {
      if (isUnusable(this.#place.dataHome, error)) throw error
      // What is archived is safe without; the next job tries again.
      this.#failed = true
      logError(this.#place.stateHome, { event: "embed", error })
      return false
    }
  }

  async #cycle(db: Database): Promise<boolean> {
    const { dataHome, stateHome } = this.#place
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
      this.#embedder = await openSoundEmbedder(this.#place)
    }
    const until = (): boolean => this.#until() || embedderId(dataHome) !== wanted
    const oldest = await embedCycle(db, dataHome, this.#embedder, this.#below, until)
    if (oldest !== undefined) {
      this.#below = oldest
      return true
    }
    // From the newest again: turns have come or grown, and views that were made anew have other numbers.
    if (this.#below !== NEWEST) {
      this.#below = NEWEST
      return true
    }
    // Not when this is only a substitute for the model that is installed.
    if (this.#embedder.id === wanted) dropOtherVectors(db, wanted)
    return false
  }
}
