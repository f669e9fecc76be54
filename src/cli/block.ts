/** Texts shown as they are: paths, commands, errors. Limits the number of lines, but never cuts a path. Pure. */
import { count } from "../util/text.ts"
import { safe } from "./style.ts"

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
