/**
 * Whole records within a line that is none. A crash leaves half a record without a newline, and what is written next
 * is glued to it; file systems leave runs of NUL. Pure.
 *
 * A record that was torn may have whole objects in it, which are none. Where it was torn is where its text stops being
 * JSON, and there the next one begins; only if it was torn where a value is expected is the next one a value to a
 * reader, and then the torn text ends with it.
 */
import { isObject, type JsonObject, stringOf } from "./json.ts"

/** Offsets of a record in its line: its first byte, and the one after its last. */
export interface RecordSpan {
  readonly from: number
  readonly to: number
}

const TAB = 0x09
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN = 0x7b
const CLOSE = 0x7d

/**
 * @param line bytes without a newline
 * @returns in order, without overlaps; none if nothing in it is whole
 */
export function wholeRecordsIn(line: Uint8Array): RecordSpan[] {
  const found: RecordSpan[] = []
  const accept = (span: RecordSpan, isSure: boolean): boolean => {
    const isFound = isRecord(line, span, isSure)
    if (isFound) found.push(span)
    return isFound
  }
  let done = 0
  for (let at = line.indexOf(OPEN); at >= 0; ) {
    // Behind nothing but what file systems and editors leave, a record begins whatever it looks like.
    const isSure = isPadding(line, done, at)
    const { end, isWhole, inner } = scan(line, at)
    if (isWhole) {
      if (accept({ from: at, to: end }, isSure)) done = end
      at = line.indexOf(OPEN, end)
      continue
    }
    if (inner !== undefined && isPadding(line, inner.to, end) && accept(inner, false)) {
      done = inner.to
      at = line.indexOf(OPEN, inner.to)
      continue
    }
    const next = end < line.length ? line.lastIndexOf(OPEN, end) : -1
    at = next > at ? next : line.indexOf(OPEN, Math.max(end, at + 1))
  }
  return found
}

/** Whether nobody's words are there: NUL, white space, or the mark at the beginning of a file (EF BB BF). */
function isPadding(line: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = line[at]!
    if (byte > SPACE && byte !== 0xef && byte !== 0xbb && byte !== 0xbf) return false
  }
  return true
}

/**
 * Whether an object is a line of Claude Code's. What is only found within a torn one must have what Claude Code writes
 * into its own lines, and not into the messages and results that it wraps.
 */
function isRecord(line: Uint8Array, { from, to }: RecordSpan, isSure: boolean): boolean {
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder().decode(line.subarray(from, to)))
  } catch {
    return false
  }
  return isObject(value) && (isSure || looksWritten(value))
}

const looksWritten = (value: JsonObject): boolean =>
  stringOf(value["type"]) !== undefined &&
  (stringOf(value["sessionId"]) !== undefined ||
    stringOf(value["session_id"]) !== undefined ||
    stringOf(value["leafUuid"]) !== undefined ||
    "parentUuid" in value)

interface Scanned {
  /** Behind the object, or where its text is no JSON any more. */
  readonly end: number
  readonly isWhole: boolean
  /** The object within it that was closed last. */
  readonly inner: RecordSpan | undefined
}

/** What may come next: a value, a name, what stands behind either, or the end of a list or an object at once. */
type Wanted = "value" | "value or end" | "name" | "name or end" | "colon" | "comma or end"

/** Follows an object's text as far as it is JSON. */
function scan(line: Uint8Array, from: number): Scanned {
  const opened = [from]
  let wanted: Wanted = "name or end"
  let inner: RecordSpan | undefined
  let at = from + 1
  const stop = (end: number): Scanned => ({ end, isWhole: false, inner })
  while (at < line.length) {
    const byte = line[at]!
    if (byte === SPACE || byte === TAB || byte === CR) {
      at++
      continue
    }
    const isValue: boolean = wanted === "value" || wanted === "value or end"
    const isName: boolean = wanted === "name" || wanted === "name or end"
    if (byte === QUOTE && (isValue || isName)) {
      const end = stringEnd(line, at)
      if (end < 0) return stop(-end)
      at = end
      wanted = isName ? "colon" : "comma or end"
      continue
    }
    if (byte === OPEN || byte === OPEN_LIST) {
      if (!isValue) return stop(at)
      opened.push(at)
      wanted = byte === OPEN ? "name or end" : "value or end"
    } else if (byte === CLOSE || byte === CLOSE_LIST) {
      const begun = opened.at(-1)!
      const isOwn = line[begun] === (byte === CLOSE ? OPEN : OPEN_LIST)
      const mayEnd = wanted === "comma or end" || wanted === (byte === CLOSE ? "name or end" : "value or end")
      if (!isOwn || !mayEnd) return stop(at)
      opened.pop()
      if (opened.length === 0) return { end: at + 1, isWhole: true, inner }
      if (byte === CLOSE) inner = { from: begun, to: at + 1 }
      wanted = "comma or end"
    } else if (byte === COLON) {
      if (wanted !== "colon") return stop(at)
      wanted = "value"
    } else if (byte === COMMA) {
      if (wanted !== "comma or end") return stop(at)
      wanted = line[opened.at(-1)!] === OPEN ? "name" : "value"
    } else {
      if (!isValue || !isOfWord(byte)) return stop(at)
      while (at < line.length && isOfWord(line[at]!)) at++
      wanted = "comma or end"
      continue
    }
    at++
  }
  return stop(line.length)
}

/** Numbers, `true`, `false` and `null`; JSON.parse tells which of them are none. */
const isOfWord = (byte: number): boolean =>
  (byte >= 0x61 && byte <= 0x7a) ||
  (byte >= 0x30 && byte <= 0x39) ||
  byte === 0x2b ||
  byte === 0x2d ||
  byte === 0x2e ||
  byte === 0x45

/** Behind the string's closing mark; negative: where it stops being one. */
function stringEnd(line: Uint8Array, from: number): number {
  for (let at = from + 1; at < line.length; at++) {
    const byte = line[at]!
    if (byte === QUOTE) return at + 1
    if (byte < SPACE) return -at
    if (byte !== BACKSLASH) continue
    at++
    if (at < line.length && !ESCAPED.has(line[at]!)) return -at
  }
  return -line.length
}

/** What may stand behind a backslash. */
const ESCAPED: ReadonlySet<number> = new Set(new TextEncoder().encode('"\\/bfnrtu'))
