/** Finds the strings in lines of JSON, in a text with one character per byte. Pure. */

/** Whether the line at `start` is JSON, whose structure must stay intact. */
export const isJsonLine = (text: string, start: number): boolean => /[{["]/.test(text[start] ?? "")

/** A string in a line, without the quotes. */
export interface JsonString {
  readonly start: number
  readonly end: number
  /** Whether it is a field's name. */
  readonly isKey: boolean
  /** Whether it names something that people name: a tool, a model, a branch. Of no record of its own. */
  readonly isName?: boolean
}

/** The strings in the line from `start` to `end`, in order. An unclosed string at the end counts. */
export function* stringsOf(text: string, start: number, end: number): Generator<JsonString> {
  for (let open = text.indexOf('"', start); open >= 0 && open < end; ) {
    let close = text.indexOf('"', open + 1)
    while (close >= 0 && close < end && isEscaped(text, close, open)) close = text.indexOf('"', close + 1)
    if (close < 0 || close >= end) {
      yield { start: open + 1, end, isKey: false }
      return
    }
    yield { start: open + 1, end: close, isKey: text[close + 1] === ":" }
    open = text.indexOf('"', close + 1)
  }
}

/** Whether an odd number of backslashes precedes `at`; looks back no further than `floor`. */
function isEscaped(text: string, at: number, floor: number): boolean {
  let n = 0
  while (at - 1 - n > floor && text[at - 1 - n] === "\\") n++
  return n % 2 === 1
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** The part of a span that can be overwritten without damaging the line's structure or cutting an escape in half. */
export function clipped(text: string, span: Span, string: JsonString): Span | undefined {
  let start = Math.max(span.start, string.start)
  let end = Math.min(span.end, string.end)
  if (start >= end) return undefined
  if (isEscaped(text, start, string.start - 1)) start += text[start] === "u" ? 5 : 1
  // The four digits of an escape that began earlier.
  for (let n = 1; n <= 4 && start - n - 1 >= string.start; n++) {
    if (text[start - n] === "u" && isEscaped(text, start - n, string.start - 1)) start += 5 - n
  }
  if (end < string.end && isEscaped(text, end, string.start - 1)) end--
  for (let n = 1; n <= 4 && end < string.end && end - n > start; n++) {
    if (text[end - n] === "u" && isEscaped(text, end - n, string.start - 1)) end -= n + 1
  }
  return start < end ? { start, end } : undefined
}

/** Fields that describe a record and never hold what was said. */
export const structure = (): RegExp =>
  /^(?:type|role|id|uuid|parentUuid|logicalParentUuid|sessionId|timestamp|version|cwd|gitBranch|model|tool_use_id|name|requestId|subtype|level|userType|media_type|stop_reason|agentId|slug|service_tier)$/

const names = (): RegExp => /^(?:name|model|gitBranch)$/

/**
 * The strings in the line from `start` to `end` that may hold what was said; the whole line if it is not JSON.
 *
 * @param withNames whether those that name something are wanted, too
 */
export function* saidIn(text: string, start: number, end: number, withNames = false): Generator<JsonString> {
  if (!isJsonLine(text, start)) {
    yield { start, end, isKey: false }
    return
  }
  const isStructure = structure()
  let key = ""
  for (const one of stringsOf(text, start, end)) {
    if (one.isKey) key = one.end - one.start < 40 ? text.slice(one.start, one.end) : ""
    else if (!isStructure.test(key)) yield one
    else if (withNames && names().test(key)) yield { ...one, isName: true }
  }
}
