/**
 * Gathers the words of many texts, one text after another. Gives what `wordSet` gives, several times as fast: it makes
 * no string for a name or word that it has met before, and looks at each letter once. Pure.
 */
import { LONGEST, namesWithin, wordsOf } from "./words.ts"

/** Kinds of UTF-16 units. Only letters, digits and what may be letters beyond ASCII begin or continue a word. */
const GAP = 0
/** `.` and `-`, which join names if a letter follows. */
const JOINT = 1
/** Whether it is a letter is left to the patterns of words.ts. */
const OTHER = 2
const LETTER = 3
const DIGIT = 4

/** Made with the first gatherer: searches load this file, too, and have no need of it. */
let asciiKinds = new Uint8Array(0)

const kindsOfAscii = (): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: 128 }, (_, unit) => {
    const character = String.fromCharCode(unit)
    if (/\d/.test(character)) return DIGIT
    if (/\w/.test(character)) return LETTER
    return character === "." || character === "-" ? JOINT : GAP
  })

/** Dashes, quotes, arrows and boxes that programs print are no letters (`OTHER_LETTERS` in words.ts). */
function kindBeyondAscii(unit: number): number {
  if (unit < 0x2010 || unit > 0x2bff) return OTHER
  if (unit <= 0x205e || (unit >= 0x2190 && unit <= 0x245f)) return GAP
  return (unit >= 0x2500 && unit <= 0x2775) || unit >= 0x2794 ? GAP : OTHER
}

const kindOf = (unit: number): number => (unit < 128 ? asciiKinds[unit]! : kindBeyondAscii(unit))

/** Room for names and words known at a time, and for their letters. When it is nearly full, everything is forgotten. */
const MOST = 1 << 16
const LETTERS = MOST * 16
const SLOTS = MOST * 2
const NEARLY = 0.9
/** Longer names with digits are ids, hashes and numbers: most of all names, and hardly any comes again. */
const LONGEST_WITH_DIGITS = 6

/** A name or word is a row of numbers, side by side because memory far apart costs more than what is done with it. */
const ROW = 4
const START = 0
const LENGTH = 1
/** The text in which it occurred last. */
const LATEST = 2
/** Of a name: its word, or the negative number of its list in `#lists`. */
const WORD = 3

const SPACE = 0x20

export class WordGatherer {
  /** Numbers of names, by hash; 0: free. */
  readonly #slots = new Int32Array(SLOTS)
  readonly #names = new Int32Array(MOST * ROW)
  readonly #words = new Int32Array(MOST * ROW)
  /** Letters of names and, in UTF-8, of words. */
  readonly #letters = new Uint8Array(LETTERS)
  #nameCount = 1
  #wordCount = 1
  #lettersUsed = 0
  /** Words of the names that have none, or several. */
  readonly #lists: (readonly number[])[] = [[]]
  readonly #numbers = new Map<string, number>()
  /** Words of this text without a number. */
  readonly #strays = new Set<string>()
  #text = 0
  #found = new Uint8Array(1 << 16)
  #foundLength = 0

  constructor() {
    if (asciiKinds.length === 0) asciiKinds = kindsOfAscii()
  }

  /** The set of words in `text`, in no particular order: UTF-8, with a space after each. */
  wordsIn(text: string): Uint8Array {
    if (
      this.#nameCount > MOST * NEARLY ||
      this.#wordCount > MOST * NEARLY ||
      this.#lettersUsed > LETTERS * NEARLY
    )
      this.#forget()
    this.#strays.clear()
    this.#text++
    this.#foundLength = 0
    this.#scan(text)
    return this.#found.slice(0, this.#foundLength)
  }

