/**
 * The words by which messages are found. Written in the message's transaction; a trigger removes them with the message.
 *
 * What narrows a search (project, session, role, tool, month) is stored among the words as filter words, which no text
 * can contain. So SQLite intersects lists instead of looking at rows.
 */
import { LONGEST, namesWithin, wordSet, wordsOf } from "../base/words.ts"
import type { Database } from "./database.ts"

/** What a search can be narrowed to. */
interface Filters {
  readonly project?: number | undefined
  /** With or without its subagent. */
  readonly session?: string | undefined
  readonly role?: string | undefined
  /** Names of tools that are called or answer. */
  readonly tools?: readonly string[] | undefined
  readonly isError?: boolean | undefined
  /** Whether it is a prompt or answer of the session itself, which may be given back to another session. */
  readonly isSaid?: boolean | undefined
  /** ISO 8601. */
  readonly time?: string | undefined
}

/** Neither a letter nor a digit, so no word begins with it. */
const FILTER_SIGN = "§"

/** The latest names: each message of a session has the same few. */
const plainNames = new Map<string, string>()
const PLAIN_NAMES = 200

function plain(name: string): string {
  let known = plainNames.get(name)
  if (known === undefined) {
    known = name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")
    if (plainNames.size >= PLAIN_NAMES) plainNames.clear()
    plainNames.set(name, known)
  }
  return known
}

export const filterWord = {
  project: (id: number): string => `${FILTER_SIGN}p${id}`,
  session: (id: string): string => `${FILTER_SIGN}s${plain(id.split("/", 1)[0]!)}`,
  role: (role: string): string => `${FILTER_SIGN}r${plain(role)}`,
  tool: (name: string): string => `${FILTER_SIGN}t${plain(name)}`,
  error: `${FILTER_SIGN}e`,
  /** @param id of the project */
  said: (id: number): string => `${FILTER_SIGN}w${id}`,
  /** @param time ISO 8601 */
  month: (time: string): string => `${FILTER_SIGN}m${time.slice(0, 4)}${time.slice(5, 7)}`,
} as const

function filterWordsOf({ project, session, role, tools = [], isError, isSaid, time }: Filters): string[] {
  const filterWords = tools.map(filterWord.tool)
  if (project !== undefined) filterWords.push(filterWord.project(project))
  if (session !== undefined) filterWords.push(filterWord.session(session))
  if (role !== undefined) filterWords.push(filterWord.role(role))
  if (isError === true) filterWords.push(filterWord.error)
  if (isSaid === true && project !== undefined) filterWords.push(filterWord.said(project))
  if (time !== undefined && /^\d{4}-\d\d/.test(time)) filterWords.push(filterWord.month(time))
  return filterWords
}

/**
 * The latest filter words in UTF-8: messages have the same few in common, and making them costs as much as a short
 * text.
 */
const encodedFilters = new Map<string, Uint8Array>()
const ENCODED_FILTERS = 200

function encoded(filters: Filters): Uint8Array {
  const { project, session, role, tools = [], isError, isSaid, time } = filters
  const key = `${project} ${session} ${role} ${isError} ${isSaid} ${time?.slice(0, 7)} ${tools.length === 1 ? tools[0] : tools.join("\0")}`
  let known = encodedFilters.get(key)
  if (known === undefined) {
    known = Buffer.from([...new Set(filterWordsOf(filters))].join(" "))
    if (encodedFilters.size >= ENCODED_FILTERS) encodedFilters.clear()
    encodedFilters.set(key, known)
  }
  return known
}

const NONE = new Uint8Array(0)

/** One for all, as sessions repeat the same names again and again. */
let gatherer: WordGatherer | undefined
/**
 * Characters that are worth one: it takes a megabyte, and a hook would interpret its loops. For as much as a hook has
 * to index, the engine's own functions take less than half the time.
 */
const MUCH = 1 << 17
let indexed = 0

