/** How the room for what is shown is shared: what one does not need is the others'. Pure. */

/** UTF-16 units of all hits together, and of each. */
const BUDGET = 4000
const LEAST = 250
const MOST = 1500
/** All together have so much of what they could fill, where that is more: the first of long turns are shown at length. */
const PART = 0.4
/** How much more room a better hit has: a tenth more score is nearly twice the room. */
const STEEP = 6

/**
 * Room of each hit. A hit that is much better than the next is likely to be the answer, so it is shown at length; where
 * all are alike, each is shown as much.
 *
 * @param hits best first; `wants`: UTF-16 units that it could fill
 */
export function roomOfHits(hits: readonly { readonly score: number; readonly wants: number }[]): number[] {
  const best = hits[0]?.score ?? 0
  const rooms: number[] = []
  const more: number[] = []
  const shares: number[] = []
  let fills = 0
  for (let n = 0; n < hits.length; n++) fills += Math.min(hits[n]!.wants, MOST)
  let left = Math.max(BUDGET, Math.floor(PART * fills))
  for (let n = 0; n < hits.length; n++) {
    const { score, wants } = hits[n]!
    const given = Math.min(wants, LEAST)
    left -= given
    rooms.push(given)
    more.push(Math.min(wants, MOST) - given)
    shares.push(best > 0 ? (score / best) ** STEEP : 1)
  }
  const given = shareOut(left, more, shares)
  for (let n = 0; n < rooms.length; n++) rooms[n]! += given[n]!
  return rooms
}

/**
 * Shares `room` in proportion to `shares`, to each no more than it wants. Plain loops: what is called for each of some
 * tens of numbers, the engine begins to compile.
 */
export function shareOut(room: number, wants: readonly number[], shares: readonly number[]): number[] {
  const given: number[] = []
  const open: number[] = []
  for (let n = 0; n < wants.length; n++) {
    given.push(0)
    if (wants[n]! > 0) open.push(n)
  }
  for (let left = room; open.length > 0 && left >= 1; ) {
    let all = 0
    for (let n = 0; n < open.length; n++) all += shares[open[n]!]!
    if (all <= 0) break
    const rest: number[] = []
    let used = 0
    for (let n = 0; n < open.length; n++) {
      const one = open[n]!
      if (wants[one]! > Math.floor((left * shares[one]!) / all)) rest.push(one)
      else {
        given[one] = wants[one]!
        used += wants[one]!
      }
    }
    if (rest.length === open.length) {
      for (let n = 0; n < rest.length; n++) given[rest[n]!] = Math.floor((left * shares[rest[n]!]!) / all)
      break
    }
    left -= used
    open.splice(0, open.length, ...rest)
  }
  return given
}
