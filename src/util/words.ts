/**
 * Text → the words it is found by. Names in code count whole and in their parts: `getUserName`, `get_user_name` and
 * `get-user-name` are all `get`, `user`, `name` and `getusername`. Scripts without spaces are cut into pairs of
 * characters. The same function reads what is indexed and what is asked. Pure.
 */
import { stem } from "./stem.ts"

/** Letters and digits, with what joins them within a name. */
const NAME = /[\p{L}\p{M}\p{N}_]+(?:[.-][\p{L}\p{M}\p{N}_]+)*/gu
const ASCII_NAME = /[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*/g
/** What may be a letter beyond ASCII: not the dashes, quotes, arrows and boxes that programs print. */
const OTHER_LETTERS = /[^\x00-\x7f\u2010-\u205e\u2190-\u245f\u2500-\u2775\u2794-\u2bff]/
const PIECES = /[\p{L}\p{M}\p{N}]+/gu
/** The same in ASCII: a short process spends a millisecond on making the other. */
const ASCII_PIECES = /[A-Za-z0-9]+/g
const HAS_HUMP = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
const ASCII = /^[\x00-\x7f]*$/
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]+/gu
/** Random characters, as in ids: their humps mean nothing. */
const RANDOM = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{16,}$/
/** Longer names are data: keys, images, hashes of several kinds. */
const LONGEST = 64

/** Whether it is one letter of a script without spaces. */
export const isHalfPair = (word: string): boolean =>
  word.length <= 2 && word > "\u0dff" && /^\p{L}$/u.test(word) && word.replace(UNSPACED, "") === ""

/** A name of the text: the words it gives, and where it stands. */
export interface Name {
  /** Stems, the whole name's last. */
  readonly words: readonly string[]
  readonly at: number
  readonly length: number
}

/** Every name of `text` in order. */
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

/** The name that stands at `at`; undefined when it is too long for one, or none. */
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
 * How far the name goes from `at` on in one direction: the same as the patterns say, without looking at what is around
 * it. undefined where they have to: beyond ASCII, and in what is too long.
 */
function edgeOf(text: string, at: number, step: 1 | -1): number | undefined {
  if (!NAME_UNITS.includes(text[at]!)) return undefined
  for (let far = 1; far <= LONGEST; far++) {
    const next = text[at + far * step] ?? ""
    const beyond = next === "." || next === "-" ? (text[at + (far + 1) * step] ?? "") : ""
    if (next > "\x7f" || beyond > "\x7f") return undefined
    // A joint is one only before a letter.
    if (next === "" || !NAME_UNITS.includes(beyond === "" ? next : beyond)) return at + (far - 1) * step
  }
  return undefined
}

/** Not a function: it would be called for each letter around each word, and the engine would compile it. */
const NAME_UNITS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/** Each word of `text` once. */
export function wordSet(text: string): Set<string> {
  const found = new Set<string>()
  for (const name of new Set(text.match(OTHER_LETTERS.test(text) ? NAME : ASCII_NAME))) {
    for (const word of remembered(name)) found.add(word)
  }
  return found
}

/** Sessions say the same names again and again. */
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

/** Letters in lower case and digits: no hump and no joint, as most names are. */
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
