/** Finds text in a transcript's line: in its JSON strings, however they are escaped, and in JSON within those. Pure. */
import { parseJson } from "../base/json-files.ts"
import { isObject, type JsonObject, objectOf } from "./json.ts"

/** First byte, and the one after the last. */
export type ByteSpan = readonly [from: number, to: number]

export type LineFinder = (line: Uint8Array) => ByteSpan[]

/** Finds pairs of indices in a text, in UTF-16 units. */
type Search = (text: string) => Iterable<ByteSpan>

/** Finds all places of `text`, even where it was encoded as JSON once or twice more. */
export function textFinder(text: string): LineFinder {
  const forms = [...new Set([text, ...escaped(text), ...escaped(text).flatMap(escaped)])]
  const gate = longestPlain(text)
  return (line) => {
    const bytes = Buffer.from(line.buffer, line.byteOffset, line.length)
    // Hardly anyone escapes plain letters.
    if (gate !== "" && !bytes.includes(gate) && !/\\u00[2-7]/i.test(bytes.toString("latin1"))) return []
    return spansIn(bytes, (decoded) => forms.flatMap((form) => [...placesOf(form, decoded)]))
  }
}

/** Finds all places of a pattern in the decoded strings. */
export function patternFinder(pattern: RegExp): LineFinder {
  const global = new RegExp(pattern.source, [...new Set(`${pattern.flags}g`)].join(""))
  return spanFinder((decoded) =>
    [...decoded.matchAll(global)]
      .filter(([found]) => found !== "")
      .map(({ 0: found, index }) => [index, index + found.length] as const),
  )
}

/** Finds whatever `search` finds in a decoded string. */
export const spanFinder =
  (search: Search): LineFinder =>
  (line) =>
    spansIn(Buffer.from(line.buffer, line.byteOffset, line.length), search)

/** The text encoded as JSON, with letters beyond ASCII as they are and escaped. */
function escaped(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  const ascii = json.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
  return [json, ascii]
}

function longestPlain(text: string): string {
  const runs = text.match(/[\w .,:;@#%&()+=-]+/g) ?? []
  return runs.reduce((longest, run) => (run.length > longest.length ? run : longest), "")
}

function* placesOf(text: string, within: string): Generator<ByteSpan> {
  for (let at = within.indexOf(text); at >= 0; at = within.indexOf(text, at + text.length)) {
    yield [at, at + text.length]
  }
}

function spansIn(bytes: Buffer, search: Search): ByteSpan[] {
  const found: ByteSpan[] = []
  const look = (from: number, to: number, isJson: boolean): void => {
    // Most strings do not contain it, and locating each letter is expensive.
    const text = bytes.toString("utf8", from, to)
    const plain = isJson && text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text
    if ([...search(plain)].length === 0) return
    const decoded = decode(bytes, from, to, isJson)
    for (const [start, end] of search(decoded.text)) {
      found.push([decoded.starts[start]!, decoded.ends[end - 1]!])
    }
  }
  if (parseJson(bytes.toString("utf8")) === undefined) look(0, bytes.length, false)
  else {
    const raw = bytes.toString("latin1")
    for (const { 0: token, index } of raw.matchAll(/"(?:[^"\\]|\\.)*"/gs)) {
      look(index + 1, index + token.length - 1, true)
    }
  }
  return merged(found)
}

interface Decoded {
  readonly text: string
  /** For each UTF-16 unit of the text, the bytes that it comes from. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

const SIMPLE: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

function decode(bytes: Buffer, from: number, to: number, isJson: boolean): Decoded {
  let text = ""
  const starts: number[] = []
  const ends: number[] = []
  for (let at = from; at < to; ) {
    const [letters, length] = isJson && bytes[at] === 0x5c ? unescaped(bytes, at) : character(bytes, at, to)
    text += letters
    for (let n = 0; n < letters.length; n++) {
      starts.push(at)
      ends.push(at + length)
    }
    at += length
  }
  return { text, starts, ends }
}

function unescaped(bytes: Buffer, at: number): [string, number] {
  const letter = String.fromCharCode(bytes[at + 1]!)
  if (letter !== "u") return [SIMPLE[letter] ?? letter, 2]
  return [String.fromCharCode(Number.parseInt(bytes.toString("latin1", at + 2, at + 6), 16)), 6]
}

/** One character of UTF-8. An invalid byte counts as one. */
function character(bytes: Buffer, at: number, to: number): [string, number] {
  const first = bytes[at]!
  if (first < 0x80) return [String.fromCharCode(first), 1]
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1
  const whole = at + length <= to ? bytes.toString("utf8", at, at + length) : ""
  // A single U+FFFD was written as such. Invalid bytes decode to several, or to one and what follows.
  const isOne = whole === "\ufffd" || (whole !== "" && !whole.includes("\ufffd"))
  return isOne ? [whole, length] : ["\ufffd", 1]
}

/** Sorts spans and merges those that touch or overlap. */
function merged(spans: readonly ByteSpan[]): ByteSpan[] {
  const out: [number, number][] = []
  for (const [from, to] of [...spans].sort((a, b) => a[0] - b[0])) {
    const last = out.at(-1)
    if (last !== undefined && from <= last[1]) last[1] = Math.max(last[1], to)
    else out.push([from, to])
  }
  return out
}

/**
 * The fields on which a line's meaning depends: kinds, ids and times set by Claude Code, and the names of all fields.
 * undefined if the line is not a record of Claude Code.
 */
export function skeleton(line: Uint8Array): string | undefined {
  const record = parseJson(new TextDecoder().decode(line))
  if (!isObject(record)) return undefined
  const message = objectOf(record["message"])
  const content = Array.isArray(message["content"]) ? message["content"].filter(isObject) : []
  return JSON.stringify([
    part(record, ["type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp"]),
    part(message, ["type", "role", "id"]),
    content.map((block) => part(block, ["type", "id", "tool_use_id"])),
  ])
}

const part = (fields: JsonObject, names: readonly string[]): unknown => [
  Object.keys(fields),
  names.map((name) => fields[name] ?? null),
]
