/** How the room for what is shown is shared: what one does not need is the others'. Pure. */

/** UTF-16 units of all hits together, and of each. */
const BUDGET = 4000
const LEAST = 250
const MOST = 1500
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
  const least: number[] = []
  const more: number[] = []
  const shares: number[] = []
  let left = BUDGET
  for (const { score, wants } of hits) {
    const given = Math.min(wants, LEAST)
    left -= given
    least.push(given)
    more.push(Math.min(wants, MOST) - given)
    shares.push(best > 0 ? (score / best) ** STEEP : 1)
  }
  const given = shareOut(left, more, shares)
  return least.map((room, n) => room + given[n]!)
}

/** Shares `room` in proportion to `shares`, to each no more than it wants. */
export function shareOut(room: number, wants: readonly number[], shares: readonly number[]): number[] {
  const given = wants.map(() => 0)
  let left = room
  let open = [...wants.keys()].filter((n) => wants[n]! > 0)
  while (open.length > 0 && left >= 1) {
    const all = open.reduce((sum, n) => sum + shares[n]!, 0)
    if (all <= 0) break
    const part = (n: number): number => Math.floor((left * shares[n]!) / all)
    const full = open.filter((n) => wants[n]! <= part(n))
    const served = full.length > 0 ? full : open
    const parts = served.map((n) => Math.min(wants[n]!, part(n)))
    for (const [at, n] of served.entries()) {
      given[n] = parts[at]!
      left -= parts[at]!
    }
    if (full.length === 0) break
    open = open.filter((n) => !full.includes(n))
  }
  return given
}
