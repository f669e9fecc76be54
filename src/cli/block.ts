/** Texts shown as they are: paths, commands, errors. Limits the number of lines, but never cuts a path. Pure. */
import { count } from "../base/text.ts"
import { wrapped } from "./screen.ts"
import { dotted, fit, type Style, safe } from "./style.ts"

/** Maximum characters of a line: longer ones are data. */
const LONGEST_LINE = 2000

interface BlockOptions {
  /** Put before the first line; may name a tool. */
  readonly lead?: string
  /** Put before all other lines. */
  readonly indent: string
  /** Maximum number of lines shown. */
  readonly most: number
  /** The turn with the full text, including `ctx:`. */
  readonly handle: string
}

export function block(text: string, { lead, indent, most, handle }: BlockOptions): string[] {
  const first = safe(lead ?? indent)
  const all = safe(text).trimEnd().split("\n")
  const shown = all.slice(0, most).map((line, n) => {
    const start = n === 0 ? first : indent
    if (line.length <= LONGEST_LINE) return `${start}${line}`.trimEnd()
    const more = count(line.length - LONGEST_LINE, "more character")
    return `${start}${line.slice(0, LONGEST_LINE)} … ${more}: ctxbridge show ${handle}`
  })
  const left = all.length - shown.length
  return left === 0 ? shown : [...shown, `${indent}… ${count(left, "more line")}: ctxbridge show ${handle}`]
}

/** A whole path on one line. */
export const wholePath = (path: string): string => safe(path).replace(/[\t\n]+/g, " ")

/*
 * Tables for a terminal. To keep lines from wrapping, one column may be cut, some may stand below their row, and others
 * are left out. Pure.
 */

interface Column {
  readonly title: string
  readonly align?: "right"
  /** Takes the remaining width; at most one column does. */
  readonly flexible?: boolean
  /** May be left out if the terminal is too narrow, the last such column first. */
  readonly optional?: boolean
  /** Goes onto a line of its own below the row, rather than that another column is left out. */
  readonly below?: boolean
}

const GAP = 2
/** Minimum width for the flexible column to be useful; less only when no other column can be left out. */
const LEAST = 20
const NARROWEST = 10

/** @param columns width of the terminal */
export function renderTable(
  head: readonly Column[],
  rows: readonly (readonly string[])[],
  columns: number,
  style: Style,
): string[] {
  const widths = head.map(({ title }, n) =>
    Math.max(Bun.stringWidth(title), ...rows.map((row) => Bun.stringWidth(row[n] ?? ""))),
  )
  const all = [...head.keys()]
  const flexible = head.findIndex((column) => column.flexible === true)
  const roomLeft = (shown: readonly number[]): number =>
    shown.reduce((room, n) => room - (n === flexible ? 0 : widths[n]! + GAP), columns)
  const least = flexible < 0 ? -GAP : Math.min(LEAST, widths[flexible]!)
  const below = roomLeft(all) < least ? all.filter((n) => head[n]!.below) : []
  let shown = all.filter((n) => !below.includes(n))
  const hasFlexible = shown.includes(flexible)
  const needed = hasFlexible ? LEAST : -GAP
  for (let n = head.length - 1; n >= 0 && roomLeft(shown) < needed; n--) {
    if (head[n]!.optional) shown = shown.filter((index) => index !== n)
  }
  if (hasFlexible) widths[flexible] = Math.min(widths[flexible]!, Math.max(NARROWEST, roomLeft(shown)))
  const line = (cells: readonly string[]): string =>
    shown
      .map((n) => {
        const text = n === flexible ? fit(cells[n]!, widths[n]!) : cells[n]!
        const space = " ".repeat(Math.max(0, widths[n]! - Bun.stringWidth(text)))
        return head[n]!.align === "right" ? space + text : text + space
      })
      .join(" ".repeat(GAP))
      .trimEnd()
  const lines = (cells: readonly string[]): string[] => {
    const rest = dotted(...below.map((n) => cells[n]!))
    return rest === "" ? [line(cells)] : [line(cells), `  ${fit(rest, columns - GAP)}`]
  }
  return [...lines(head.map(({ title }) => title)).map(style.dim), ...rows.flatMap(lines)]
}

/** Lines of `label   value` with aligned values, which go on below each other where `columns` says so. */
export function renderPairs(
  pairs: readonly (readonly [string, string])[],
  style: Style,
  columns = Number.POSITIVE_INFINITY,
): string[] {
  const width = Math.max(...pairs.map(([label]) => label.length))
  return pairs.flatMap(([label, value]) => {
    const lines = Number.isFinite(columns) ? wrapped(value, columns - width - GAP) : [value]
    return lines.map((line, n) => `${style.dim((n === 0 ? label : "").padEnd(width))}  ${line}`)
  })
}
