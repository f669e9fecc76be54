/**
 * Splits text into the words it is found by. Names in code count both whole and in parts: `getUserName`,
 * `get_user_name` and `get-user-name` all give `get`, `user`, `name` and `getusername`. Scripts without spaces are cut
 * into pairs of characters. The same function is used for indexing and for queries. Pure.
 */

/** Letters and digits, and the characters that join them within a name. */
const NAME = /[\p{L}\p{M}\p{N}_]+(?:[.-][\p{L}\p{M}\p{N}_]+)*/gu
const ASCII_NAME = /[A-Za-z0-9_]+(?:[.-][A-Za-z0-9_]+)*/g
/** What may be a non-ASCII letter, excluding the dashes, quotes, arrows and boxes that programs print. */
const OTHER_LETTERS = /[^\x00-\x7f\u2010-\u205e\u2190-\u245f\u2500-\u2775\u2794-\u2bff]/
const PIECES = /[\p{L}\p{M}\p{N}]+/gu
const HAS_HUMP = /[a-z0-9][A-Z]|[A-Z]{2}[a-z]/
const ASCII = /^[\x00-\x7f]*$/
/** Scripts without spaces. `ー` lengthens a vowel in two of them and counts as neither. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]+/gu
/** Random characters, as in ids; their capitals do not separate words. */
const RANDOM = /^(?=.*\d)(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9]{16,}$/
/** Longer words are data: keys, images, hashes. */
export const LONGEST = 64
/** A longer name may consist of words, such as a class with its packages; beyond this, it is data as well. */
const LONGEST_OF_PARTS = 256

/** Whether it is a single letter of a script without spaces. What contains it has a word that begins with it. */
export const isHalfPair = (word: string): boolean =>
  word.length <= 2 && word > "\u0dff" && /^\p{L}$/u.test(word) && word.replace(UNSPACED, "") === ""

/** A name in the text: the words it gives, and where it is. */
export interface FoundName {
  /** Stems; the one of the whole name comes last. */
  readonly words: readonly string[]
  readonly at: number
  readonly length: number
}

/** Every name in `text`, in order. */
export function namesIn(text: string): FoundName[] {
  if (isOneWord(text) && text.length <= LONGEST) {
    return text === "" ? [] : [{ words: wordsOf(text), at: 0, length: text.length }]
  }
  const names: FoundName[] = []
  for (const { 0: name, index: at } of text.matchAll(ASCII.test(text) ? ASCII_NAME : NAME)) {
    if (name.length > LONGEST && ASCII.test(name)) {
      for (const part of partsOf(name)) names.push({ ...part, at: at + part.at })
      continue
    }
    const words = wordsOf(name)
    if (words.length > 0) names.push({ words, at, length: name.length })
  }
  return names
}

/** The words in a long ASCII name, each as a name of its own. What is not plainly a word is left out. */
function partsOf(name: string): FoundName[] {
  if (name.length > LONGEST_OF_PARTS) return []
  const parts = name.matchAll(/(?<![A-Za-z0-9])[A-Za-z]{2,60}\d{0,4}(?![A-Za-z0-9])/g)
  return [...parts].map(({ 0: part, index: at }) => ({ words: wordsOf(part), at, length: part.length }))
}

/** The text up to the word that a prefix begins, and that beginning; none for scripts that are found by pairs. */
export function splitPrefix(text: string): [before: string, prefix: string] {
  const end = /[\p{L}\p{M}\p{N}]*$/u.exec(text)![0]
  const from = end.replace(UNSPACED, (run) => " ".repeat(run.length)).lastIndexOf(" ") + 1
  const at = text.length - end.length + from
  // One sign may stand for several words: ⑴ for "(1)".
  const words =
    unmarked(text.slice(at))
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  const [before, last = ""] = [words.slice(0, -1), words.at(-1)]
  return [[text.slice(0, at), ...before].join(" "), last]
}

/** The name at position `at`; undefined when there is none or it is too long. */
export function nameAround(text: string, at: number): FoundName | undefined {
  const [start, end] = [edgeOf(text, at, -1), edgeOf(text, at, 1)]
  if (start !== undefined && end !== undefined && end - start < LONGEST) {
    const words = remembered(text.slice(start, end + 1))
    return words.length > 0 ? { words, at: start, length: end + 1 - start } : undefined
  }
  // One more on each side tells a name that is too long from one that is just not.
  const from = Math.max(0, at - LONGEST - 1)
  const around = text.slice(from, at + LONGEST + 2)
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
  for (const name of new Set(OTHER_LETTERS.test(text) ? namesWithin(text) : text.match(ASCII_NAME))) {
    for (const word of remembered(name)) found.add(word)
  }
  return found
}

/** The names in a text that may have letters beyond ASCII. */
export const namesWithin = (text: string): readonly string[] => text.match(NAME) ?? []

/** A cache: sessions repeat the same names again and again. */
const memory = new Map<string, readonly string[]>()
const REMEMBERED = 20_000

function remembered(name: string): readonly string[] {
  const known = memory.get(name)
  if (known !== undefined) return known
  const words = wordsOf(name)
  if (memory.size >= REMEMBERED) memory.clear()
  memory.set(name, words)
  return words
}