  #forget(): void {
    this.#slots.fill(0)
    this.#lists.length = 1
    this.#nameCount = 1
    this.#wordCount = 1
    this.#lettersUsed = 0
    this.#numbers.clear()
  }

  #scan(text: string): void {
    const end = text.length
    for (let n = 0; n < end; ) {
      const start = n
      let unit = text.charCodeAt(n)
      let kind = kindOf(unit)
      let kinds = 0
      let hash = 0
      while (kind >= LETTER) {
        hash = (Math.imul(hash, 31) + unit) | 0
        kinds |= kind
        n++
        if (n === end) break
        unit = text.charCodeAt(n)
        kind = kindOf(unit)
        if (kind === JOINT && n + 1 < end) {
          const next = kindOf(text.charCodeAt(n + 1))
          if (next >= OTHER) kind = next === OTHER ? OTHER : LETTER
        }
      }
      if (kind === OTHER) n = this.#addBeyondAscii(text, start)
      else if (n === start) n++
      else if (n - start > LONGEST || (kinds >= DIGIT && n - start > LONGEST_WITH_DIGITS))
        this.#addStrays(wordsOf(text.slice(start, n)))
      else this.#addName(text, start, n, hash)
    }
  }

  /** Adds a run of text that has letters beyond ASCII. Only an ASCII character that belongs to no name ends it. */
  #addBeyondAscii(text: string, start: number): number {
    let end = start
    while (end < text.length) {
      const unit = text.charCodeAt(end)
      if (unit < 128 && asciiKinds[unit] === GAP) break
      end++
    }
    for (const name of namesWithin(text.slice(start, end))) this.#addStrays(wordsOf(name))
    return end
  }

  #addName(text: string, start: number, end: number, hash: number): void {
    const length = end - start
    let slot = (Math.imul(hash, 0x9e3779b1) >>> 8) & (SLOTS - 1)
    for (let name = this.#slots[slot]!; name !== 0; name = this.#slots[slot]!) {
      if (this.#names[name * ROW + LENGTH] === length && this.#is(name, text, start, length)) {
        this.#addKnown(name)
        return
      }
      slot = (slot + 1) & (SLOTS - 1)
    }
    const words = wordsOf(text.slice(start, end))
    const letters = this.#lettersUsed
    if (this.#nameCount === MOST || letters + length > LETTERS) {
      this.#addStrays(words)
      return
    }
    for (let n = 0; n < length; n++) this.#letters[letters + n] = text.charCodeAt(start + n)
    this.#lettersUsed += length
    const numbers = words.map((word) => this.#numberOf(word))
    if (numbers.includes(0)) {
      this.#addStrays(words)
      return
    }
    const name = this.#nameCount++
    this.#slots[slot] = name
    const word = numbers.length === 1 ? numbers[0]! : 1 - this.#lists.push(numbers)
    this.#names.set([letters, length, 0, word], name * ROW)
    this.#addKnown(name)
  }

  #is(name: number, text: string, start: number, length: number): boolean {
    const first = this.#names[name * ROW + START]!
    for (let n = 0; n < length; n++) if (this.#letters[first + n] !== text.charCodeAt(start + n)) return false
    return true
  }

  #addKnown(name: number): void {
    const row = name * ROW
    if (this.#names[row + LATEST] === this.#text) return
    this.#names[row + LATEST] = this.#text
    const word = this.#names[row + WORD]!
    if (word > 0) this.#addWord(word)
    else for (const one of this.#lists[-word]!) this.#addWord(one)
  }

  /** @returns 0 if there is no room for it */
  #numberOf(word: string): number {
    const known = this.#numbers.get(word)
    if (known !== undefined) return known
    if (this.#wordCount === MOST || this.#lettersUsed + word.length * 3 > LETTERS) return 0
    const number = this.#wordCount++
    const start = this.#lettersUsed
    this.#lettersUsed += encode(word, this.#letters, start)
    const latest = this.#strays.has(word) ? this.#text : 0
    this.#words.set([start, this.#lettersUsed - start, latest, 0], number * ROW)
    this.#numbers.set(word, number)
    return number
  }

  #addWord(number: number): void {
    const row = number * ROW
    if (this.#words[row + LATEST] === this.#text) return
    this.#words[row + LATEST] = this.#text
    const start = this.#words[row + START]!
    const end = start + this.#words[row + LENGTH]!
    this.#makeRoom(end - start)
    const found = this.#found
    let at = this.#foundLength
    for (let n = start; n < end; n++) found[at++] = this.#letters[n]!
    found[at++] = SPACE
    this.#foundLength = at
  }

  /** Adds words that are not worth remembering. */
  #addStrays(words: readonly string[]): void {
    for (const word of words) {
      const number = this.#numbers.get(word)
      if (number !== undefined) this.#addWord(number)
      else if (this.#strays.size < this.#strays.add(word).size) {
        this.#makeRoom(word.length * 3)
        this.#foundLength += encode(word, this.#found, this.#foundLength)
        this.#found[this.#foundLength++] = SPACE
      }
    }
  }

  #makeRoom(length: number): void {
    if (this.#foundLength + length < this.#found.length) return
    const more = new Uint8Array(this.#found.length * 2)
    more.set(this.#found)
    this.#found = more
  }
}

const ENCODER = new TextEncoder()

/** @returns the number of bytes written */
function encode(word: string, into: Uint8Array, at: number): number {
  for (let n = 0; n < word.length; n++) {
    const unit = word.charCodeAt(n)
    if (unit > 0x7f) return ENCODER.encodeInto(word, into.subarray(at)).written
    into[at + n] = unit
  }
  return word.length
}
