/** Handles with a place in the turn, as `search` and `get` write them. Pure. */
import { usageError } from "../util/errors.ts"

/** Lines count from 1. */
export interface HandlePlace {
  readonly handle: string
  /** `@12`: around this line. */
  readonly at?: number
  /** `@12-`: from this line on. */
  readonly from?: number
  /** `@-12`: up to and including this line. */
  readonly to?: number
}

/** Maximum number of turns that are opened at once. */
const MOST = 5

/** @throws CtxError for a place that is none, and for too many handles */
export function handlesIn(text: string): HandlePlace[] {
  const words = text.split(/[\s,;"'`[\]]+/).filter(Boolean)
  if (words.length > MOST) throw usageError(`${words.length} handles`, `at most ${MOST} at once`)
  return words.map(placed)
}

function placed(word: string): HandlePlace {
  const at = word.indexOf("@")
  if (at < 0) return { handle: word }
  const handle = word.slice(0, at)
  const place = /^(-?)(\d{1,9})(-?)\W*$/.exec(word.slice(at + 1))
  const line = Number(place?.[2])
  if (place === null || line === 0 || (place[1] && place[3])) {
    throw usageError(
      `${word} names no place`,
      `${handle}@12 is around line 12, @12- from there on, @-12 up to there`,
    )
  }
  if (place[1]) return { handle, to: line }
  return place[3] ? { handle, from: line } : { handle, at: line }
}
