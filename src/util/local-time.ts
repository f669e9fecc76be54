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
