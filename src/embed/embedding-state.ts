/** Which embedder is in use, and how many turns have its vectors. Loads no model. */
import type { Database } from "../archive/database.ts"
import { type VectorTotals, vectorTotals } from "../archive/vectors.ts"
import { messageOf } from "../util/errors.ts"
import { HASHED_ID } from "./hashed-words.ts"
import { type InstalledModel, installedModel, isModelBroken } from "./model-files.ts"

export interface Standing extends VectorTotals {
  /** Identifies what makes the vectors. */
  readonly embedder: string
  /** The installed model; null: vectors are made of hashed words. */
  readonly model: string | null
  /** Why an installed model is not used. */
  readonly problem: string | null
}

export function standingOf(db: Database, dataHome: string): Standing {
  const { installed, problem } = modelState(dataHome)
  const embedder = installed?.embedder ?? HASHED_ID
  return {
    embedder,
    model: installed?.manifest.id ?? null,
    problem: problem ?? null,
    ...vectorTotals(db, embedder),
  }
}

interface ModelState {
  readonly installed?: InstalledModel
  /** Why an installed model is not used. */
  readonly problem?: string
}

/** Checks only the sizes of its files. */
export function modelState(dataHome: string): ModelState {
  try {
    const installed = installedModel(dataHome)
    if (installed !== undefined) return { installed }
    return isModelBroken(dataHome) ? { problem: "its files are missing or of another size" } : {}
  } catch (error) {
    return { problem: messageOf(error) }
  }
}
