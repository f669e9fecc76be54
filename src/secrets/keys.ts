/**
 * Finds private keys, which are secrets of several lines: in PEM, PuTTY's, and the members of JSON Web Keys. Pure.
 *
 * Only the marks at a key's beginning and end are sure. Whatever printed it may write around each line: the marks of a
 * diff, times, colours, comments, quotation marks. So lines are told by what they hold, and by how far the next one is
 * (docs/adr/0040).
 */
import { tick } from "./clock.ts"
import type { Span } from "./lines.ts"
import type { AddSpan } from "./seek.ts"
import { wordiness } from "./value.ts"

/** An escape's backslashes, in JSON within JSON as well. Many of them are read once. */
const SLASHES = String.raw`(?<!\\)\\{1,64}`
/** A colour for a terminal. */
const COLOUR = String.raw`(?:\x1b|${SLASHES}(?:u001[bB]|x1[bB]|033|e)|%1[bB])\[[\d;:?]{0,24}[A-Za-z]`
const GAP = `(?:[ +]|%20|${COLOUR})`
const DASHES = String.raw`-(?:\\{0,8}-){3,4}`
/** Where a private key begins (1, 3) or ends (2, 4), and where anything else begins. */
const MARK = new RegExp(
  `${DASHES}${GAP}{0,6}(?:(BEGIN)|(END))${GAP}{1,6}(?:[A-Z0-9]{1,20}${GAP}{1,6}){0,4}?PRIVATE${GAP}{1,6}KEY(?:${GAP}{1,6}BLOCK)?${GAP}{0,6}${DASHES}|(Private-Lines(?::|%3[aA]))|(Private-(?:MAC|Hash)(?::|%3[aA]))|-----(?:BEGIN|END) |Public-Lines:`,
  "g",
)
/** Another record, which is another text. */
const RECORD = /\n(?=[{["])/g

interface Mark extends Span {
  readonly isBegin: boolean
  readonly isEnd: boolean
  /** Whether it stands behind the mark of a diff. */
  readonly isAdded: boolean
}

/** @param isLines whether a line of JSON is a text of its own */
function marksIn(text: string, isLines: boolean): Mark[] {
  const found: Mark[] = []
  const collect = (regex: RegExp): void => {
    regex.lastIndex = 0
    for (let match = regex.exec(text); match !== null; match = regex.exec(text)) {
      tick()
      found.push({
        start: match.index,
        end: regex.lastIndex,
        isBegin: (match[1] ?? match[3]) !== undefined,
        isEnd: (match[2] ?? match[4]) !== undefined,
        isAdded: text[match.index - 1] === "+",
      })
    }
  }
  collect(MARK)
  if (isLines) collect(RECORD)
  return found.sort((a, b) => a.start - b.start)
}

/** No private key is longer, with all that stands around its lines. */
const LONGEST = 65_536

/**
 * Finds the lines of private keys, whole or cut off at either end. A text may consist of nothing but marks: what stands
 * between two of them is read at most twice.
 *
 * @param isLines whether a line of JSON is a text of its own
 */
export function findKeys(text: string, isLines: boolean, add: AddSpan): void {
  let before: Mark | undefined
  for (const mark of [...marksIn(text, isLines), undefined]) {
    const start = before?.end ?? 0
    const end = mark?.start ?? text.length
    const isBegun = before?.isBegin === true
    const isEnded = mark?.isEnd === true
    const isAdded = (isBegun && before?.isAdded === true) || (isEnded && mark.isAdded)
    const isWhole = isBegun && isEnded && end - start <= LONGEST
    const part = { text, isLines, isAdded, isWhole }
    if (isBegun)
      new KeyPart({ ...part, start, end: Math.min(end, start + LONGEST) }, add).read(
        isWhole ? "all" : "begun",
      )
    if (isEnded && !isWhole)
      new KeyPart({ ...part, start: Math.max(start, end - LONGEST), end }, add).read("ended")
    before = mark
  }
}

/** A run of base64, or a break between lines. */
interface Piece extends Span {
  readonly isBreak: boolean
}

/** How others write a character of base64. */
const CODED = String.raw`\\{1,64}(?:\/|u00(?:2[bBfF]))|%2[bBfF]|&#(?:4[37]|[xX]2[bBfF]);`
const PADDING = String.raw`=(?:3[dD])?|\\{1,64}u003[dD]|%3[dD]|&#(?:61|[xX]3[dD]);`
const ANY_CODED = new RegExp(`${CODED}|${PADDING}`, "g")
const ANY_COLOUR = new RegExp(COLOUR, "g")
/** Colours, breaks (1), runs of base64 or of what it was filled with (2), and other escapes. */
const PIECE = new RegExp(
  [
    COLOUR,
    String.raw`([\r\n]|${SLASHES}(?:[nr]|u000[aAdD]|x0[aAdD]|01[25])|%0[aAdD]|<br ?\/?>|&lt;br ?\/?&gt;|\x60[nr]|&quot; ?, ?&quot;|&#(?:1[03]|[xX]0{0,2}[aAdD]);|["'] {0,2},[ \n]{0,40}\\{0,64}["'](?![^"'\\]{0,60}\\{0,64}["'] ?:))`,
    `((?:[A-Za-z0-9+/]|[*]{3,}|${CODED})+(?:${PADDING}){0,3})`,
    String.raw`${SLASHES}(?:u[\da-fA-F]{4}|x[\da-fA-F]{2}|[abefrntv0])`,
  ].join("|"),
  "g",
)

/** How far it is from one line of a key to the next, at most: what a log or `git blame` writes around each. */
const FARTHEST = 256
/** The same for a line that is as wide as most: also what PEM and PGP write above the lines. */
const FARTHEST_OF_USUAL = 2048
/** The same between both marks of a key, where other output may have come in between. */
const FARTHEST_WITHIN = 4096
/** The least that is a line by itself. */
const SHORTEST = 16
/** A key of 16,384 bits on one line. */
const WIDEST = 13_000
/** Characters in a line as OpenSSL, OpenSSH and others break them. */
const USUAL = [64, 70, 76]
/** The share of common pairs of letters that names and paths exceed. */
const WORDY = 0.4
/** What stands between a mark and a line where nothing breaks them: blanks. */
const FEW = 4
/** What a piece of a line has between two lines. */
const FRAGMENT = 4
const MIXED_FRAGMENT = 8

/** What precedes base64 that is no private key. */
const openly =
  /(?:ssh-[\w@.-]{1,40}|ecdsa-[\w@.-]{1,40}) +$|(?:sha\d{1,3}[:-]|base64,|signature\\{0,64}" ?: ?\\{0,64}")$/i
/** Marks of a diff or a comment right before a line, which base64 may begin with as well. */
const opening = /^[+/]{1,3}/
const filled = /^[+/]{0,3}\*+$/
/** The end of a string, the comma between two of an array, and the beginning of the next. */
const inArray = /(?<!\\)((?:\\\\)*)" ?, ?"/g
const quote = /(?<!\\)(?:\\\\)*"/

interface Region extends Span {
  readonly text: string
  readonly isLines: boolean
  readonly isAdded: boolean
  readonly isWhole: boolean
}

/** What stands behind a key's beginning, before its end, or between both. */
class KeyPart {
  readonly #region: Region
  readonly #add: AddSpan
  readonly #pieces: readonly Piece[]
  /** Of the widest line so far. */
  #width = 0

  constructor(region: Region, add: AddSpan) {
    this.#region = region
    this.#add = (start, end, isValue) => {
      if (!filled.test(region.text.slice(start, end))) add(start, end, isValue)
    }
    this.#pieces = piecesIn(region)
  }

  read(which: "begun" | "ended" | "all"): void {
    const { start, end, isWhole } = this.#region
    const count = this.#pieces.length
    const isUp = which !== "ended"
    const farthest = isWhole ? FARTHEST_WITHIN : FARTHEST
    /** Where the last line ends; undefined while there is none. */
    let last: number | undefined
    let past = isUp ? start : end
    let first = isUp ? 0 : count - 1
    for (let n = first; n >= 0 && n < count; n += isUp ? 1 : -1) {
      const piece = this.#pieces[n]!
      if (piece.isBreak) continue
      const [from, to] = isUp ? [past, piece.start] : [piece.end, past]
      if (to - from > Math.max(farthest, FARTHEST_OF_USUAL)) break
      if (piece.end - piece.start < SHORTEST) continue
      const line = this.#bare(piece)
      const isUsual = USUAL.includes(lengthOf(this.#valueOf(line)))
      if (to - from > farthest && !isUsual) continue
      const isOpen = openly.test(this.#region.text.slice(Math.max(start, piece.start - 60), piece.start))
      if (isOpen && !isWhole) break
      if (isOpen || !this.#isLine(line, from, to, last === undefined)) continue
      if (last !== undefined) this.#fragments(Math.min(first, n) + 1, Math.max(first, n))
      this.#add(line.start, line.end, true)
      if (isUp || last === undefined) last = line.end
      past = isUp ? piece.end : piece.start
      first = n
    }
    if (last === undefined) {
      if (which === "ended") this.#only()
      if (which === "begun") this.#cut()
    } else if (which === "begun") this.#short(first)
    else if (end - last < Math.max(farthest, FARTHEST_OF_USUAL * 2)) this.#rest(last)
  }

  /** A run without the marks right before it. */
  #bare({ start, end }: Span): Span {
    const { text, isAdded } = this.#region
    const run = text.slice(start, end)
    const most = opening.exec(run)?.[0].length ?? 0
    const length = lengthOf(run)
    for (let n = 0; n <= most; n++)
      if (length - n === this.#width || USUAL.includes(length - n)) return { start: start + n, end }
    return { start: start + (isAdded && run[0] === "+" ? 1 : 0), end }
  }

  /** Whether a run is a line of a key, with what stands from `from` to `to` between it and the line or mark before. */
  #isLine(line: Span, from: number, to: number, isFirst: boolean): boolean {
    const { text, isLines, isWhole } = this.#region
    const value = text.slice(line.start, line.end)
    const length = lengthOf(value)
    if (length < SHORTEST || length > WIDEST) return false
    if (!filled.test(value)) {
      if (!/[A-Z]/.test(value) || !/[a-z]/.test(value) || wordiness(value) > WORDY) return false
      if (length !== this.#width && !USUAL.includes(length) && !isMixed(value)) return false
      if (!isWhole && length > this.#width && USUAL.includes(this.#width)) return false
    }
    if (isFirst && !isWhole && !USUAL.includes(length) && to - from > FEW && !this.#hasBreak(from, to))
      return false
    // A string that is no neighbour in an array may be anything.
    if (isLines && !USUAL.includes(length) && quote.test(text.slice(from, to).replace(inArray, "$1")))
      return false
    this.#width = Math.max(this.#width, length)
    return true
  }

  #hasBreak(from: number, to: number): boolean {
    return this.#pieces.some((one) => one.isBreak && one.start >= from && one.end <= to)
  }

  /** Parts of lines that were broken once more, between two lines. */
  #fragments(first: number, behind: number): void {
    const { text } = this.#region
    for (let n = first; n < behind; n++) {
      const { start, end, isBreak } = this.#pieces[n]!
      if (isBreak) continue
      const isAlone = this.#pieces[n - 1]!.isBreak && this.#pieces[n + 1]!.isBreak
      if (
        end - start >= (isAlone ? FRAGMENT : MIXED_FRAGMENT) &&
        (isAlone || isMixed(text.slice(start, end)))
      )
        this.#add(start, end)
    }
  }

  /** What is left between a key's last whole line and its end: a short line, and a check sum. */
  #rest(from: number): void {
    const lines = this.#linesFrom(this.#pieces.findIndex(({ start }) => start >= from))
    // As many runs as follow the last line on its own follow each. What precedes the mark is not the key's.
    const isBroken = lines.length > 1
    const [behind, ...others] = isBroken ? lines.slice(0, -1) : [[], ...lines[0]!.map((one) => [one])]
    for (const line of others) {
      const last = line.at(-1 - behind!.length)
      if (last !== undefined) this.#addAlike(line, last)
    }
  }

  /** A short line right before a key's end, of which nothing else is there. */
  #only(): void {
    const lines = this.#linesFrom(0).slice(0, -1)
    const run = lines.findLast((line) => line.length > 0)?.at(-1)
    if (run !== undefined && this.#region.end - run.end < FARTHEST && this.#isShort(run)) this.#addRun(run)
  }

  /** The first characters of a key's first line, where the text was cut off. */
  #cut(): void {
    const { text, start } = this.#region
    const line = this.#linesFrom(0)
      .slice(1)
      .find((one) => one.length > 0)
    const run = line?.find(({ end }) =>
      /^(?:\\{0,64}["']|\.\.\.|\xe2\x80\xa6|$)/.test(text.slice(end, end + 66)),
    )
    if (run === undefined || run.end - start > FARTHEST || run.end - run.start >= SHORTEST) return
    const value = text.slice(run.start, run.end)
    if (value.length >= MIXED_FRAGMENT && isMixed(value)) this.#addRun(run)
  }

  /** A short line behind the last whole one, when the key's end is not there: it stands in its line as that one does. */
  #short(n: number): void {
    const [behind, ...others] = this.#linesFrom(n + 1)
    let before = 0
    while (this.#pieces[n - 1 - before]?.isBreak === false) before++
    for (const line of others) {
      const run = line[before]
      if (run === undefined || line.length > before + 1 + behind!.length || !this.#isShort(run)) continue
      if (run.start - this.#pieces[n]!.end < FARTHEST_OF_USUAL) this.#addAlike(line, run)
      return
    }
  }

  /** Adds a run of a line, and its like: two columns may say the same. */
  #addAlike(line: readonly Piece[], run: Span): void {
    for (const one of line) if (this.#valueOf(one) === this.#valueOf(run)) this.#addRun(one)
  }

  #addRun(run: Span): void {
    const { start, end } = this.#bare(run)
    this.#add(start, end)
  }

  #valueOf({ start, end }: Span): string {
    return this.#region.text.slice(start, end)
  }

  /** Whether a run may be the end of a line of a key: no word, no number and no hash. */
  #isShort({ start, end }: Span): boolean {
    const run = this.#valueOf({ start, end })
    return run.length >= FRAGMENT && !/^(?:[A-Z]?[a-z]+|[A-Z]+|[\da-f]+|\d+)$/.test(run)
  }

  /** The runs from a piece on, by line. */
  #linesFrom(n: number): Piece[][] {
    const lines: Piece[][] = [[]]
    for (const piece of n < 0 ? [] : this.#pieces.slice(n)) {
      if (piece.isBreak) lines.push([])
      else lines.at(-1)!.push(piece)
    }
    return lines
  }
}

function piecesIn({ text, start: first, end: last }: Region): Piece[] {
  const found: Piece[] = []
  PIECE.lastIndex = 0
  const within = text.slice(first, last)
  /** Where a run would have to end, and where colours behind it do. */
  let colours = { start: -1, end: -1 }
  for (let match = PIECE.exec(within); match !== null; match = PIECE.exec(within)) {
    tick()
    const start = first + match.index
    const end = start + match[0].length
    if (match[1] === undefined && match[2] === undefined) {
      colours = { start: colours.end === start ? colours.start : start, end }
      continue
    }
    const before = found.at(-1)
    // A search marks what it has found within a line.
    const isWithin = match[2] !== undefined && colours.end === start && before?.isBreak === false
    if (isWithin && before.end === colours.start && before.end - before.start > 2)
      found.splice(-1, 1, { start: before.start, end, isBreak: false })
    else found.push({ start, end, isBreak: match[1] !== undefined })
  }
  return found
}

/** The number of characters that a run of base64 has when nothing of it is escaped. */
const lengthOf = (run: string): number =>
  /[\\%&\x1b]|=3/.test(run) ? run.replace(ANY_COLOUR, "").replace(ANY_CODED, "+").length : run.length

/** Whether a run is as mixed as base64: neither a name, a path nor a hash. */
const isMixed = (run: string): boolean =>
  /[A-Z]/.test(run) && /[a-z]/.test(run) && /\d/.test(run) && wordiness(run) < WORDY

/**
 * Finds the private members of JSON Web Keys.
 *
 * @param bytes what `text` was made from
 */
export function findWebKeys(bytes: Buffer, text: string, add: AddSpan): void {
  let floor = 0
  for (let at = next(bytes, "kty", 0); at >= 0; at = next(bytes, "kty", Math.max(at + 3, floor))) {
    tick()
    floor = inKey(text, at, Math.max(floor, at - LARGEST), add)
  }
}

const next = (bytes: Buffer, needle: string, from: number): number => bytes.indexOf(needle, from, "latin1")

/** Characters on either side of the key's type. No key has more. */
const LARGEST = 8192
const memberOf = (): RegExp => /(?<![\w-])(?:[dpqk]|d[pq]|qi)\\*["']?[ \t]*:\s{0,8}\\*["']([\w-]{16,})/g

/**
 * Fills the private members of the object in which `kty` stands.
 *
 * @param floor what precedes it was read already
 * @returns up to where the text was read
 */
function inKey(text: string, at: number, floor: number, add: AddSpan): number {
  const before = text.slice(floor, at).lastIndexOf("{")
  if (before < 0 || !/^kty\\*["']?[ \t]*:/.test(text.slice(at, at + 24))) return at
  const start = floor + before
  const object = /^[^{}]*/.exec(text.slice(start + 1, at + LARGEST))![0]
  for (const match of object.matchAll(memberOf())) {
    const from = start + 1 + match.index + match[0].length - match[1]!.length
    add(from, from + match[1]!.length)
  }
  return start + 1 + object.length
}
