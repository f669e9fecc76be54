/** Finds what is like a query in meaning. Loads the model if there is one, so only who needs it imports this. */

import { logError } from "../base/log.ts"
import { compileAsUsual } from "../base/own-program.ts"
import type { Paths } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import type { Database } from "../views/database.ts"
import { type VectorTotals, vectorsMade } from "../views/vectors.ts"
import { openEmbedder } from "./embed/embedder.ts"
import { HASHED_ID } from "./embed/hashed-words.ts"
import { modelState } from "./embed/model-files.ts"
import { type QueryVector, semanticSearch } from "./embed/semantic-search.ts"
import type { Narrowing } from "./narrowing.ts"
import { type AskModel, askHere, meantBy } from "./query-vectors.ts"
import { type Alike, LEAST_ALIKE, type Similar } from "./rank.ts"
import { NEAREST } from "./search-turns.ts"

interface BySense extends Alike {
  /** What the user should know about how it was found. */
  readonly note: string | undefined
}

/** Number of similar messages to fetch when other filters will drop some of them. */
const NARROWED = 10_000

const NO_MODEL =
  "there is no model, so texts are compared by their words, not by meaning (ctxbridge model install adds one)"

const UNUSED =
  "the model is not used, so texts are compared by their words, not by meaning (ctxbridge model status says why)"

const NO_VECTORS = "no vectors have been made yet: the background job makes them"

/** @returns undefined when all turns have theirs, and new ones will */
function notYet({ turns, embedded }: VectorTotals, wish: Config["search.meaning"]): string | undefined {
  if (wish === "off")
    return `search.meaning is off, so no vectors are made: ${embedded} of ${turns} turns have some`
  if (embedded >= turns) return undefined
  if (embedded === 0) return NO_VECTORS
  return `by meaning, only ${embedded} of ${turns} turns can be found so far: the background job makes the other vectors`
}

/** Whether messages are filtered by what vectors do not know. */
const isNarrowed = ({ since, until, role, tool, file, error, program }: Narrowing): boolean =>
  [since, until, role, tool, file, error, program].some(Boolean)

export async function similarTo(
  place: Pick<Paths, "dataHome" | "stateHome"> & { readonly config: Pick<Config, "search.meaning"> },
  db: Database,
  query: string,
  narrowing: Narrowing,
): Promise<BySense> {
  compileAsUsual()
  const { vector, hasWords } = await meantBy(await openEmbedder(place), query)
  const { model, problem } = modelState(place.dataHome)
  const isUnused = problem !== undefined || model !== undefined
  const isHashed = vector.embedder === HASHED_ID
  const vectors = vectorsMade(db, vector.embedder)
  const notes = [
    isHashed ? (isUnused ? UNUSED : NO_MODEL) : undefined,
    notYet(vectors, place.config["search.meaning"]),
  ].filter(Boolean)
  return {
    similar: nearest(db, vector, narrowing),
    hasWords,
    note: notes.length === 0 ? undefined : notes.join("; "),
    vectors: isHashed ? undefined : vectors,
    isHashed,
  }
}

/**
 * The same by a model alone, as a help to words that nobody asked for: what goes wrong is logged.
 *
 * @returns undefined when there is no model, or it gives no answer
 */
export async function similarByModel(
  place: Pick<Paths, "dataHome" | "stateHome">,
  db: Database,
  query: string,
  narrowing: Narrowing,
  ask: AskModel = askHere(place),
): Promise<BySense | undefined> {
  try {
    const { model } = modelState(place.dataHome)
    if (model === undefined) return undefined
    const vectors = vectorsMade(db, model.embedder)
    const note = notYet(vectors, "auto")
    if (vectors.embedded === 0) return { similar: undefined, note, vectors }
    const meant = await ask(model.embedder, query)
    // The runtime may not work here.
    if (meant?.vector.embedder !== model.embedder) return undefined
    const { vector, hasWords } = meant
    return { similar: nearest(db, vector, narrowing), hasWords, note, vectors }
  } catch (error) {
    logError(place.stateHome, { event: "search-by-meaning", error })
    return undefined
  }
}

/** @returns undefined when there is no model */
export async function modelVector(
  place: Pick<Paths, "dataHome" | "stateHome">,
  query: string,
): Promise<QueryVector | undefined> {
  const { model } = modelState(place.dataHome)
  return model && (await askHere(place)(model.embedder, query))?.vector
}

const nearest = (db: Database, vector: QueryVector, narrowing: Narrowing): readonly Similar[] =>
  semanticSearch(db, vector, {
    project: narrowing.project,
    session: narrowing.session,
    // What equals it counts.
    floor: LEAST_ALIKE - Number.EPSILON,
    limit: isNarrowed(narrowing) ? NARROWED : NEAREST,
  })
