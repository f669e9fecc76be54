/**
 * Finds secrets in a text with one character per byte of UTF-8. Pure.
 *
 * Each kind has an anchor that a fast search finds (one regular expression, or `indexOf`); only there is it examined
 * closely.
 */
import { valueAt, wordGate } from "./assignment.ts"
import { findEncoded } from "./base64.ts"
import { type AddSpan, findKeys } from "./blocks.ts"
import { tick } from "./clock.ts"
import { echoedBefore, introducedAt, introductions } from "./options.ts"
import {
  BEGINNINGS,
  GATES,
  isAlphanumeric,
  LITERALS,
  plainEnd,
  SHORT_WORDS,
  separatedEnd,
  WORDS,
} from "./rules.ts"
import { keyWords, passwordWords, spokenAt } from "./speech.ts"
import type { Value } from "./text.ts"
import { urlSecretAt } from "./urls.ts"
import { hasFewer } from "./value.ts"

let gates: { separated: RegExp; plain: RegExp; words: RegExp } | undefined

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
  gates ??= { separated: GATES.separated(), plain: GATES.plain(), words: wordGate() }
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
}

const indexIn = (bytes: Buffer, needle: string, from = 0): number => bytes.indexOf(needle, from, "latin1")

function isExample(value: string): boolean {
  if (EXAMPLES.some((one) => value.includes(one))) return true
  // A key that ends in one repeated letter: `ghp_xxxxxxxxxxxxxxxxxxxx`.
  return hasFewer(4, value.slice(-16)) && !value.includes("*")
}

const LONGEST_WORD = 28
const MANY = 500
let endings: Set<string> | undefined

/** The last three characters of each word, and the words of two characters. */
const endingsOf = (): string[] => [
  ...WORDS.trim()
    .split(" ")
    .map((word) => word.slice(-3)),
  ...SHORT_WORDS.trim().split(" "),
]

function findTokens(bytes: Buffer, text: string, add: AddSpan): void {
  const { separated, plain } = gates!
  separated.lastIndex = 0
  let candidates = 0
  while (separated.test(text)) {
    tick()
    const at = separated.lastIndex - 1
    const ending = text.slice(at - 3, at)
    const separator = text[at]!
    // In a long text the set pays off; in a hook, building it costs more than it saves.
    if (++candidates === MANY) endings ??= new Set(endingsOf())
    const isKnown =
      (endings === undefined
        ? WORDS.includes(`${ending} `) || SHORT_WORDS.includes(`${ending.slice(1)} `)
        : endings.has(ending) || endings.has(ending.slice(1))) ||
      // Formats whose word is itself random.
      separator === "~" ||
      (separator === "." && text.charCodeAt(at - 14) > 0x2f) ||
      (separator === ":" && text.startsWith("AA", at + 1))
    if (!isKnown) continue
    const start = wordBefore(text, at)
    const end = start === at ? -1 : separatedEnd(text, text.slice(start, at), at)
    // Without a digit or capital it is a name: random text of this length has one.
    if (end < 0 || /^[a-z_.:-]+$/.test(text.slice(start, end))) continue
    add(start, end)
    separated.lastIndex = end
  }
  plain.lastIndex = 0
  while (plain.test(text)) {
    tick()
    const start = plain.lastIndex - 2
    const isKnown =
      BEGINNINGS.includes(text.slice(start, start + 3)) || "0123456789abcdef".includes(text[start + 2]!)
    const end = isKnown && isBeginning(text, start) ? plainEnd(text, start) : -1
    if (end < 0) continue
    add(start, end)
    plain.lastIndex = end
  }
  for (const literal of Object.keys(LITERALS)) {
    for (let at = indexIn(bytes, literal); at >= 0; at = indexIn(bytes, literal, at + 1)) {
      tick()
      if (!isBeginning(text, at)) continue
      const end = plainEnd(text, at, literal)
      if (end >= 0) add(at, end)
      at = (end < 0 ? pastFailure(text, at, literal) : end) - 1
    }
  }
}

/**
 * Where to continue after a literal at `at` that begins no token. Any number of characters may follow `eyJ`, and what
 * must follow them is the same for every `eyJ` in the run, so the others begin no token either.
 */
function pastFailure(text: string, at: number, literal: string): number {
  if (literal !== "eyJ") return at + 1
  const run = /[\w-]*/y
  run.lastIndex = at
  run.test(text)
  return run.lastIndex
}

/** The gates take `n`, `r` and `t` before a token for the end of an escape, which they usually are. */
const isBeginning = (text: string, start: number): boolean =>
  !isAlphanumeric(text.charCodeAt(start - 1)) || text[start - 2] === "\\"

function wordBefore(text: string, at: number): number {
  let start = at
  while (at - start < LONGEST_WORD && isAlphanumeric(text.charCodeAt(start - 1))) start--
  return afterEscape(text, start)
}

/** `\nghp` is a line break and `ghp`; likewise in URL and Unicode encoding. */
function afterEscape(text: string, start: number): number {
  const before = text[start - 1]
  if (before === "\\") {
    if (text[start] === "u") return start + 5
    return "nrtbf".includes(text[start] ?? "-") ? start + 1 : start
  }
  return before === "%" ? start + 2 : start
}

function findValues(bytes: Buffer, text: string, add: AddSpan): void {
  const { words } = gates!
  words.lastIndex = 0
  for (let match = words.exec(text); match !== null; match = words.exec(text)) {
    tick()
    const value = valueAt(text, match.index)
    if (value !== undefined) add(value.start, value.end)
    // What follows may be a name itself: `"name": "PASSWORD", "value": …`.
    words.lastIndex = value === undefined ? match.index + 3 : value.end
  }
  const each = (needle: string, valueBehind: (at: number) => Value | undefined): void => {
    for (let at = indexIn(bytes, needle); at >= 0; at = indexIn(bytes, needle, at + needle.length)) {
      tick()
      const value = valueBehind(at + needle.length)
      if (value !== undefined) add(value.start, value.end)
    }
  }
  for (const one of introductions()) each(one, (at) => introducedAt(text, one, at))
  for (const one of ["--password-stdin", "sudo -S"]) each(one, (at) => echoedBefore(text, at - one.length))
  for (const one of passwordWords()) each(one, (at) => spokenAt(text, at, false))
  for (const one of keyWords()) each(one, (at) => spokenAt(text, at, true))
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
