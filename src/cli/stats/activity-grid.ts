/** Activity as a grid of weeks and as bars, whoever draws it. Pure. */
import { DAY, HOUR, localTimeOf, twoDigits } from "../../base/local-time.ts"

/** A year, and the week that it began in. */
export const MOST_WEEKS = 53

export interface DayActivity {
  /** Local, `2026-03-02`. */
  readonly day: string
  readonly turns: number
}

/** How much of the most there is: 0 for nothing, else 1 to `steps`. */
export const shadeOf = (n: number, most: number, steps: number): number =>
  n === 0 ? 0 : Math.max(1, Math.ceil((n / most) * steps))

interface GridDay {
  readonly day: string
  readonly turns: number
  readonly shade: number
}

interface GridWeek {
  /**
   * The month whose first day is in the week, 1 to 12; of the first week, its month, unless the next week has one: there
   * is no room for two names side by side.
   */
  readonly month: number | undefined
  /** From Monday on, until today. */
  readonly days: readonly GridDay[]
}

/**
 * The weeks until `today` that fit, from the first one with activity on.
 *
 * @param days with activity, the earliest first
 * @param steps shades besides that for nothing
 */
export function gridOf(
  days: readonly DayActivity[],
  today: string,
  fitting: number,
  steps: number,
): GridWeek[] {
  const last = mondayOf(today)
  const first = days.length === 0 ? last : mondayOf(days[0]!.day)
  const many = Math.max(1, Math.min(fitting, MOST_WEEKS, weeksBetween(first, last) + 1))
  const begin = dayAfter(last, -7 * (many - 1))
  const turnsOn = new Map(days.map(({ day, turns }) => [day, turns]))
  const most = Math.max(1, ...days.flatMap(({ day, turns }) => (day < begin ? [] : turns)))
  const sundayOf = (n: number): string => dayAfter(begin, 7 * n + 6)
  const hasFirst = (n: number): boolean => n < many && Number(sundayOf(n).slice(8)) <= 7
  return Array.from({ length: many }, (_, n) => {
    const monday = dayAfter(begin, 7 * n)
    const isNamed = hasFirst(n) || (n === 0 && !hasFirst(1))
    const all = Array.from({ length: 7 }, (__, m) => dayAfter(monday, m)).filter((day) => day <= today)
    return {
      month: isNamed ? Number(sundayOf(n).slice(5, 7)) : undefined,
      days: all.map((day) => {
        const turns = turnsOn.get(day) ?? 0
        return { day, turns, shade: shadeOf(turns, most, steps) }
      }),
    }
  })
}

/** Days with activity after each other, at most. @param days with activity, the earliest first */
export function longestStreak(days: readonly DayActivity[]): number {
  let [longest, now, before] = [0, 0, ""]
  for (const { day } of days) {
    now = before !== "" && dayAfter(before, 1) === day ? now + 1 : 1
    longest = Math.max(longest, now)
    before = day
  }
  return longest
}

/** The first day of a year that ends today, as the grid shows it. */
export const yearBegins = (today: string): string => dayAfter(mondayOf(today), -7 * (MOST_WEEKS - 1))

export const DAY_NAMES = ["Mon", "", "Wed", "", "Fri", "", "Sun"] as const
export const MONTH_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")

/* Local days and hours of many moments. */

export interface LocalHour {
  /** `2026-03-02` */
  readonly day: string
  /** 0 to 23. */
  readonly hour: number
}

/** Every time zone's offset is a multiple of this. */
const QUARTER = 15 * 60_000

/** The quarter of an hour, by its number since the epoch; null: that is no time. */
export function quarterOf(time: string | null): number | null {
  const ms = time === null ? Number.NaN : Date.parse(time)
  return Number.isNaN(ms) ? null : Math.floor(ms / QUARTER)
}

/** Asks the C library two or three times for each day: where its ends have one offset, all of it has. */
export function hourFinder(): (quarter: number | null) => LocalHour | undefined {
  const offsets = new Map<number, number>()
  const days = new Map<number, string>()
  const offsetAt = (ms: number): number => {
    const known = offsets.get(ms)
    if (known !== undefined) return known
    const { year, month, day, hour, minute } = localTimeOf(ms)
    const offset = Date.UTC(year, month - 1, day, hour, minute) - ms
    offsets.set(ms, offset)
    return offset
  }
  return (quarter) => {
    if (quarter === null) return undefined
    const ms = quarter * QUARTER
    const midnight = Math.floor(ms / DAY) * DAY
    const offset = offsetAt(midnight)
    const local = ms + (offset === offsetAt(midnight + DAY) ? offset : offsetAt(ms))
    const number = Math.floor(local / DAY)
    let day = days.get(number)
    if (day === undefined) {
      const found = localTimeOf(ms)
      day = `${found.year}-${twoDigits(found.month)}-${twoDigits(found.day)}`
      days.set(number, day)
    }
    return { day, hour: Math.floor((local - number * DAY) / HOUR) }
  }
}

const utc = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** The day so many days later. */
const dayAfter = (day: string, days: number): string =>
  new Date(utc(day) + days * DAY).toISOString().slice(0, 10)

/** 0: Monday. */
const weekday = (day: string): number => (new Date(utc(day)).getUTCDay() + 6) % 7

/** The Monday of its week. */
export const mondayOf = (day: string): string => dayAfter(day, -weekday(day))

/** Whole weeks between two Mondays. */
const weeksBetween = (from: string, to: string): number => Math.round((utc(to) - utc(from)) / (7 * DAY))
