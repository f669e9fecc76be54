/** Text for a terminal: with colour where wanted, and without anything that could control the terminal. */

import { unsteered } from "../base/text.ts"
import { withoutIgnored } from "../restore/neutral.ts"

export interface Style {
  bold(text: string): string
  dim(text: string): string
  red(text: string): string
  green(text: string): string
  cyan(text: string): string
  /** What was looked for. */
  match(text: string): string
}

const wrap = (on: boolean, open: number, close: number) => (text: string) =>
  on && text !== "" ? `\x1b[${open}m${text}\x1b[${close}m` : text

export function createStyle(color: boolean): Style {
  const [bold, red] = [wrap(color, 1, 22), wrap(color, 31, 39)]
  return {
    bold,
    dim: wrap(color, 2, 22),
    red,
    green: wrap(color, 32, 39),
    cyan: wrap(color, 36, 39),
    match: (text) => bold(red(text)),
  }
}

/** Most text has nothing else, and takes a tenth of the time. */
const HARMLESS = /^[\t\n\x20-\x7e]*$/

/**
 * Makes text from the archive safe to print: tool output may contain escape sequences written by anyone, and characters
 * that nobody sees.
 */
export function safe(text: string): string {
  if (HARMLESS.test(text)) return text
  return withoutIgnored(unsteered(text))
}

/** All of these, and what may stand between them. */
export const UNPRINTED = /(?![\t\n])[\p{Cc}\p{Bidi_C}\p{DI}\u{fff9}-\u{fffb}]/gu

/** JSON in which the same characters are escaped, so that programs parse the original text. */
export const safeJson = (value: unknown, indent?: number): string =>
  JSON.stringify(value, null, indent).replace(UNPRINTED, escapedUnits)

/** A character of `UNPRINTED` as JSON escapes it. */
export const escapedUnits = (sign: string): string => sign.split("").map(escaped).join("")

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

/** Joins what there is to tell by dots. */
export const dotted = (...parts: readonly (string | false | undefined)[]): string =>
  parts.filter(Boolean).join(" · ")

/** Cuts a text to one line of at most `width` columns. */
export function fit(text: string, width: number): string {
  const line = safe(text.slice(0, width * 8))
    .replace(/\s+/g, " ")
    .trim()
  if (Bun.stringWidth(line) <= width) return line
  let kept = ""
  let used = 0
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    const next = Bun.stringWidth(segment)
    if (used + next > width - 1) break
    kept += segment
    used += next
  }
  return width < 1 ? "" : `${kept.trimEnd()}…`
}

/** The same, indented by two spaces. */
export const indented = (text: string, width: number): string => `  ${fit(text, width - 2)}`

/** A path in so many columns: of a longer one, where it begins, and as many of its last parts as there is room for. */
export function cutPath(path: string, room: number): string {
  if (Bun.stringWidth(path) <= room) return path
  const parts = path.split("/")
  for (let n = 1; n < parts.length; n++) {
    const end = parts.slice(n).join("/")
    const cut = [...(n > 1 ? [`${parts[0]}/…/${end}`] : []), `…/${end}`]
    const shown = cut.find((one) => Bun.stringWidth(one) <= room)
    if (shown !== undefined) return shown
  }
  // Beside a long name of its project, there may be no room at all.
  return `…${Bun.sliceAnsi(path, 1 - Math.max(room, 2))}`
}
