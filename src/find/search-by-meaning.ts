/** Finds what is like a query in meaning. Loads the model if one is installed, so only who needs it imports this. */

import { logError } from "../base/log.ts"
import { compileAsUsual } from "../base/own-program.ts"
import type { Paths } from "../config/load.ts"
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
  "no model is installed, so texts are compared by their words, not by meaning (ctxbridge model install adds a model)"

const UNUSED =
  "the installed model is not used, so texts are compared by their words, not by meaning (ctxbridge model status says why)"

const NO_VECTORS = "no vectors have been made yet: the background job makes them"

/** @returns undefined when all turns have theirs */
function notYet({ turns, embedded }: VectorTotals): string | undefined {
  if (embedded >= turns) return undefined
  if (embedded === 0) return NO_VECTORS
  return `by meaning, only ${embedded} of ${turns} turns can be found so far: the background job makes the other vectors`
}

/** Whether messages are filtered by what vectors do not know. */
const isNarrowed = ({ since, until, role, tool, file, error }: Narrowing): boolean =>
  [since, until, role, tool, file, error].some(Boolean)

export async function similarTo(
  place: Pick<Paths, "dataHome" | "stateHome">,
  db: Database,
  query: string,
  narrowing: Narrowing,
): Promise<BySense> {
  compileAsUsual()
  const { vector, hasWords } = await meantBy(await openEmbedder(place), query)
  const { installed, problem } = modelState(place.dataHome)
  const isUnused = problem !== undefined || installed !== undefined
  const isHashed = vector.embedder === HASHED_ID
  const vectors = vectorsMade(db, vector.embedder)
  const notes = [isHashed ? (isUnused ? UNUSED : NO_MODEL) : undefined, notYet(vectors)].filter(Boolean)
  return {
    similar: nearest(db, vector, narrowing),
    hasWords,
    note: notes.length === 0 ? undefined : notes.join("; "),
    vectors: isHashed ? undefined : vectors,
  }
}

/**
 * The same by an installed model alone, as a help to words: what goes wrong is logged.
 *
 * @returns undefined when no model is installed, or it gives no answer
 */
export async function similarByModel(
  place: Pick<Paths, "dataHome" | "stateHome">,
  db: Database,
  query: string,
  narrowing: Narrowing,
  ask: AskModel = askHere(place),
): Promise<BySense | undefined> {
  try {
    const { installed, problem } = modelState(place.dataHome)
    if (installed === undefined || problem !== undefined) return undefined
    const vectors = vectorsMade(db, installed.embedder)
    const note = notYet(vectors)
    if (vectors.embedded === 0) return { similar: undefined, note, vectors }
    const meant = await ask(installed.embedder, query)
    // The runtime may not work here.
    if (meant?.vector.embedder !== installed.embedder) return undefined
    const { vector, hasWords } = meant
    return { similar: nearest(db, vector, narrowing), hasWords, note, vectors }
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
  return (await askHere(place)(installed.embedder, query))?.vector
}

const nearest = (db: Database, vector: QueryVector, narrowing: Narrowing): readonly Similar[] =>
  semanticSearch(db, vector, {
    project: narrowing.project,
    session: narrowing.session,
    // What equals it counts.
    floor: LEAST_ALIKE - Number.EPSILON,
    limit: isNarrowed(narrowing) ? NARROWED : NEAREST,
  })