/** The words of one name. */
export function wordsOf(name: string): string[] {
  if (name.length <= LONGEST && isOneWord(name)) return [stem(name)]
  if (!ASCII.test(name)) return otherScript(name)
  if (name.length > LONGEST) return partsOf(name).flatMap(({ words }) => words)
  const words: string[] = []
  let whole = ""
  for (let at = 0; at < name.length; ) {
    const end = endOfPiece(name, at)
    if (end > at) {
      const piece = name.slice(at, end)
      const plain = piece.toLowerCase()
      whole += plain
      if (piece === plain || !HAS_HUMP.test(piece) || RANDOM.test(piece)) words.push(stem(plain))
      else addHumps(piece, plain, words)
    }
    at = end + 1
  }
  if (words.length > 1) words.push(whole)
  return words
}

/** Where the letters and digits that begin at `at` end. */
function endOfPiece(name: string, at: number): number {
  let end = at
  while (end < name.length && kindOf(name.charCodeAt(end)) !== MARK) end++
  return end
}

const MARK = 0
const SMALL = 1
const CAPITAL = 2

/** A digit continues small letters as well as capitals. */
const kindOf = (unit: number): number =>
  (unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39)
    ? SMALL
    : unit >= 0x41 && unit <= 0x5a
      ? CAPITAL
      : MARK

/** `parseJSONLine2` → parse, JSON, Line2. */
function addHumps(piece: string, plain: string, words: string[]): void {
  for (let at = 0; at < piece.length; ) {
    let end = at
    while (end < piece.length && kindOf(piece.charCodeAt(end)) === CAPITAL) end++
    if (end - at > 1 && end < piece.length && piece.charCodeAt(end) >= 0x61) end--
    else if (end - at < 2) while (end < piece.length && kindOf(piece.charCodeAt(end)) === SMALL) end++
    else while (end < piece.length && piece.charCodeAt(end) < 0x61) end++
    words.push(stem(plain.slice(at, end)))
    at = end
  }
}

/** Whether it has only lower-case ASCII letters and digits, so nothing in it separates words. Most names are such. */
function isOneWord(name: string): boolean {
  for (let n = 0; n < name.length; n++) {
    const unit = name.charCodeAt(n)
    if (!((unit >= 0x61 && unit <= 0x7a) || (unit >= 0x30 && unit <= 0x39))) return false
  }
  return true
}

/** Compatible letters are one, and accents are ignored. */
const unmarked = (text: string): string => text.normalize("NFKD").replace(/\p{M}/gu, "").normalize("NFC")

function otherScript(name: string): string[] {
  const words: string[] = []
  const spaced = unmarked(name).replace(UNSPACED, (run) => {
    const points = [...run]
    for (let n = 0; n + 1 < points.length; n++) words.push(points[n]! + points[n + 1]!)
    // No pair begins with the last one.
    words.push(points.at(-1)!)
    return " "
  })
  for (const [part] of spaced.matchAll(/[^ ]+/g)) {
    // An identifier beside such a script, or a word that had accents.
    if (ASCII.test(part)) words.push(...wordsOf(part))
    else
      for (const [piece] of part.toLowerCase().matchAll(PIECES))
        if (piece.length <= LONGEST) words.push(piece)
  }
  return words
}

/**
 * Reduces an English word to a stem, so that "caches", "cached" and "caching" match. A few rules remove the endings of
 * verbs and plurals, in the manner of Porter's first steps; the result need not be a word. Pure.
 */

const VOWELS = "aeiouy"
const DOUBLING = "bcdfgmnprt"

/** @param word in lower case */
export function stem(word: string): string {
  if (word.length < 4 || word.length > 24 || !isPlain(word)) return word
  return ending(tense(plural(word)))
}

/**
 * Whether it has only ASCII letters: identifiers with digits and other scripts are left alone. No regular expression,
 * because a search would have to compile it.
 */
function isPlain(word: string): boolean {
  for (let n = 0; n < word.length; n++) {
    const unit = word.charCodeAt(n)
    if (unit < 0x61 || unit > 0x7a) return false
  }
  return true
}

function plural(word: string): string {
  if (!word.endsWith("s")) return word
  if (word.endsWith("sses")) return word.slice(0, -2)
  if (word.endsWith("ies")) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)
  if (word.endsWith("ss") || word.endsWith("us") || word.endsWith("is")) return word
  return word.slice(0, -1)
}

function tense(word: string): string {
  const length = word.endsWith("ing") ? 3 : word.endsWith("ed") ? 2 : 0
  if (length === 0) return word
  const rest = word.slice(0, -length)
  if (rest.length < 3 || !hasVowel(rest)) return word
  const last = rest.at(-1)!
  return last === rest.at(-2) && DOUBLING.includes(last) ? rest.slice(0, -1) : rest
}

function hasVowel(word: string): boolean {
  for (let n = 0; n < word.length; n++) if (VOWELS.includes(word[n]!)) return true
  return false
}

function ending(word: string): string {
  let rest = word
  if (rest.length > 5 && rest.endsWith("ly")) rest = rest.slice(0, -2)
  else if (rest.length > 5 && (rest.endsWith("sion") || rest.endsWith("tion"))) rest = rest.slice(0, -3)
  if (rest.length > 3 && rest.endsWith("e")) return rest.slice(0, -1)
  if (rest.length > 3 && rest.endsWith("y") && !VOWELS.includes(rest.at(-2)!)) return `${rest.slice(0, -1)}i`
  return rest
}

/** What may follow the beginning of a word up to its end, as far as stems depend on it. */
const ENDINGS = ["", "e", "d", "ed", "s", "es", "y", "ly", "n", "on", "ion", "g", "ng", "ing"]

/** Stems that words beginning with `prefix` may have, but that do not begin with it: `cach` for `cachi`. */
export const shorterStems = (prefix: string): string[] =>
  [...new Set(ENDINGS.map((rest) => stem(prefix + rest)))].filter((one) => !one.startsWith(prefix))
