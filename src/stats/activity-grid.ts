/** Activity as a grid of weeks and as bars, whoever draws it. Pure. */
import { dayAfter, mondayOf, weeksBetween } from "./local-hours.ts"

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

export const DAY_NAMES = ["Mon", "", "Wed", "", "Fri", "", "Sun"] as const
export const MONTH_NAMES = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")
