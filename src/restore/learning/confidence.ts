/**
 * How sure it is that a turn will be needed again: it falls by the hour and rises with each use. The formula is that of
 * the design documents (ADR-051, stage 1 of the learning cycle and its restores), by hours that have really passed.
 * Nothing is stored, so nothing has to be updated. Pure.
 */

const BIRTH = 0.8
/** Of a turn in which Claude Code summed up all that came before. */
const BIRTH_WITH_SUMMARY = 1
const FLOOR = 0.1
/** For each hour. */
const DECAY = 0.005
/** For each use, up to 1. */
const CREDIT = 0.03

const HOUR = 3_600_000

/**
 * `max(0.1, c − 0.005 · hours)` from one use to the next, and `min(1, c + 0.03)` at each of them.
 *
 * @param born when the turn ended, in ms since 1970, as all times here
 * @param uses when it was used; what is before `born` or after `now` does not count
 * @param hasSummary whether the turn holds the summary of a compaction
 */
export function confidence(born: number, uses: readonly number[], now: number, hasSummary = false): number {
  let value = hasSummary ? BIRTH_WITH_SUMMARY : BIRTH
  let since = born
  for (const time of uses.filter((one) => one >= born && one <= now).sort((a, b) => a - b)) {
    value = Math.min(1, decayed(value, time - since) + CREDIT)
    since = time
  }
  return decayed(value, now - since)
}

/** A clock that was set back makes nothing younger than new. */
const decayed = (value: number, ms: number): number =>
  Math.max(FLOOR, value - (DECAY * Math.max(0, ms)) / HOUR)
