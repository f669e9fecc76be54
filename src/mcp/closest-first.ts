/**
 * Orders hits by what a reader would take for the answer. A turn is found by the words of all its messages, which may
 * be far apart; an answer has them in one place.
 */
import type { Database } from "../archive/database.ts"
import type { FarHit } from "../search/far-hit.ts"
import type { Hit } from "../search/hit.ts"
import type { FoundTurns } from "../search/search-turns.ts"
import type { CopyReaders } from "../vault/reader.ts"
import { type WholeHit, wholeHit } from "./hit-passages.ts"

export interface OpenedHit {
  readonly hit: Hit | FarHit
  /** Undefined if the turn was not opened. */
  readonly whole: WholeHit | undefined
  /** The higher the better; comparable within a result only. */
  readonly score: number
}

/** How many hits are shown at length. */
export const AT_LENGTH = 3
/** How many of the best hits compete for these places. */
export const LOOKED_AT = 12
/** Bytes of all turns that are opened: more would take longer than a second. */
const LARGEST = 16 << 20
/** The share of the words that is supposed to be together in a turn that is too large to look. */
const UNKNOWN = 0.5

/**
 * First the hits that are best by their score times the share of the query's words that is together in one place, then
 * the others as they were found: what one of the two orders holds for the answer is at least listed.
 *
 * @param isAsFound whether order and place stay as they were found: by meaning, which knows no words, or by what a
 * message is, which another one of the turn is not
 */
export function closestFirst(
  db: Database,
  dataHome: string,
  readers: CopyReaders,
  found: FoundTurns,
  isAsFound: boolean,
): OpenedHit[] {
  const byWords = !isAsFound && found.terms.length > 0
  let left = LARGEST
  const opened = found.hits.map((hit, n): OpenedHit => {
    const opening = { most: left, isFree: byWords }
    const whole = n < LOOKED_AT ? wholeHit(db, dataHome, readers, found, hit, opening) : undefined
    left -= whole?.bytes ?? 0
    return { hit, whole, score: byWords ? hit.score * (whole?.together ?? UNKNOWN) : hit.score }
  })
  if (!byWords) return opened
  const first = opened
    .slice(0, LOOKED_AT)
    .sort((a, b) => b.score - a.score)
    .slice(0, AT_LENGTH)
  return [...first, ...opened.filter((one) => !first.includes(one))]
}
