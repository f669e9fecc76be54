/** What a search by meaning finds, for `search --mode semantic|hybrid`. Loads the model, if one is installed. */
import type { Database } from "../archive/database.ts"
import { embedderId } from "../embed/embedder.ts"
import { HASHED_ID } from "../embed/hashed.ts"
import { queryVector } from "../embed/query.ts"
import { semanticSearch } from "../embed/search.ts"
import type { Similar } from "../search/fuse.ts"
import type { Environment } from "./command.ts"

export interface BySense {
  readonly similar: readonly Similar[]
  /** What the user should know of how it was found. */
  readonly note: string | undefined
}

/** Turns that are compared in rank with those found by words. */
const NEAREST = 100

const NO_MODEL =
  "no model is installed, so likeness is that of words (ctxbridge model install brings one that knows meanings)"

/** One of them, or neither: everywhere. */
export interface Where {
  readonly project: string | undefined
  readonly session: string | undefined
}

export async function similarTo(
  env: Environment,
  db: Database,
  query: string,
  where: Where,
): Promise<BySense> {
  const { project, session } = where
  const filter = {
    limit: NEAREST,
    ...(project !== undefined && { projects: [project] }),
    ...(session !== undefined && { sessions: [session] }),
  }
  const similar = semanticSearch(db, await queryVector(env, query), filter)
  return { similar, note: embedderId(env.dataHome) === HASHED_ID ? NO_MODEL : undefined }
}
