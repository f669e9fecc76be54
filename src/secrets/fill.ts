/** Fills what was found, without damage to lines of JSON. Most hooks find nothing and do not load this. Pure. */
import { clipped, isJsonLine, type JsonString, type Span, saidIn, stringsOf } from "./lines.ts"

/** `*`. No secret format contains it, so filled text is not found again. */
export const FILLER = 0x2a

/** All that is said in a line. */
export function wholeLine(text: string): Span[] {
  const end = text.endsWith("\n") ? text.length - 1 : text.length
  return [...saidIn(text, 0, end)]
}

/** Sorted, and those that meet joined: there may be thousands that overlap. */
export function merged(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.start - b.start)
  const found: Span[] = []
  let last: { start: number; end: number } | undefined
  for (const { start, end } of sorted) {
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end)
    else {
      last = { start, end }
      found.push(last)
    }
  }
  return found
}

/**
 * In lines of JSON, only the content of strings may change; other lines may change anywhere.
 *
 * @param spans sorted, without overlaps
 * @param strings those that may change
 */
export function withinStrings(
  text: string,
  spans: readonly Span[],
  strings: typeof stringsOf = stringsOf,
): Span[] {
  const sorted = spans.flatMap((span) => byLine(text, span))
  const kept: Span[] = []
  for (let n = 0; n < sorted.length; ) {
    const lineStart = text.lastIndexOf("\n", sorted[n]!.start - 1) + 1
    const newline = text.indexOf("\n", sorted[n]!.start)
    const lineEnd = newline < 0 ? text.length : newline
    const here: Span[] = []
    for (; n < sorted.length && sorted[n]!.start < lineEnd; n++) here.push(sorted[n]!)
    if (!isJsonLine(text, lineStart)) kept.push(...here)
    else kept.push(...inLine(text, here, strings(text, lineStart, lineEnd)))
  }
  return kept
}

/** Splits a span by line. No piece is empty, so each begins before its line ends. */
function byLine(text: string, { start, end }: Span): Span[] {
  const found: Span[] = []
  let at = start
  for (const piece of text.slice(start, end).split("\n")) {
    if (piece !== "") found.push({ start: at, end: at + piece.length })
    at += piece.length + 1
  }
  return found
}

function inLine(text: string, spans: readonly Span[], strings: Iterable<JsonString>): Span[] {
  const kept: Span[] = []
  let first = 0
  for (const string of strings) {
    while (first < spans.length && spans[first]!.end <= string.start) first++
    for (let n = first; n < spans.length && spans[n]!.start < string.end; n++) {
      const part = clipped(text, spans[n]!, string)
      if (part !== undefined) kept.push(part)
    }
    if (first >= spans.length) break
  }
  return kept
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** A copy with the spans filled; a multi-byte character is filled whole. */
export function fill(bytes: Uint8Array, spans: readonly Span[]): Uint8Array {
  const filled = new Uint8Array(bytes)
  for (const { start, end } of spans) {
    let from = start
    let to = end
    // Bytes that are no UTF-8 may continue for ever.
    while (from > 0 && start - from < 3 && isContinuation(bytes[from])) from--
    while (to - end < 3 && isContinuation(bytes[to])) to++
    filled.fill(FILLER, from, to)
  }
  return filled
}
