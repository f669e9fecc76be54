/**
 * The filter before the archive: secrets become a filler of the same length, so that offsets and JSON stay what they
 * were. Pure.
 */

import { findSecrets } from "./secret-find.ts"
import { clipped, isJsonLine, type Span, stringsOf } from "./secret-lines.ts"
import { findPatterns } from "./secret-patterns.ts"
import { findPrivate, findPrivateText, mentionsPrivate } from "./secret-private.ts"
import { RULES_NUMBER } from "./secret-rules.ts"

export interface SecretSettings {
  readonly enabled: boolean
  /** The user's own regular expressions. */
  readonly patterns: readonly string[]
}

export const FILTERED: SecretSettings = { enabled: true, patterns: [] }

/** `*`: no format of a secret has it, so what was filled is not found again. */
export const FILLER = 0x2a

export interface FilteredLines {
  /** As long as the original; the same object when there was nothing to fill. */
  readonly content: Uint8Array
  /** Records behind these that a `<private>` in them still hides. */
  readonly hidden: number
  /** The rules that were applied, 0 for none. */
  readonly rules: number
}

/** @param hidden what the lines before these returned as `hidden` */
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

/** Whether anything but a known long word or an operator is there: for the short prompts that most are. */
const ANY = /[\w-]{16}|[=:<>%@]/

/** For text that is no line of a transcript. */
export function filterText(text: string, settings: SecretSettings): string {
  if (!settings.enabled || (settings.patterns.length === 0 && !ANY.test(text))) return text
  // A token is recognised by what stands before it.
  const bytes = Buffer.from(`\n${text}`)
  const plain = bytes.toString("latin1")
  const spans: Span[] = []
  const add = (start: number, end: number): void => void spans.push({ start, end })
  findSecrets(bytes, plain, "text", add)
  if (mentionsPrivate(bytes)) findPrivateText(plain, add)
  if (settings.patterns.length > 0) findPatterns(plain, settings.patterns, add)
  return spans.length === 0 ? text : Buffer.from(fill(bytes, spans)).toString("utf8", 1)
}

/** In lines of JSON only the content of strings may change; what stands in no line of JSON may change everywhere. */
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

/** A span of each line that it touches. None is empty, so that each begins before its line ends. */
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

/** A copy with the spans filled, whole characters only. */
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
