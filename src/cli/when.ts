/** Formats times for people, and parses times written by people. Pure. */
import { usageError } from "../util/errors.ts"
import { localDate, localTimeOf, twoDigits } from "../util/local-time.ts"
import { MOMENTS, momentOf } from "../util/parse-moment.ts"
import { stringArg } from "./args.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `3 min ago`, or the date if it was a week ago or more. */
export function ago(time: string | null, now: number): string {
  const then = time === null ? Number.NaN : Date.parse(time)
  if (Number.isNaN(then)) return "unknown"
  const age = now - then
  if (age < 0 || age >= 7 * DAY) return localDate(then)
  if (age < MINUTE) return "just now"
  if (age < HOUR) return `${Math.floor(age / MINUTE)} min ago`
  return age < DAY ? `${Math.floor(age / HOUR)} h ago` : `${Math.floor(age / DAY)} d ago`
}

/** `2026-03-02 08:05:09` in the local time zone. */
export function clock(time: string | null): string {
  const ms = time === null ? Number.NaN : Date.parse(time)
  if (Number.isNaN(ms)) return "unknown"
  const { hour, minute, second } = localTimeOf(ms)
  return `${localDate(ms)} ${[hour, minute, second].map(twoDigits).join(":")}`
}

/**
 * The time given by an option, as ISO 8601 in UTC.
 *
 * @param now ms since the epoch
 * @throws CtxError exit 64
 */
export function timeArg(
  args: Readonly<Record<string, unknown>>,
  name: string,
  now: number,
): string | undefined {
  const text = stringArg(args, name)?.trim()
  if (text === undefined) return undefined
  const moment = momentOf(text, now)
  if (moment === undefined) {
    throw usageError(`--${name} needs a date or an age, not ${JSON.stringify(text)}`, MOMENTS)
  }
  return moment
}

const UNITS: Readonly<Record<string, number>> = { h: HOUR, d: DAY, w: 7 * DAY, y: 365 * DAY }

/** An age such as `90d` in ms; undefined for anything else. */
export function ageOf(word: string): number | undefined {
  const [, number, unit] = /^(\d{1,6})([hdwy])$/.exec(word) ?? []
  return number === undefined ? undefined : Number(number) * UNITS[unit!]!
}
