/**
 * Text in columns of a terminal: cut, wrapped and filled by the width that each character takes there. What comes from
 * the archive is made harmless here. Pure.
 */
import { safe } from "../style.ts"

/** How a stretch of text looks. */
export type Look = "plain" | "found" | "dim" | "title" | "asked" | "said" | "called" | "failed"

export interface Styled {
  readonly text: string
  readonly look: Look
  /** Whether it belongs to the selected line. */
  readonly isSelected?: boolean
  /** The column, from 0, where it has to begin, whatever the terminal makes of what is before it. */
  readonly column?: number
}

/** A line: stretches, one behind the other. */
export type StyledLine = readonly Styled[]

/** What the terminal can show: beyond ASCII only in a UTF-8 locale. */
export interface Charset {
  readonly unicode: boolean
}

export const styled = (text: string, look: Look = "plain"): Styled => ({ text, look })

const ASCII = /^[\x20-\x7e]*$/
/** The same with signs of our own, each of one column: telling characters apart takes most of a picture's time. */
const PLAIN = /^[\x20-\x7e…·─│┃▸✓★❮❯✗]*$/
const isPlain = (text: string, { unicode }: Charset): boolean => (unicode ? PLAIN : ASCII).test(text)
/** Most UTF-16 units of a character: an emoji of a whole family has 25. More is a heap of combining marks. */
const LONGEST_CHARACTER = 32
/** What a terminal may take for the end of a line, or move on for as it likes. */
const BLANKS = /[\t\v\f\u0085\u2028\u2029]/g

/** What changes the character before it, where there is none. */
const LEADING = /^[\p{M}\p{VS}\p{Join_C}]+/u

/** Text from the archive as a terminal can show it. Lines stay lines. */
export const harmless = (text: string): string =>
  safe(text.toWellFormed()).replace(BLANKS, "  ").replace(LEADING, "")

/**
 * Splits a text at its marks.
 *
 * @param marks start and end of each found word, ascending, in UTF-16 units
 */
export function spansOf(
  text: string,
  marks: readonly (readonly [from: number, to: number])[],
  look: Look = "plain",
): Styled[] {
  const spans: Styled[] = []
  let done = 0
  for (const [from, to] of marks) {
    if (from < done) continue
    spans.push(
      styled(harmless(text.slice(done, from)), look),
      styled(harmless(text.slice(from, to)), "found"),
    )
    done = to
  }
  spans.push(styled(harmless(text.slice(done)), look))
  return spans.filter((one) => one.text !== "")
}

/** The same on one line. */
export const onOneLine = (spans: StyledLine): Styled[] =>
  spans.map((one) => ({ ...one, text: one.text.replace(/\s+/g, " ") }))

interface Cell {
  readonly text: string
  readonly width: number
}

const segmenter = new Intl.Segmenter()

/** The characters of a harmless text, each with its columns. */
function* cellsOf(text: string, charset: Charset): Generator<Cell> {
  const { unicode } = charset
  if (isPlain(text, charset)) {
    for (let at = 0; at < text.length; at++) yield { text: text[at]!, width: 1 }
    return
  }
  for (const { segment } of segmenter.segment(text)) {
    if (ASCII.test(segment)) yield { text: segment, width: 1 }
    // A line within a line would end it.
    else if (segment === "\n") yield { text: " ", width: 1 }
    else if (!unicode) yield { text: segment === "…" ? "~" : "?", width: 1 }
    else {
      const short =
        segment.length > LONGEST_CHARACTER ? String.fromCodePoint(segment.codePointAt(0)!) : segment
      yield { text: short, width: Bun.stringWidth(short) }
    }
  }
}

export const widthOf = (spans: StyledLine, charset: Charset): number => {
  let width = 0
  for (const { text } of spans) {
    if (isPlain(text, charset)) width += text.length
    else for (const cell of cellsOf(text, charset)) width += cell.width
  }
  return width
}

export const ellipsis = ({ unicode }: Charset): string => (unicode ? "…" : "~")

/** Cuts a line to at most `width` columns; what was cut ends in an ellipsis. */
export function fitted(spans: StyledLine, width: number, charset: Charset): Styled[] {
  const kept: Styled[] = []
  let used = 0
  // Where the line is cut if it turns out to be too long: so many stretches, and so much of the next one.
  let whole = 0
  let part = ""
  const short = (): Styled[] =>
    width < 1
      ? []
      : [
          ...kept.slice(0, whole),
          { ...(spans[whole] ?? styled("")), text: part },
          styled(ellipsis(charset), "dim"),
        ]
  for (const one of spans) {
    let taken = one.text
    if (isPlain(taken, charset)) {
      if (used < width) [whole, part] = [kept.length, taken.slice(0, width - 1 - used)]
      used += taken.length
      if (used > width) return short()
    } else {
      taken = ""
      for (const cell of cellsOf(one.text, charset)) {
        if (used + cell.width > width) return short()
        taken += cell.text
        used += cell.width
        if (used <= width - 1) [whole, part] = [kept.length, taken]
      }
    }
    kept.push({ ...one, text: taken })
  }
  return kept
}

/** The end of a harmless text, as much as fits into `width` columns. */
export function lastColumns(text: string, width: number, charset: Charset): string {
  let kept = ""
  let used = 0
  for (const cell of [...cellsOf(text, charset)].reverse()) {
    if (used + cell.width > width) break
    kept = cell.text + kept
    used += cell.width
  }
  return kept
}

/** Fills a line with blanks up to `width` columns, cutting it if it is longer. */
export function filled(spans: StyledLine, width: number, charset: Charset): Styled[] {
  const line = fitted(spans, width, charset)
  const left = width - widthOf(line, charset)
  return left > 0 ? [...line, styled(" ".repeat(left))] : line
}

/** Breaks text into lines of at most `width` columns, between words where it can. */
export function wrappedCells(spans: StyledLine, width: number, charset: Charset): Styled[][] {
  const lines: Styled[][] = []
  let line: Styled[] = []
  let used = 0
  const end = (): void => {
    lines.push(line)
    line = []
    used = 0
  }
  const put = (text: string, columns: number, look: Look): void => {
    const last = line.at(-1)
    if (last?.look === look) line[line.length - 1] = styled(last.text + text, look)
    else line.push(styled(text, look))
    used += columns
  }
  for (const { text, look } of spans) {
    for (const [piece] of text.matchAll(/\n|[^\S\n]+|\S+/g)) {
      if (piece === "\n") {
        end()
        continue
      }
      const cells = [...cellsOf(piece, charset)]
      const columns = cells.reduce((sum, cell) => sum + cell.width, 0)
      const isBlank = piece.trim() === ""
      if (used + columns <= width) {
        put(cells.map((cell) => cell.text).join(""), columns, look)
        continue
      }
      // Indentation wider than the line says nothing; a blank at the end of one is not carried over.
      if (isBlank) {
        if (used > 0) end()
        continue
      }
      if (used > 0 && columns <= width) end()
      for (const cell of cells) {
        if (used + cell.width > width && used > 0) end()
        if (cell.width <= width) put(cell.text, cell.width, look)
      }
    }
  }
  if (line.length > 0 || lines.length === 0) end()
  return lines
}
