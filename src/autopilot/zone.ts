/** How near the host's compaction is, and how long until then. Pure. */

/** `ok`, `warning` from `warn` on, `critical` from `critical` on: shares of the compaction point. */
export type Zone = "ok" | "warning" | "critical"

export interface Thresholds {
  readonly warn: number
  readonly critical: number
}

/** @param pressure tokens, as a share of the compaction point */
export function zoneOf(pressure: number, { warn, critical }: Thresholds): Zone {
  if (pressure >= critical) return "critical"
  return pressure >= warn ? "warning" : "ok"
}

/** Turns that the trend is made of. */
const RECENT = 5

/**
 * Tokens that a turn adds, of late.
 *
 * @param readings tokens at the end of each turn since the last compaction, oldest first
 * @returns undefined with fewer than two turns, or where the context does not grow
 */
export function trendOf(readings: readonly number[]): number | undefined {
  const recent = readings.slice(-RECENT - 1)
  const first = recent[0]
  const last = recent.at(-1)
  if (first === undefined || last === undefined || recent.length < 2 || last <= first) return undefined
  return Math.round((last - first) / (recent.length - 1))
}

/** Turns until `limit`, in whole ones: 0 is now. Undefined where nobody can say. */
export function runwayOf(tokens: number, limit: number, trend: number | undefined): number | undefined {
  if (tokens >= limit) return 0
  return trend === undefined ? undefined : Math.floor((limit - tokens) / trend)
}
