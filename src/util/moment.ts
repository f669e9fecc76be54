/** A moment as people write it. Pure. */

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY, y: 365 * DAY }

/** ms on either side of 1970 that a Date can tell. */
const FURTHEST = 8.64e15

/** What `momentOf` understands, for hints. */
export const MOMENTS = "2026-03-01, 2026-03-01 18:30, yesterday, 7d, 12h"

/** `7d`, `7 d ago`, `7 days`: a number and the first letter of a unit, or all of it. */
const AGE = /^(\d{1,6}) ?(?:([mhdwy])|(minute|hour|day|week|year)s?|(min|hr))(?: ago)?$/
const DATE = /^(\d{4})[-/](\d\d)[-/](\d\d)(?:[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(z|[+-]\d\d:?\d\d)?)?$/

/**
 * ISO 8601 in UTC of `2026-03-01`, `2026-03-01 18:30` (local time, unless a zone is given), `today`, `yesterday`, or so
 * long ago: `30m`, `12h`, `7d`, `2w`, `1y`.
 *
 * @param now ms since the epoch
 * @returns undefined for anything else, and for days that no calendar has
 */
export function momentOf(text: string, now: number): string | undefined {
  const plain = text.trim().toLowerCase().replace(/\s+/g, " ")
  const ms = daysAgo(plain, now) ?? soLongAgo(plain, now) ?? dated(plain)
  return ms === undefined || !(Math.abs(ms) <= FURTHEST) ? undefined : new Date(ms).toISOString()
}

/** The midnight that a day began with. */
function daysAgo(text: string, now: number): number | undefined {
  if (text !== "today" && text !== "yesterday") return undefined
  const day = new Date(now)
  if (text === "yesterday") day.setDate(day.getDate() - 1)
  return day.setHours(0, 0, 0, 0)
}

function soLongAgo(text: string, now: number): number | undefined {
  const [, count, letter, word, short] = AGE.exec(text) ?? []
  return count === undefined ? undefined : now - Number(count) * UNITS[(letter ?? word ?? short)![0]!]!
}

function dated(text: string): number | undefined {
  const [, year, month, day, time = "00:00", zone = ""] = DATE.exec(text) ?? []
  if (year === undefined) return undefined
  // JavaScript takes the 30th of February for the 2nd of March.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return undefined
  // Without a time of day it takes a date for UTC; people mean their own.
  return Date.parse(`${year}-${month}-${day}T${time}${zone.toUpperCase()}`)
}
