/**
 * Looks for what a search wants in turns that are out of the index, when the index has nothing, or nothing with all the
 * words. Bounded in time, so a search that was fast stays bearable.
 */
import type { Database } from "../archive/database.ts"
import { type ColdFound, type ColdRequest, searchVault } from "./cold-search.ts"
import { parseQuery } from "./parse-query.ts"
import type { FoundTurns } from "./search-turns.ts"

/** ms for going through the vault: about 500 MB of transcripts. */
const LONGEST = 1000
/** Lines with some of the words that are compared, the newest. */
const COMPARED = 50

/** What the index has found, so far as it tells what to look for. */
export type Wanting = Pick<FoundTurns, "words" | "corrections">

/**
 * Lines that have all the words; if there are none, those that have more of them than the best turn in the index.
 *
 * @param longest ms
 */
export function searchColdTurns(
  db: Database,
  dataHome: string,
  request: Omit<ColdRequest, "found" | "onlyCold" | "isOver">,
  { words, corrections = [] }: Wanting,
  longest: number = LONGEST,
): ColdFound {
  const end = performance.now() + longest
  const isOver = (): boolean => performance.now() >= end
  // None of them is in the index, so none has been found yet.
  const bounds = { found: new Set<number>(), onlyCold: true, isOver }
  const whole = searchVault(db, dataHome, { ...request, ...bounds })
  const lacking = [...words.lacking, ...corrections.map(({ typed }) => typed)]
  const { terms, must } = parseQuery(request.query)
  if (
    whole.hits.length > 0 ||
    whole.isCut ||
    must !== undefined ||
    terms.length < 2 ||
    lacking.length === 0
  ) {
    return whole
  }
  const least = words.asked.length - lacking.length + 1
  const some = searchVault(db, dataHome, {
    ...request,
    ...bounds,
    query: lacking.join(" OR "),
    limit: COMPARED,
    terms,
  })
  const hits = some.hits
    .filter(({ why }) => why.length >= least)
    .sort((a, b) => b.why.length - a.why.length)
    .slice(0, request.limit)
  return { ...some, hits, more: some.hits.length > hits.length && hits.length === request.limit }
}