function wordsIn(text: string, filterWords: Uint8Array): Uint8Array {
  indexed += text.length
  if (gatherer === undefined && indexed < MUCH)
    return Buffer.concat([Buffer.from([...wordSet(text), ""].join(" ")), filterWords])
  gatherer ??= new WordGatherer()
  return gatherer.wordsIn(text, filterWords)
}

/**
 * Collects the words of messages and writes them together: any other statement between two inserts would make SQLite
 * write out a list per word for every single message.
 */
export class WordWriter {
  readonly #db: Database
  /** Words in UTF-8 with a space after each, then the filter words. */
  readonly #waiting: { readonly message: number; words: Uint8Array }[] = []
  readonly #isSearched: boolean

  /** @param isSearched false for rows that do not stay: nothing is written then */
  constructor(db: Database, isSearched = true) {
    this.#db = db
    this.#isSearched = isSearched
  }

  add(message: number, text: string, filters: Filters): void {
    if (!this.#isSearched) return
    this.#waiting.push({ message, words: wordsIn(text, encoded(filters)) })
  }

  /** From now on, nobody finds the message. */
  empty(message: number): void {
    if (!this.#isSearched) return
    const waiting = this.#waiting.find((one) => one.message === message)
    if (waiting !== undefined) waiting.words = NONE
    else this.#db.query("INSERT OR REPLACE INTO words (rowid, text) VALUES (?, '')").run(message)
  }

  /** Call before the transaction ends. */
  flush(): void {
    const insert = this.#db.query("INSERT INTO words (rowid, text) VALUES (?, ?)")
    for (const { message, words } of this.#waiting) insert.run(message, words)
    this.#waiting.length = 0
  }
}

export interface WordTotals {
  readonly messages: number
  /** Messages that can be found by their words. */
  readonly indexed: number
  /** Those that cannot, because their turns are cold. */
  readonly cold: number
}

export const wordTotals = (db: Database): WordTotals =>
  db
    .query<WordTotals, []>(
      // The index's own table of its content, because the virtual table would be read from end to end.
      `SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM words_docsize) AS indexed,
         (SELECT count(*) FROM turns t JOIN messages m ON m.turn = t.id
          WHERE t.cold = 1 AND m.id NOT IN (SELECT id FROM words_docsize)) AS cold`,
    )
    .get()!

/*
 * Gathers the words of many texts, one text after another. Gives what `wordSet` gives, several times as fast: it makes
 * no string for a name or word that it has met before, and looks at each letter once. Pure.
 */

/** Kinds of bytes. Only letters, digits and what may be letters beyond ASCII begin or continue a word. */
const GAP = 0
/** `.` and `-`, which join names if a letter follows. */
const JOINT = 1
/** Of a character beyond ASCII: whether it is a letter is left to the patterns of words.ts. */
const BEYOND = 2
const LETTER = 3
const DIGIT = 4

/** Made with the first gatherer: searches load this file, too, and have no need of it. */
let kinds = new Uint8Array(0)

const kindsOfBytes = (): Uint8Array<ArrayBuffer> =>
  Uint8Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte)
    if (byte > 0x7f) return BEYOND
    if (/\d/.test(character)) return DIGIT
    if (/\w/.test(character)) return LETTER
    return character === "." || character === "-" ? JOINT : GAP
  })

/**
 * Whether a character of three bytes is a dash, quote, arrow or box that programs print (`OTHER_LETTERS` in words.ts).
 */
function isPrinted(first: number, second: number, third: number): boolean {
  const unit = ((first & 0x0f) << 12) | ((second & 0x3f) << 6) | (third & 0x3f)
  if (unit < 0x2010 || unit > 0x2bff) return false
  if (unit <= 0x205e || (unit >= 0x2190 && unit <= 0x245f)) return true
  return (unit >= 0x2500 && unit <= 0x2775) || unit >= 0x2794
}

/** Bytes of the character that begins with a byte of kind `BEYOND`. */
const lengthOf = (first: number): number => (first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4)

