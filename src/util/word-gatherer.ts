/**
 * Gathers the words of many texts, one text after another. Gives what `wordSet` gives, several times as fast: it makes
 * no string for a name that it has met before, and looks at each letter once. Pure.
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

const KINDS = Uint8Array.from({ length: 128 }, (_, unit) => {
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

const kindOf = (unit: number): number => (unit < 128 ? KINDS[unit]! : kindBeyondAscii(unit))

/** Room for names known at a time, and for their letters. When it is nearly full, everything is forgotten. */
const MOST = 1 << 16
const LETTERS = MOST * 12
const SLOTS = MOST * 2
const WORDS = MOST * 2
/** Longer names with digits are ids, hashes and numbers: most of all names, and hardly any comes again. */
const LONGEST_WITH_DIGITS = 6

export class WordGatherer {
  /** Numbers of names, by hash; 0: free. */
  readonly #slots = new Int32Array(SLOTS)
  readonly #hashes = new Int32Array(MOST)
  /** The names' letters, one after another, and where each begins. */
  readonly #letters = new Uint8Array(LETTERS)
  readonly #starts = new Int32Array(MOST + 1)
  /** The text in which a name occurred last. */
  readonly #latest = new Int32Array(MOST)
  /** Numbers of each name's words. */
  readonly #wordsOf: number[][] = [[]]
  #names = 1
  readonly #numbers = new Map<string, number>()
  readonly #words: string[] = []
  /** The text in which a word occurred last. */
  readonly #latestOfWord = new Int32Array(WORDS)
  /** Words of this text without a number. */
  readonly #strays = new Set<string>()
  #text = 0
  #found: string[] = []

  /** The set of words in `text`, in no particular order. */
  wordsIn(text: string): string[] {
    if (
      this.#names > MOST * 0.75 ||
      this.#starts[this.#names]! > LETTERS * 0.9 ||
      this.#words.length > WORDS * 0.9
    )
      this.#forget()
    this.#strays.clear()
    this.#text++
    this.#found = []
    this.#scan(text)
    return this.#found
  }

  #forget(): void {
    this.#slots.fill(0)
    this.#latest.fill(0)
    this.#wordsOf.length = 1
    this.#names = 1
    this.#numbers.clear()
    this.#words.length = 0
    this.#latestOfWord.fill(0)
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
      if (unit < 128 && KINDS[unit] === GAP) break
      end++
    }
    for (const name of namesWithin(text.slice(start, end))) this.#addStrays(wordsOf(name))
    return end
  }

  #addName(text: string, start: number, end: number, hash: number): void {
    const length = end - start
    let slot = (Math.imul(hash, 0x9e3779b1) >>> 8) & (SLOTS - 1)
    for (let name = this.#slots[slot]!; name !== 0; name = this.#slots[slot]!) {
      if (this.#hashes[name] === hash && this.#is(name, text, start, length)) {
        this.#addKnown(name)
        return
      }
      slot = (slot + 1) & (SLOTS - 1)
    }
    const words = wordsOf(text.slice(start, end))
    const name = this.#names
    const first = this.#starts[name]!
    if (name + 1 >= MOST || first + length > LETTERS || this.#words.length + words.length > WORDS) {
      this.#addStrays(words)
      return
    }
    for (let n = 0; n < length; n++) this.#letters[first + n] = text.charCodeAt(start + n)
    this.#starts[name + 1] = first + length
    this.#slots[slot] = name
    this.#hashes[name] = hash
    this.#wordsOf.push(words.map((word) => this.#numberOf(word)))
    this.#names++
    this.#addKnown(name)
  }

  #is(name: number, text: string, start: number, length: number): boolean {
    const first = this.#starts[name]!
    if (this.#starts[name + 1]! - first !== length) return false
    for (let n = 0; n < length; n++) if (this.#letters[first + n] !== text.charCodeAt(start + n)) return false
    return true
  }

  #addKnown(name: number): void {
    if (this.#latest[name] === this.#text) return
    this.#latest[name] = this.#text
    const words = this.#wordsOf[name]!
    for (let n = 0; n < words.length; n++) this.#addWord(words[n]!)
  }

  #numberOf(word: string): number {
    const known = this.#numbers.get(word)
    if (known !== undefined) return known
    const number = this.#words.push(word) - 1
    this.#latestOfWord[number] = this.#strays.has(word) ? this.#text : 0
    this.#numbers.set(word, number)
    return number
  }

  #addWord(number: number): void {
    if (this.#latestOfWord[number] === this.#text) return
    this.#latestOfWord[number] = this.#text
    this.#found.push(this.#words[number]!)
  }

  /** Adds words that are not worth remembering. */
  #addStrays(words: readonly string[]): void {
    for (const word of words) {
      const number = this.#numbers.get(word)
      if (number !== undefined) this.#addWord(number)
      else if (this.#strays.size < this.#strays.add(word).size) this.#found.push(word)
    }
  }
}
