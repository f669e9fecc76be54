/**
 * Values that were recognised once, wherever else they occur in a text: as they are, and as other formats write them.
 * Loaded only when something was recognised. Pure.
 */
import { fill, merged, withinStrings } from "./fill.ts"
import { type JsonString, type Span, stringsOf, structure } from "./lines.ts"
import { hasFewer } from "./variety.ts"

const SHORTEST = 8
const LONGEST = 512
/** Different characters: with fewer, a value is a pattern or a stand-in. */
const DIFFERENT = 6

/** Words, which may be any others': `correct-horse`. */
const words = /^[A-Za-z]+(?:[-_. /:][A-Za-z]+)*$/
/** Numbers, dates, versions, addresses with a port. */
const numbers = /^[\d.:,/_-]+$|^[a-z.-]+:\d+$/i
const path = /^(?:\/|\.{1,2}\/|~\/|[A-Za-z]:\\)/
/** Claude Code's own names of records, by which others find them. */
const name =
  /^(?:[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}|(?:msg|req|toolu|srvtoolu|agent)[_-]\w+)$/i
/** What a string cannot hold, and what was filled already. */
const broken = /(?<!\\)"|[\n*]/

/**
 * Whether a value is so long and varied that it means the same wherever it occurs.
 *
 * @param value one character per byte
 */
export const isMemorable = (value: string): boolean =>
  value.length >= SHORTEST &&
  value.length <= LONGEST &&
  !hasFewer(DIFFERENT, value) &&
  ![words, numbers, path, name, broken].some((regex) => regex.test(value))

/** A line of a private key. Nobody encodes one by itself, except where an address or a string needs it. */
const keyLine =
  /^(?=[^/+]*[/+])(?=.*[A-Z])(?=.*[a-z])(?:[A-Za-z0-9+/]{64}|[A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{76})$/

export const isKeyLine = (value: string): boolean => keyLine.test(value)

/** Escapes within escapes, as in JSON within JSON. */
const DEPTH = 3

/** Every way of writing a value, itself first. One character per byte. */
export function formsOf(value: string): string[] {
  // There are dozens in a key, and each form takes time in every text.
  if (isKeyLine(value)) {
    const coded = value.replaceAll("/", "%2F").replaceAll("+", "%2B")
    return [...new Set([value, value.replaceAll("/", "\\/"), value.replaceAll("/", "\\\\/"), coded])]
  }
  const forms = new Set([value])
  let plain = value
  for (let n = 0; n < DEPTH && plain.includes("\\"); n++) plain = plain.replace(/\\(["\\/])/g, "$1")
  for (let n = 0, form = plain; n <= DEPTH; n++) {
    forms.add(form)
    form = form.replace(/["\\]/g, "\\$&")
  }
  forms.add(plain.replaceAll("/", "\\/"))
  const bytes = Buffer.from(plain, "latin1")
  forms.add(percent(bytes, /[A-Za-z0-9_.~-]/))
  forms.add(percent(bytes, /[A-Za-z0-9_.~!*'();:@&=+$,/?#-]/))
  for (const encoding of ["base64", "base64url"] as const)
    for (let before = 0; before < 3; before++) forms.add(within(bytes, before, encoding))
  return [...forms].filter((form) => form === value || isMemorable(form))
}

const percent = (bytes: Uint8Array, kept: RegExp): string =>
  [...bytes]
    .map((byte) => String.fromCharCode(byte))
    .map((one) =>
      kept.test(one) ? one : `%${one.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
    )
    .join("")

/** The characters of base64 that only these bytes decide, when `before` bytes of a group precede them. */
function within(bytes: Uint8Array, before: number, encoding: "base64" | "base64url"): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(encoding)
    .replace(/=+$/, "")
  const rest = (before + bytes.length) % 3
  return text.slice(before === 0 ? 0 : before + 1, rest === 0 ? undefined : -1)
}

/** Values in the order in which they were recognised, each with its forms. */
export type Known = ReadonlyMap<string, readonly string[]>

/**
 * Where a value occurs in lines of a transcript, except in fields by which records are told apart.
 *
 * @param text made from `bytes`, one character per byte
 */
export function knownPlaces(bytes: Buffer, text: string, forms: readonly string[]): Span[] {
  const places = placesOf(bytes, forms)
  return places.length === 0 ? places : withinStrings(text, places, freeStrings)
}

function placesOf(bytes: Buffer, forms: readonly string[]): Span[] {
  const found: Span[] = []
  for (const form of forms) {
    for (let at = bytes.indexOf(form, 0, "latin1"); at >= 0; at = bytes.indexOf(form, at + 1, "latin1"))
      found.push({ start: at, end: at + form.length })
  }
  return merged(found)
}

function* freeStrings(text: string, start: number, end: number): Generator<JsonString> {
  const isStructure = structure()
  let key = ""
  for (const one of stringsOf(text, start, end)) {
    if (one.isKey) key = text.slice(one.start, one.end)
    if (one.isKey || !isStructure.test(key)) yield one
  }
}

/** For text outside transcripts; the same if it has none of them. */
export function withoutKnown(text: string, known: Known): string {
  const bytes = Buffer.from(text)
  const places = merged([...known.values()].flatMap((forms) => placesOf(bytes, forms)))
  return places.length === 0 ? text : Buffer.from(fill(bytes, places)).toString()
}