/** Room for names and words known at a time, and for their letters. When it is nearly full, everything is forgotten. */
const MOST = 1 << 16
const LETTERS = MOST * 16
const SLOTS = MOST * 2
const NEARLY = 0.9
/** Longer names with digits are ids, hashes and numbers: most of all names, and hardly any comes again. */
const LONGEST_WITH_DIGITS = 6

/**
 * Runs of text with letters beyond ASCII that are known at a time. Longer ones are sentences, and do not come again.
 */
const RUNS = 1 << 12
const LONGEST_RUN = 32

/** A name or word is a row of numbers, side by side because memory far apart costs more than what is done with it. */
const ROW = 4
const START = 0
const LENGTH = 1
/** The text in which it occurred last. */
const LATEST = 2
/** Of a name: its word, or the negative number of its list in `#lists`. */
const WORD = 3

const SPACE = 0x20

/** Names met last in this text, by hash. Small enough to stay in the nearest memory: most names come again soon. */
const RECENT = 1 << 11

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
  /** Words of the latest runs of text that have letters beyond ASCII: languages repeat theirs, too. */
  readonly #runs = new Map<string, readonly string[]>()
  /** Words of this text without a number. */
  readonly #strays = new Set<string>()
  #text = 0
  /** Text, place and length of each. */
  readonly #recent = new Int32Array(RECENT * 3)
  /** The text in UTF-8, and a byte that ends its last word. */
  #bytes: Buffer = Buffer.alloc(1 << 16)
  #found = new Uint8Array(1 << 16)
  #foundLength = 0

  constructor() {
    if (kinds.length === 0) kinds = kindsOfBytes()
  }

  /**
   * The set of words in `text`, in no particular order: UTF-8, with a space after each.
   *
   * @param behind what to put behind them
   */
  wordsIn(text: string, behind?: Uint8Array): Uint8Array {
    if (
      this.#nameCount > MOST * NEARLY ||
      this.#wordCount > MOST * NEARLY ||
      this.#lettersUsed > LETTERS * NEARLY
    )
      this.#forget()
    this.#strays.clear()
    this.#text++
    this.#foundLength = 0
    this.#scan(this.#encoded(text))
    if (behind !== undefined) {
      this.#makeRoom(behind.length)
      this.#found.set(behind, this.#foundLength)
      this.#foundLength += behind.length
    }
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

  /** @returns the number of bytes */
  #encoded(text: string): number {
    if (this.#bytes.length <= text.length * 3) this.#bytes = Buffer.alloc(text.length * 4)
    const { written } = ENCODER.encodeInto(text, this.#bytes)
    this.#bytes[written] = 0
    return written
  }

  #scan(end: number): void {
    const bytes = this.#bytes
    for (let n = 0; n < end; ) {
      const start = n
      let kind = kinds[bytes[n]!]!
      let has = 0
      let hash = 0
      while (kind >= LETTER) {
        hash = (Math.imul(hash, 31) + bytes[n]!) | 0
        has |= kind
        n++
        kind = kinds[bytes[n]!]!
        if (kind === JOINT) {
          const next = kinds[bytes[n + 1]!]!
          if (next >= LETTER) kind = LETTER
          else if (next === BEYOND && !this.#isPrinted(n + 1)) kind = BEYOND
        }
      }
      if (kind === BEYOND && (bytes[n]! < 0x80 || !this.#isPrinted(n))) n = this.#addBeyondAscii(start)
      else if (n === start) n += kind === BEYOND ? lengthOf(bytes[n]!) : 1
      else if (!this.#isRecent(start, n - start, hash)) {
        if (n - start > LONGEST || (has >= DIGIT && n - start > LONGEST_WITH_DIGITS))
          this.#addStrays(wordsOf(bytes.toString("latin1", start, n)))
        else this.#addName(start, n, hash)
      }
    }
  }

  /** Whether the character at `at`, which is beyond ASCII, is none that could be a letter. */
  #isPrinted(at: number): boolean {
    const first = this.#bytes[at]!
    return (first & 0xf0) === 0xe0 && isPrinted(first, this.#bytes[at + 1]!, this.#bytes[at + 2]!)
  }

  /** Whether a name was met just before in this text. From now on it is. */
  #isRecent(start: number, length: number, hash: number): boolean {
    const recent = this.#recent
    const row = ((Math.imul(hash, 0x9e3779b1) >>> 8) & (RECENT - 1)) * 3
    if (recent[row] === this.#text && recent[row + 2] === length) {
      const bytes = this.#bytes
      const first = recent[row + 1]!
      let n = 0
      while (n < length && bytes[first + n] === bytes[start + n]) n++
      if (n === length) return true
    }
    recent[row] = this.#text
    recent[row + 1] = start
    recent[row + 2] = length
    return false
  }

  /** Adds a run of text that has letters beyond ASCII. Only an ASCII character that belongs to no name ends it. */
  #addBeyondAscii(start: number): number {
    const bytes = this.#bytes
    let end = start
    while (kinds[bytes[end]!] !== GAP) end++
    const run = bytes.toString("utf8", start, end)
    let words = this.#runs.get(run)
    if (words === undefined) {
      words = namesWithin(run).flatMap(wordsOf)
      if (this.#runs.size >= RUNS) this.#runs.clear()
      if (run.length <= LONGEST_RUN) this.#runs.set(run, words)
    }
    this.#addStrays(words)
    return end
  }

  #addName(start: number, end: number, hash: number): void {
    const length = end - start
    const bytes = this.#bytes
    let slot = (Math.imul(hash, 0x9e3779b1) >>> 8) & (SLOTS - 1)
    for (let name = this.#slots[slot]!; name !== 0; name = this.#slots[slot]!) {
      if (this.#names[name * ROW + LENGTH] === length && this.#is(name, start, length)) {
        this.#addKnown(name)
        return
      }
      slot = (slot + 1) & (SLOTS - 1)
    }
    const words = wordsOf(bytes.toString("latin1", start, end))
    const letters = this.#lettersUsed
    if (this.#nameCount === MOST || letters + length > LETTERS) {
      this.#addStrays(words)
      return
    }
    for (let n = 0; n < length; n++) this.#letters[letters + n] = bytes[start + n]!
    this.#lettersUsed += length
    const word = words.length === 1 ? this.#numberOf(words[0]!) : this.#listOf(words)
    if (word === 0) {
      this.#addStrays(words)
      return
    }
    const name = this.#nameCount++
    this.#slots[slot] = name
    const row = name * ROW
    this.#names[row + START] = letters
    this.#names[row + LENGTH] = length
    this.#names[row + LATEST] = 0
    this.#names[row + WORD] = word
    this.#addKnown(name)
  }

  #is(name: number, start: number, length: number): boolean {
    const first = this.#names[name * ROW + START]!
    const bytes = this.#bytes
    for (let n = 0; n < length; n++) if (this.#letters[first + n] !== bytes[start + n]) return false
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

  /** @returns the negative number of their list; 0 if there is no room for them */
  #listOf(words: readonly string[]): number {
    const numbers: number[] = []
    for (const word of words) {
      const number = this.#numberOf(word)
      if (number === 0) return 0
      numbers.push(number)
    }
    return 1 - this.#lists.push(numbers)
  }

  /** @returns 0 if there is no room for it */
  #numberOf(word: string): number {
    const known = this.#numbers.get(word)
    if (known !== undefined) return known
    if (this.#wordCount === MOST || this.#lettersUsed + word.length * 3 > LETTERS) return 0
    const number = this.#wordCount++
    const start = this.#lettersUsed
    this.#lettersUsed += encode(word, this.#letters, start)
    const row = number * ROW
    this.#words[row + START] = start
    this.#words[row + LENGTH] = this.#lettersUsed - start
    this.#words[row + LATEST] = this.#strays.has(word) ? this.#text : 0
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
    const more = new Uint8Array(this.#found.length * 2 + length)
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
