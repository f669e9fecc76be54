/** Local days and hours of many moments. */
import { localTimeOf, twoDigits } from "../util/local-time.ts"

export interface LocalHour {
  /** `2026-03-02` */
  readonly day: string
  /** 0 to 23. */
  readonly hour: number
}

/** Every time zone's offset is a multiple of this. */
const QUARTER = 15 * 60_000

/** Asks the C library once for each quarter of an hour. Undefined: that is no time. */
export function hourFinder(): (time: string | null) => LocalHour | undefined {
  const known = new Map<number, LocalHour>()
  return (time) => {
    const ms = time === null ? Number.NaN : Date.parse(time)
    if (Number.isNaN(ms)) return undefined
    const quarter = Math.floor(ms / QUARTER)
    const found = known.get(quarter)
    if (found !== undefined) return found
    const { year, month, day, hour } = localTimeOf(quarter * QUARTER)
    const slot = { day: `${year}-${twoDigits(month)}-${twoDigits(day)}`, hour }
    known.set(quarter, slot)
    return slot
  }
}

const DAY = 24 * 60 * 60_000
const utc = (day: string): number => Date.parse(`${day}T00:00:00Z`)

/** The day so many days later. */
export const dayAfter = (day: string, days: number): string =>
  new Date(utc(day) + days * DAY).toISOString().slice(0, 10)

/** 0: Monday. */
const weekday = (day: string): number => (new Date(utc(day)).getUTCDay() + 6) % 7

/** The Monday of its week. */
export const mondayOf = (day: string): string => dayAfter(day, -weekday(day))

/** Whole weeks between two Mondays. */
export const weeksBetween = (from: string, to: string): number =>
  Math.round((utc(to) - utc(from)) / (7 * DAY))
