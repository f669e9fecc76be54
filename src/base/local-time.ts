/**
 * Local time, from the C library: the engine takes 6 to 10 ms to load the time zone, as long as most commands need for
 * everything else.
 */
import { seldomCalled } from "./libc.ts"

const localtime = seldomCalled("localtime_r", { args: ["ptr", "ptr"], returns: "ptr" })

/** The first fields of a struct tm, everywhere: months from 0 on, years since 1900. */
type Fields = [second: number, minute: number, hour: number, day: number, month: number, years: number]
/** More than any library's struct tm. */
const TM_LENGTH = 32

/** Numbers as people write them: January is 1. */
interface LocalTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

/** @param ms since the epoch, within a Date's range */
export function localTimeOf(ms: number): LocalTime {
  return fromLibrary(ms) ?? fromEngine(new Date(ms))
}

/** `2026-03-02` */
export function localDate(ms: number): string {
  const { year, month, day } = localTimeOf(ms)
  return `${year}-${twoDigits(month)}-${twoDigits(day)}`
}

export const twoDigits = (n: number): string => String(n).padStart(2, "0")

/** localtime_r(3). */
function fromLibrary(ms: number): LocalTime | undefined {
  try {
    const fields = new Int32Array(TM_LENGTH)
    if (localtime()(BigInt64Array.of(BigInt(Math.floor(ms / 1000))), fields) === null) return undefined
    const [second, minute, hour, day, month, years] = fields as unknown as Fields
    return { year: years + 1900, month: month + 1, day, hour, minute, second }
  } catch {
    // There is no such library.
    return undefined
  }
}

function fromEngine(date: Date): LocalTime {
  return {
    year: date.getFullYear(),
    month: date.getMonth() + 1,
    day: date.getDate(),
    hour: date.getHours(),
    minute: date.getMinutes(),
    second: date.getSeconds(),
  }
}

/** Parses a moment as people write it. Pure. */

/** In ms. */
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
const UNITS: Readonly<Record<string, number>> = { m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY, y: 365 * DAY }

/** A Date's range on either side of 1970, in ms. */
const FURTHEST = 8.64e15

/** What `momentOf` understands, for hints. */
export const MOMENTS = "2026-03-01, 2026-03-01 18:30, yesterday, 7d, 12h"

/** `7d`, `7 d ago`, `7 days`: a number and a unit, or its first letter. */
const AGE = /^(\d{1,6}) ?(?:([mhdwy])|(minute|hour|day|week|year)s?|(min|hr))(?: ago)?$/
const DATE = /^(\d{4})[-/](\d\d)[-/](\d\d)(?:[t ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(z|[+-]\d\d:?\d\d)?)?$/

/**
 * Understands `2026-03-01`, `2026-03-01 18:30` (local time unless a zone is given), `today`, `yesterday`, and ages:
 * `30m`, `12h`, `7d`, `2w`, `1y`.
 *
 * @param now ms since the epoch
 * @returns ISO 8601 in UTC; undefined for anything else, and for days that do not exist
 */
export function momentOf(text: string, now: number): string | undefined {
  const plain = text.trim().toLowerCase().replace(/\s+/g, " ")
  const ms = daysAgo(plain, now) ?? soLongAgo(plain, now) ?? dated(plain)
  return ms === undefined || !(Math.abs(ms) <= FURTHEST) ? undefined : new Date(ms).toISOString()
}

/** The midnight at which the day began. */
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
  // JavaScript would read the 30th of February as the 2nd of March.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return undefined
  // JavaScript reads a date without a time of day as UTC, but people mean local time.
  return Date.parse(`${year}-${month}-${day}T${time}${zone.toUpperCase()}`)
}
