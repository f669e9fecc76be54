/** Search by meaning for `search --mode semantic|hybrid`. Loads the model if one is installed. */
import type { Database } from "../archive/database.ts"
import { hasVectors } from "../archive/vectors.ts"
import { queryVector } from "../embed/embedder.ts"
import { HASHED_ID } from "../embed/hashed-words.ts"
import { modelState } from "../embed/model-files.ts"
import { semanticSearch } from "../embed/semantic-search.ts"
import type { Similar } from "../search/fuse-rankings.ts"
import { NEAREST } from "../search/search-turns.ts"
import { compileAsUsual } from "../util/compiling.ts"
import type { Environment } from "./command.ts"

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

/** @param isNarrowed whether the search also filters by what vectors do not know: role, tool, time, file or failure */
export async function similarTo(
  env: Environment,
  db: Database,
  query: string,
  where: { readonly project: string | undefined; readonly session: string | undefined },
  isNarrowed: boolean,
): Promise<BySense> {
  compileAsUsual()
  const vector = await queryVector(env, query)
  const similar = semanticSearch(db, vector, { ...where, limit: isNarrowed ? NARROWED : NEAREST })
  const { installed, problem } = modelState(env.dataHome)
  const isUnused = problem !== undefined || installed !== undefined
  const notes = [
    ...(vector.embedder === HASHED_ID ? [isUnused ? UNUSED : NO_MODEL] : []),
    ...(hasVectors(db, vector.embedder) ? [] : [NO_VECTORS]),
  ]
  return { similar, note: notes.length === 0 ? undefined : notes.join("; ") }
}
