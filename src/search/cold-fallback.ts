/**
 * Looks for what a search wants in turns that are out of the index, when the index has nothing, or nothing with all the
 * words. Bounded in time, so a search that was fast stays bearable.
 */
import type { Database } from "../archive/database.ts"
import { type ColdFound, type ColdRequest, searchVault } from "./cold-search.ts"

/** ms for going through the vault: about 500 MB of transcripts. */
const LONGEST = 1000

/** @param longest ms */
export function searchColdTurns(
  db: Database,
  dataHome: string,
  request: Omit<ColdRequest, "found" | "onlyCold" | "isOver">,
  longest: number = LONGEST,
): ColdFound {
  const end = performance.now() + longest
  const isOver = (): boolean => performance.now() >= end
  // None of them is in the index, so none has been found yet.
  return searchVault(db, dataHome, { ...request, found: new Set(), onlyCold: true, isOver })
}
