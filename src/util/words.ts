/**
 * Splits text into the words it is found by. Names in code count both whole and in parts: `getUserName`,
 * `get_user_name` and `get-user-name` all give `get`, `user`, `name` and `getusername`. Scripts without spaces are cut
 * into pairs of characters. The same function is used for indexing and for queries. Pure.
 */
import { stem } from "./stem.ts"

/** Letters and digits, and the characters that join them within a name. */
const NAME = /[\p{L}\p{M}\p{N}_]+(?:[.-][\p{L}\p{M}\p{N}_]+)*/gu
const ASCII_NAME = /[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*/g
/** What may be a non-ASCII letter, excluding the dashes, quotes, arrows and boxes that programs print. */
const OTHER_LETTERS = /[^\x00-\x7f\u2010-\u205e\u2190-\u245f\u2500-\u2775\u2794-\u2bff]/
const PIECES = /[\p{L}\p{M}\p{N}]+/gu
/** The same for ASCII: compiling the other costs a short process a millisecond. */
const ASCII_PIECES = /[A-Za-z0-9]+/g
const HAS_HUMP = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
const ASCII = /^[\x00-\x7f]*$/
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu
/** Random characters, as in ids; their capitals do not separate words. */
const RANDOM = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{16,}$/
/** Longer names are data: keys, images, hashes. */
const LONGEST = 64

/** Whether it is a single letter of a script without spaces. */
export const isHalfPair = (word: string): boolean =>
  word.length <= 2 && word > "\u0dff" && /^\p{L}$/u.test(word) && word.replace(UNSPACED, "") === ""

/** A name in the text: the words it gives, and where it is. */
export interface Name {
  /** Stems; the one of the whole name comes last. */
  readonly words: readonly string[]
  readonly at: number
  readonly length: number
}

/** Every name in `text`, in order. */
export function namesIn(text: string): Name[] {
  if (isOneWord(text) && text.length <= LONGEST) {
    return text === "" ? [] : [{ words: wordsOf(text), at: 0, length: text.length }]
  }
  const names: Name[] = []
  for (const { 0: name, index: at } of text.matchAll(ASCII.test(text) ? ASCII_NAME : NAME)) {
    if (name.length > LONGEST && ASCII.test(name)) continue
    const words = wordsOf(name)
    if (words.length > 0) names.push({ words, at, length: name.length })
  }
  return names
}

/** The name at position `at`; undefined when there is none or it is too long. */
export function nameAround(text: string, at: number): Name | undefined {
  const [start, end] = [edgeOf(text, at, -1), edgeOf(text, at, 1)]
  if (start !== undefined && end !== undefined) {
    const words = remembered(text.slice(start, end + 1))
    return words.length > 0 ? { words, at: start, length: end + 1 - start } : undefined
  }
  const from = Math.max(0, at - LONGEST)
  const around = text.slice(from, at + LONGEST + 1)
  for (const { words, at: start, length } of namesIn(around)) {
    if (from + start > at) return undefined
    if (from + start + length > at) return { words, at: from + start, length }
  }
  return undefined
}

/**
 * How far the name extends from `at` in one direction. Gives the same result as the patterns, without running them on
 * the surrounding text. Undefined where they are needed: for non-ASCII text and very long names.
 */
function edgeOf(text: string, at: number, step: 1 | -1): number | undefined {
  if (!NAME_UNITS.includes(text[at]!)) return undefined
  for (let far = 1; far <= LONGEST; far++) {
    const next = text[at + far * step] ?? ""
    const beyond = next === "." || next === "-" ? (text[at + (far + 1) * step] ?? "") : ""
    if (next > "\x7f" || beyond > "\x7f") return undefined
    // A `.` or `-` only joins when a letter follows.
    if (next === "" || !NAME_UNITS.includes(beyond === "" ? next : beyond)) return at + (far - 1) * step
  }
  return undefined
}

/**
 * A string instead of a function, which would be called for each letter around each word, so the engine would compile
 * it.
 */
const NAME_UNITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/** The set of words in `text`. */
export function wordSet(text: string): Set<string> {
  const found = new Set<string>()
  for (const name of new Set(text.match(OTHER_LETTERS.test(text) ? NAME : ASCII_NAME))) {
    for (const word of remembered(name)) found.add(word)
  }
  return found
}

/** A cache: sessions repeat the same names again and again. */
const memory = new Map<string, readonly string[]>()
const REMEMBERED = 20_000

function remembered(name: string): readonly string[] {
  const known = memory.get(name)
  if (known !== undefined) return known
  const words = name.length > LONGEST && ASCII.test(name) ? [] : wordsOf(name)
  if (memory.size >= REMEMBERED) memory.clear()
  memory.set(name, words)
  return words
}

function wordsOf(name: string): string[] {
  if (isOneWord(name)) return [stem(name)]
  const words: string[] = []
  if (!ASCII.test(name)) return otherScript(name)
  const pieces = name.match(ASCII_PIECES) ?? []
  for (const piece of pieces) {
    if (!HAS_HUMP.test(piece) || RANDOM.test(piece)) {
      words.push(stem(piece.toLowerCase()))
      continue
    }
    for (const hump of humps(piece)) words.push(stem(hump.toLowerCase()))
  }
  if (words.length > 1) words.push(pieces.join("").toLowerCase())
  return words
}

/** Whether it has only lower-case ASCII letters and digits, so nothing in it separates words. Most names are such. */
function isOneWord(name: string): boolean {
  for (let n = 0; n < name.length; n++) {
    const unit = name.charCodeAt(n)
    if (!((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39))) return false
  }
  return true
}

/** `parseJSONLine2` → parse, JSON, Line2. */
function humps(piece: string): string[] {
  const found = piece.match(/[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+/g)
  return found ?? [piece]
}

function otherScript(name: string): string[] {
  const words: string[] = []
  const folded = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().normalize("NFC")
  const spaced = folded.replace(UNSPACED, (run) => {
    const points = [...run]
    if (points.length === 1) words.push(run)
    for (let n = 0; n + 1 < points.length; n++) words.push(points[n]! + points[n + 1]!)
    return " "
  })
  for (const [piece] of spaced.matchAll(PIECES)) if (piece.length <= LONGEST) words.push(stem(piece))
  return words
}
