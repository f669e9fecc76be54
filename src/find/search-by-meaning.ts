/** Finds what is like a query in meaning. Loads the model if one is installed, so only who needs it imports this. */

import { logError } from "../base/log.ts"
import { compileAsUsual } from "../base/own-program.ts"
import type { Paths } from "../config/load.ts"
import type { Database } from "../views/database.ts"
import { hasVectors } from "../views/vectors.ts"
import { type Embedder, openEmbedder, queryVector, vectorOf } from "./embed/embedder.ts"
import { HASHED_ID } from "./embed/hashed-words.ts"
import { modelState } from "./embed/model-files.ts"
import { type QueryVector, semanticSearch } from "./embed/semantic-search.ts"
import type { Similar } from "./rank.ts"
import { NEAREST } from "./search-turns.ts"

interface BySense {
  readonly similar: readonly Similar[]
  /** What the user should know about how it was found. */
  readonly note: string | undefined
}

/** Number of similar messages to fetch when other filters will drop some of them. */
const NARROWED = 10_000

const NO_MODEL =
  "no model is installed, so texts are compared by their words, not by meaning (ctxbridge model install adds a model)"

const UNUSED =
  "the installed model is not used, so texts are compared by their words, not by meaning (ctxbridge model status says why)"

const NO_VECTORS = "no vectors have been made yet: the background job makes them"

interface Where {
  readonly project: string | undefined
  readonly session: string | undefined
  /** Whether the search also filters by what vectors do not know: role, tool, time, file or failure. */
  readonly isNarrowed: boolean
}

export async function similarTo(
  place: Pick<Paths, "dataHome" | "stateHome">,
  db: Database,
  query: string,
  where: Where,
): Promise<BySense> {
  compileAsUsual()
  const vector = await queryVector(place, query)
  const similar = nearest(db, vector, where)
  const { installed, problem } = modelState(place.dataHome)
  const isUnused = problem !== undefined || installed !== undefined
  const notes = [
    ...(vector.embedder === HASHED_ID ? [isUnused ? UNUSED : NO_MODEL] : []),
    ...(hasVectors(db, vector.embedder) ? [] : [NO_VECTORS]),
  ]
  return { similar, note: notes.length === 0 ? undefined : notes.join("; ") }
}

/** Kept for the next query of the process: loading takes 0.1 to 0.4 s. */
let loaded: { readonly id: string; readonly embedder: Promise<Embedder> } | undefined

/**
 * The same by an installed model alone, as a help to words: what goes wrong is logged.
 *
 * @returns undefined when no model is installed, or nothing was embedded with it yet
 */
export async function similarByModel(
  place: Pick<Paths, "dataHome" | "stateHome">,
  db: Database,
  query: string,
  where: Where,
): Promise<readonly Similar[] | undefined> {
  try {
    const { installed } = modelState(place.dataHome)
    if (installed === undefined || !hasVectors(db, installed.embedder)) return undefined
    const vector = await modelVector(place, query)
    return vector && nearest(db, vector, where)
  } catch (error) {
    logError(place.stateHome, { event: "search-by-meaning", error })
    return undefined
  }
}

/** @returns undefined when no model is installed */
export async function modelVector(
  place: Pick<Paths, "dataHome" | "stateHome">,
  query: string,
): Promise<QueryVector | undefined> {
  const { installed, problem } = modelState(place.dataHome)
  if (installed === undefined || problem !== undefined) return undefined
  const id = installed.embedder
  if (loaded?.id !== id) loaded = { id, embedder: openEmbedder(place) }
  return vectorOf(await loaded.embedder, query)
}

const nearest = (db: Database, vector: QueryVector, { isNarrowed, ...where }: Where): readonly Similar[] =>
  semanticSearch(db, vector, { ...where, limit: isNarrowed ? NARROWED : NEAREST })
