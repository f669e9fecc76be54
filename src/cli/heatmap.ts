/** Activity by day as a grid of weeks, and by hour as one line of bars. Pure. */
import { DAY_NAMES, type DayActivity, gridOf, MONTH_NAMES, shadeOf } from "../stats/activity-grid.ts"
import type { Style } from "./style.ts"

/** From nothing to the most; each takes two columns, so that a cell is about as wide as high. */
const SHADES = ["··", "░░", "▒▒", "▓▓", "██"] as const
const PLAIN_SHADES = [" .", "--", "++", "**", "##"] as const
const BARS = "▁▂▃▄▅▆▇█"
const PLAIN_BARS = "_.:-=+*#"

const CELL = 2
/** Columns of the names of days, with the space after them. */
const MARGIN = 4

interface Look {
  readonly columns: number
  readonly style: Style
  readonly unicode: boolean
}

/** @param days with activity, the earliest first */
export function renderHeatmap(
  days: readonly DayActivity[],
  today: string,
  { columns, style, unicode }: Look,
): string[] {
  const shades = unicode ? SHADES : PLAIN_SHADES
  const weeks = gridOf(days, today, Math.floor((columns - MARGIN) / CELL), shades.length - 1)
  const cell = (shade: number | undefined): string =>
    shade === undefined ? "" : shade === 0 ? style.dim(shades[0]) : style.green(shades[shade]!)
  let months = ""
  for (const [n, { month }] of weeks.entries())
    if (month !== undefined) months = `${months.padEnd(n * CELL)}${MONTH_NAMES[month - 1]} `
  return [
    style.dim(`${" ".repeat(MARGIN)}${months.trimEnd()}`),
    ...DAY_NAMES.map(
      (name, n) => style.dim(name.padEnd(MARGIN)) + weeks.map((week) => cell(week.days[n]?.shade)).join(""),
    ),
  ]
}

/** Two lines: a bar for each hour, and the hours. */
export function renderHours(hours: readonly number[], { style, unicode }: Look): string[] {
  const most = Math.max(1, ...hours)
  const bars = unicode ? BARS : PLAIN_BARS
  const bar = (n: number): string => (n === 0 ? " " : bars[shadeOf(n, most, bars.length) - 1]!)
  const names = [0, 6, 12, 18].map((hour) => String(hour).padEnd(6 * CELL))
  const margin = " ".repeat(MARGIN)
  return [
    margin +
      style.green(
        hours
          .map((n) => bar(n).repeat(CELL))
          .join("")
          .trimEnd(),
      ),
    style.dim((margin + names.join("")).trimEnd()),
  ]
}
