/** Shares the room for what is shown: what one does not need goes to the others. Pure. */

/** UTF-16 units for all hits together, and bounds for each. */
const BUDGET = 4000
const LEAST = 250
const MOST = 1500
/** Together, hits get at least this share of all their text, so the first of several long turns are shown at length. */
const PART = 0.4
/** How much more room a better hit gets: with a score higher by a tenth, nearly twice as much. */
const STEEP = 6

/**
 * How much room each hit gets. A hit that is much better than the next is probably the answer, so it is shown at
 * length; equally good hits get equal room.
 *
 * @param hits best first; `wants`: UTF-16 units that it could fill
 * @param budget for all together; without one, long turns get more
 */
export function roomOfHits(
  hits: readonly { readonly score: number; readonly wants: number }[],
  budget?: number,
): number[] {
  const best = hits[0]?.score ?? 0
  const rooms: number[] = []
  const more: number[] = []
  const shares: number[] = []
  let fills = 0
  for (let n = 0; n < hits.length; n++) fills += Math.min(hits[n]!.wants, MOST)
  let left = budget ?? Math.max(BUDGET, Math.floor(PART * fills))
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

/** Rows that the best hit gets before any other has a third one. */
const FIRST_MORE = 2

/**
 * How many rows each hit gets of a screen: one for what it is, then one for what it says, then the best hit some more,
 * and then all in turn, as long as there is room.
 *
 * @param wants rows that each could fill, best hits first
 * @param room rows; each hit gets its first one also where there are more hits than rows
 */
export function rowsOfHits(wants: readonly number[], room: number): number[] {
  const rows = wants.map((want) => Math.min(want, 1))
  let left = room - wants.length
  const give = (n: number, most: number): void => {
    const given = Math.max(0, Math.min(left, most, wants[n]! - rows[n]!))
    rows[n]! += given
    left -= given
  }
  for (let n = 0; n < wants.length; n++) give(n, 1)
  if (wants.length > 0) give(0, FIRST_MORE)
  while (left > 0 && rows.some((given, n) => given < wants[n]!)) {
    for (let n = 0; n < wants.length; n++) give(n, 1)
  }
  return rows
}

/**
 * Shares `room` in proportion to `shares`, giving none more than it wants. Plain loops, because the engine would start
 * to compile a callback that runs some tens of times.
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
