/**
 * Filters secrets before anything is archived. A filler of the same length replaces them, so offsets and JSON stay
 * valid. Pure.
 */

import { findSecrets } from "./find.ts"
import { clipped, isJsonLine, type Span, stringsOf } from "./lines.ts"
import { findPatterns } from "./patterns.ts"
import { findPrivate, findPrivateText, mentionsPrivate } from "./private.ts"
import { RULES_NUMBER } from "./rules.ts"

export interface SecretSettings {
  readonly enabled: boolean
  /** The user's own regular expressions. */
  readonly patterns: readonly string[]
}

export const FILTERED: SecretSettings = { enabled: true, patterns: [] }

/** `*`. No secret format contains it, so filled text is not found again. */
export const FILLER = 0x2a

export interface FilteredLines {
  /** As long as the original; the same object when nothing was filled. */
  readonly content: Uint8Array
  /** How many records after these a `<private>` in them still hides. */
  readonly hidden: number
  /** The version of the rules that were applied; 0: none. */
  readonly rules: number
}

/** @param hidden the `hidden` returned for the preceding lines */
export function filterLines(content: Uint8Array, hidden: number, settings: SecretSettings): FilteredLines {
  if (!settings.enabled) return { content, hidden: 0, rules: 0 }
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  const text = bytes.toString("latin1")
  const spans: Span[] = []
  const add = (start: number, end: number): void => void spans.push({ start, end })
  findSecrets(bytes, text, "lines", add)
  const left = hidden > 0 || mentionsPrivate(bytes) ? findPrivate(text, hidden, add) : 0
  if (settings.patterns.length > 0) findPatterns(text, settings.patterns, add)
  const filled = spans.length === 0 ? content : fill(bytes, withinStrings(text, spans))
  return { content: filled, hidden: left, rules: RULES_NUMBER }
}

/** Matches what every secret has: a long word, an operator, a digit or a mark. Most short prompts do not. */
const ANY = /[\w.~+/-]{16}|[\d=:<>%@!#$^*]|-p/

/** For text outside transcripts. */
export function filterText(text: string, settings: SecretSettings): string {
  if (!settings.enabled || (settings.patterns.length === 0 && !ANY.test(text))) return text
  // A token is recognised by the character before it.
  const bytes = Buffer.from(`\n${text}`)
  const plain = bytes.toString("latin1")
  const spans: Span[] = []
  const add = (start: number, end: number): void => void spans.push({ start, end })
  findSecrets(bytes, plain, "text", add)
  if (mentionsPrivate(bytes)) findPrivateText(plain, add)
  if (settings.patterns.length > 0) findPatterns(plain, settings.patterns, add)
  return spans.length === 0 ? text : Buffer.from(fill(bytes, spans)).toString("utf8", 1)
}

/** In lines of JSON, only the content of strings may change; other lines may change anywhere. */
function withinStrings(text: string, spans: readonly Span[]): Span[] {
  const sorted = spans.flatMap((span) => byLine(text, span)).sort((a, b) => a.start - b.start)
  const kept: Span[] = []
  for (let n = 0; n < sorted.length; ) {
    const lineStart = text.lastIndexOf("\n", sorted[n]!.start - 1) + 1
    const newline = text.indexOf("\n", sorted[n]!.start)
    const lineEnd = newline < 0 ? text.length : newline
    const here: Span[] = []
    for (; n < sorted.length && sorted[n]!.start < lineEnd; n++) here.push(sorted[n]!)
    if (!isJsonLine(text, lineStart)) kept.push(...here)
    else kept.push(...inLine(text, lineStart, lineEnd, here))
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

function inLine(text: string, start: number, end: number, spans: readonly Span[]): Span[] {
  const kept: Span[] = []
  let first = 0
  for (const string of stringsOf(text, start, end)) {
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
function fill(bytes: Uint8Array, spans: readonly Span[]): Uint8Array {
  const filled = new Uint8Array(bytes)
  for (const { start, end } of spans) {
    let from = start
    let to = end
    while (from > 0 && isContinuation(bytes[from])) from--
    while (isContinuation(bytes[to])) to++
    filled.fill(FILLER, from, to)
  }
  return filled
}
