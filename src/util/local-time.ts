/**
 * A moment in the time zone of whoever reads it. From the C library: the engine takes 6 to 10 ms to learn about the time
 * zone, as long as most commands need for all else.
 */
import { localTime } from "./libc.ts"

/** Numbers as people write them: January is 1. */
export interface LocalTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly hour: number
  readonly minute: number
  readonly second: number
}

/** @param ms since the epoch, as a Date can tell it */
export function localTimeOf(ms: number): LocalTime {
  return fromLibrary(ms) ?? fromEngine(new Date(ms))
}

/** `2026-03-02` */
export function localDate(ms: number): string {
  const { year, month, day } = localTimeOf(ms)
  return `${year}-${twoDigits(month)}-${twoDigits(day)}`
}

export const twoDigits = (n: number): string => String(n).padStart(2, "0")

function fromLibrary(ms: number): LocalTime | undefined {
  try {
    const fields = localTime(Math.floor(ms / 1000))
    if (fields === undefined) return undefined
    const [second, minute, hour, day, month, years] = fields as unknown as Fields
    return { year: years + 1900, month: month + 1, day, hour, minute, second }
  } catch {
    // No such library.
    return undefined
  }
}

type Fields = [second: number, minute: number, hour: number, day: number, month: number, years: number]

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
