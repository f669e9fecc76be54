/** Which embedder is in use, and how many turns have its vectors. Loads no model. */
import type { Config } from "../../config/options.ts"
import type { Database } from "../../views/database.ts"
import { type VectorTotals, vectorTotals } from "../../views/vectors.ts"
import { HASHED_ID } from "./hashed-words.ts"
import { modelState } from "./model-files.ts"

interface Standing extends VectorTotals {
  readonly embedder: string
  /** The model that is used; null: vectors are made of hashed words. */
  readonly model: string | null
  /** Why an installed model is not used. */
  readonly problem: string | null
}

/** What `status` tells of it. */
export interface EmbeddingStatus extends Standing {
  /** The option `search.meaning`. */
  readonly meaning: Config["search.meaning"]
}

export function standingOf(db: Database, dataHome: string): Standing {
  const { model, problem } = modelState(dataHome)
  const embedder = model?.embedder ?? HASHED_ID
  return {
    embedder,
    model: model?.manifest.id ?? null,
    problem: problem ?? null,
    ...vectorTotals(db, embedder),
  }
}
