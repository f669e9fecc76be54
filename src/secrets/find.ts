/**
 * Finds secrets in a text with one character per byte of UTF-8. Pure.
 *
 * Each kind has an anchor that a fast search finds (one regular expression, or `indexOf`); only there is it examined
 * closely.
 */
import { findEncoded } from "./base64.ts"
import { type AddSpan, findKeys } from "./blocks.ts"
import { tick } from "./clock.ts"
import { otherKeys } from "./rules.ts"
import { findTokens } from "./tokens.ts"
import { hasFewer, INTRODUCTIONS, introducedAt, urlSecretAt, valueAt, wordGate } from "./words.ts"

let words: RegExp | undefined

/** In values from documentation, which are nobody's secrets. AWS marks all of its own with the word. */
const EXAMPLES = [
  "EXAMPLE",
  "sk_test_4eC39HqLyjWDarjtT1zdp7dc",
  "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
]

/** `lines`: lines of a transcript, each independent of the others. */
export type TextKind = "lines" | "text"

/**
 * Calls `add` with the start and end of each secret; these may overlap.
 *
 * @param bytes what `text` was made from: searching bytes is five times as fast
 */
export function findSecrets(bytes: Buffer, text: string, kind: TextKind, add: AddSpan): void {
  const isLines = kind === "lines"
  findPlainly(bytes, text, isLines, add)
  findEncoded(text, isLines, ({ start, end, decoded, isWrapped }) => {
    findPlainly(Buffer.from(decoded, "latin1"), decoded, false, (from, to) => {
      if (isWrapped) add(start, end)
      else add(start + Math.floor(from / 3) * 4, Math.min(end, start + Math.ceil((to * 4) / 3)))
    })
  })
  if (bytes.indexOf(0x25) >= 0) findPercent(text, add)
}

/** Finds secrets that are not encoded. */
function findPlainly(bytes: Buffer, text: string, isLines: boolean, add: AddSpan): void {
  const found: AddSpan = (start, end) => {
    if (!isExample(text.slice(start, end))) add(start, end)
  }
  findTokens(bytes, text, found)
  findValues(bytes, text, found)
  for (let at = indexIn(bytes, "://"); at >= 0; at = indexIn(bytes, "://", at + 3)) {
    tick()
    const value = urlSecretAt(text, at)
    if (value !== undefined) found(value.start, value.end)
  }
  if (indexIn(bytes, "PRIVATE KEY") >= 0) findKeys(text, isLines, add)
  if (indexIn(bytes, "Private-Lines:") >= 0 || indexIn(bytes, "kty") >= 0)
    otherKeys().findOtherKeys(bytes, text, add)
}

const indexIn = (bytes: Buffer, needle: string, from = 0): number => bytes.indexOf(needle, from, "latin1")

function isExample(value: string): boolean {
  if (EXAMPLES.some((one) => value.includes(one))) return true
  // A key that ends in one repeated letter: `ghp_xxxxxxxxxxxxxxxxxxxx`.
  return hasFewer(4, value.slice(-16)) && !value.includes("*")
}

function findValues(bytes: Buffer, text: string, add: AddSpan): void {
  words ??= wordGate()
  words.lastIndex = 0
  for (let match = words.exec(text); match !== null; match = words.exec(text)) {
    tick()
    const value = valueAt(text, match.index, words.lastIndex)
    if (value === undefined) continue
    add(value.start, value.end)
    words.lastIndex = value.end
  }
  for (const one of Object.keys(INTRODUCTIONS)) {
    for (let at = indexIn(bytes, one); at >= 0; at = indexIn(bytes, one, at + one.length)) {
      tick()
      const value = introducedAt(text, one, at + one.length)
      if (value !== undefined) add(value.start, value.end)
    }
  }
}

const HEX = "0123456789ABCDEFabcdef"
const encodedAt = (): RegExp => /(?:%[0-9A-Fa-f]{2}|[\w.~!*()+/:@&=?,;$#-])+/y
/** No URL that anyone writes is longer. */
const LONGEST_BEFORE = 2048

/** Finds secrets of which a URL encodes a part, for instance as `%3D`. */
function findPercent(text: string, add: AddSpan): void {
  const encoded = encodedAt()
  for (let at = text.indexOf("%"); at >= 0; at = text.indexOf("%", at + 1)) {
    tick()
    if (!HEX.includes(text[at + 1] ?? " ") || !HEX.includes(text[at + 2] ?? " ")) continue
    let start = at
    while (start > 0 && at - start < LONGEST_BEFORE && /[\w.~!*()+/:@&=?,;$#-]/.test(text[start - 1]!))
      start--
    encoded.lastIndex = start
    if (!encoded.test(text)) continue
    const { decoded, places } = decodePercent(text, start, encoded.lastIndex)
    findPlainly(Buffer.from(decoded, "latin1"), decoded, false, (from, to) => add(places[from]!, places[to]!))
    at = encoded.lastIndex - 1
  }
}

/** @returns the decoded text, and where each of its characters, and its end, was in `text` */
function decodePercent(text: string, start: number, end: number): { decoded: string; places: number[] } {
  const places: number[] = []
  let decoded = ""
  for (let at = start; at < end; ) {
    places.push(at)
    if (text[at] === "%") {
      decoded += String.fromCharCode(Number.parseInt(text.slice(at + 1, at + 3), 16))
      at += 3
    } else decoded += text[at++]
  }
  places.push(end)
  return { decoded, places }
}
