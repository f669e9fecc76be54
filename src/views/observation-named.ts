/** Finds the observation that `obs:k3f9` names. */

import { CtxError, EXIT, usageError } from "../base/errors.ts"
import type { Database } from "./database.ts"
import { OBSERVATION_PREFIX, type Observation, observationsNamed } from "./queries/summaries.ts"

/** Anything shorter is a slip rather than a name. */
const SHORTEST = 4

export const isObservationName = (word: string): boolean => word.toLowerCase().startsWith(OBSERVATION_PREFIX)

/** @throws CtxError exit 64 if the word is too short or ambiguous, exit 3 if it names nothing */
export function findObservation(db: Database, word: string): Observation {
  const bare = word.toLowerCase().slice(OBSERVATION_PREFIX.length)
  if (bare.length < SHORTEST)
    throw usageError(`${JSON.stringify(word)} is too short`, `at least ${SHORTEST} letters of a handle`)
  const [found, ...others] = observationsNamed(db, bare)
  if (found === undefined) {
    throw new CtxError("not-found", `no observation ${word} in the archive`, {
      hint: "search gives the handles of observations, and those of the turns that they are about",
      exit: EXIT.notFound,
    })
  }
  if (others.length > 0 && found.handle !== OBSERVATION_PREFIX + bare)
    throw usageError(`${word} names ${others.length + 1} observations`, "type more of it")
  return found
}
