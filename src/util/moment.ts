/** A moment as people write it. Pure. */

const MINUTE = 60_000
const UNITS: Readonly<Record<string, number>> = {
  m: MINUTE,
  h: 60 * MINUTE,
  d: 24 * 60 * MINUTE,
  w: 7 * 24 * 60 * MINUTE,
}

/** What `momentOf` understands, for hints. */
export const MOMENTS = "2026-03-01, 7d, 12h"

/**
 * ISO 8601 in UTC of `2026-03-01`, `2026-03-01 18:30` (local time), or so long ago: `30m`, `12h`, `7d`, `2w`.
 *
 * @param now ms since the epoch
 * @returns undefined for anything else
 */
export function momentOf(text: string, now: number): string | undefined {
  const [, count, unit] = /^(\d{1,6})([mhdw])$/.exec(text) ?? []
  const isDate =
    isDay(text) && /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/.test(text)
  // Without a time of day JavaScript takes a date for UTC; people mean their own.
  const whole = text.length === 10 ? `${text}T00:00` : text.replace(" ", "T")
  const ms =
    count !== undefined ? now - Number(count) * UNITS[unit!]! : isDate ? Date.parse(whole) : Number.NaN
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}

/** JavaScript takes the 31st of February for the 3rd of March. */
function isDay(text: string): boolean {
  const [year, month, day] = text.slice(0, 10).split("-").map(Number)
  return new Date(Date.UTC(year!, month! - 1, day)).getUTCDate() === day
}
