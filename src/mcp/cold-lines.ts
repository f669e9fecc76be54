/** Turns out of the index that have more of the words than what is in it, a line each. */
import type { Database } from "../archive/database.ts"
import { hasCold } from "../archive/queries/turn-ages.ts"
import type { FinderRequest } from "../search/finder.ts"
import { type FoundTurns, isWanting } from "../search/search-turns.ts"
import { hitLine } from "./found-turns.ts"

/** How many are shown. */
const COLD = 3

export async function coldLines(
  db: Database,
  dataHome: string,
  request: FinderRequest,
  found: FoundTurns,
  isMixed: boolean,
): Promise<string[]> {
  if (!isWanting(found) || !hasCold(db)) return []
  const { searchColdTurns } = await import("../search/cold-fallback.ts")
  const { hits, isCut } = searchColdTurns(db, dataHome, { ...request, limit: COLD }, found)
  if (hits.length === 0) return []
  const lines = hits.map((hit) => hitLine({ ...hit, handle: hit.handle!, seq: hit.seq!, score: 1 }, isMixed))
  return [`Older, out of the index${isCut ? ", as far as they were looked through" : ""}:`, ...lines]
}
