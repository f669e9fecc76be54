/**
 * The user's own patterns. Loaded only if there are any. They run in hooks, so they are searched in time proportional to
 * the text, and those that cannot be are refused. Pure.
 */
import { look } from "./clock.ts"
import {
  ASSERTIONS,
  type Expression,
  expressionOf,
  type LookAround,
  type Program,
  STEP,
  Unusable,
} from "./expression.ts"
import { isJsonLine, stringsOf } from "./lines.ts"
import type { AddSpan } from "./seek.ts"

const LONGEST_PATTERN = 300
/** How much text a pattern sees at a time, and how much of it again with the next: longer matches may be missed. */
const WINDOW = 4096
const OVERLAP = 512

/** Calls `add` with every place in a text that the user's patterns match. */
export type FindOwn = (text: string, add: AddSpan) => void

/** What is wrong with a pattern, in words; undefined when it can be used. */
export function problemOf(pattern: string): string | undefined {
  try {
    matcherOf(pattern)
    return undefined
  } catch (error) {
    if (error instanceof Unusable) return error.message
    throw error
  }
}

/** @throws Unusable */
function matcherOf(pattern: string): Matcher {
  if (pattern.length > LONGEST_PATTERN) throw new Unusable(`longer than ${LONGEST_PATTERN} characters`)
  // The text has one character per byte of UTF-8.
  return new Matcher(expressionOf(Buffer.from(pattern).toString("latin1")))
}

/** Searches the strings in lines of JSON, and all of other lines. */
export function finderOf(patterns: readonly string[]): FindOwn {
  const matchers = patterns.map(matcherOf)
  return (text, add) => {
    // Most texts are none of the patterns' business, which the engine says at once.
    const asked = matchers.map((one) => new Asked(one, text)).filter((one) => one.mayMatch(0, text.length))
    if (asked.length === 0) return
    for (let start = 0; start < text.length; ) {
      const newline = text.indexOf("\n", start)
      const end = newline < 0 ? text.length : newline
      const pieces = isJsonLine(text, start) ? stringsOf(text, start, end) : [{ start, end, isKey: false }]
      for (const piece of pieces) if (!piece.isKey) inPiece(text, piece.start, piece.end, asked, add)
      start = end + 1
    }
  }
}

/** A pattern, and where in a text its next match may be. */
class Asked {
  readonly matcher: Matcher
  readonly #text: string
  #next = -1

  constructor(matcher: Matcher, text: string) {
    this.matcher = matcher
    this.#text = text
  }

  /** Whether there may be a match between two places. The first must never decrease. */
  mayMatch(from: number, to: number): boolean {
    if (this.#next < from) {
      const at = this.#text.indexOf(this.matcher.needs, from)
      this.#next = at < 0 ? Number.POSITIVE_INFINITY : at
    }
    return this.#next < to
  }
}

function inPiece(text: string, start: number, end: number, asked: readonly Asked[], add: AddSpan): void {
  for (let from = start; from < end; ) {
    const to = Math.min(end, from + WINDOW)
    let next = to === end ? end : to - OVERLAP
    for (const one of asked) {
      if (!one.mayMatch(from, to)) continue
      look()
      for (const match of one.matcher.matches({ text, start, end, from, to })) {
        add(match.start, match.end)
        // The next window contains all of it, unless it is longer than a window.
        if (match.end === to && to < end && match.start > from + OVERLAP) next = Math.min(next, match.start)
      }
    }
    from = next
  }
}

/*
 * Follows the program of an expression through a window of a text. Each step is tried at each place once: what has
 * failed there fails again, from wherever it is reached. Pure.
 */

interface Match {
  readonly start: number
  readonly end: number
}

/** What a search may see of a text. */
interface Window {
  readonly text: string
  /** Where the text begins and ends for `^` and `$`. */
  readonly start: number
  readonly end: number
  /** The search looks from here, up to there. */
  readonly from: number
  readonly to: number
}

/** How far look-arounds see beyond the window. */
const AROUND = 512

const isWord = (code: number): boolean =>
  (code > 47 && code < 58) || (code > 64 && code < 91) || code === 95 || (code > 96 && code < 123)

class Matcher {
  readonly #program: Program
  /** For each character code, 1 if a match may begin with it. */
  readonly #first: Uint8Array
  #seen = new Uint32Array(0)
  /** What every match contains; may be empty. */
  readonly needs: string

  constructor({ program, needs }: Expression) {
    this.#program = program
    this.#first = firstOf(program)
    this.needs = needs
  }

  /** All matches, as RegExp's `matchAll` would find them. */
  *matches(window: Window): Generator<Match> {
    const { text, from, to } = window
    const { op } = this.#program
    const words = (op.length * (to - from + 1) + 31) >>> 5
    if (this.#seen.length < words) this.#seen = new Uint32Array(words)
    else this.#seen.fill(0, 0, words)
    const looks = this.#program.looks.map((one) => new Looks(one, window))
    for (let start = from; start < to; ) {
      if (this.#first[text.charCodeAt(start)] === 0) {
        start++
        continue
      }
      const end = this.#endFrom(start, window, looks)
      if (end > start) yield { start, end }
      start = Math.max(end, start + 1)
    }
  }

  /** Where the match that begins at `start` ends; -1 if there is none. */
  #endFrom(start: number, window: Window, looks: readonly Looks[]): number {
    const { text, from, to } = window
    const { op, x, y, sets } = this.#program
    const seen = this.#seen
    const width = to - from + 1
    /** What is still to be tried, the preferred last: pairs of a step and a place. */
    const stack = [0, start]
    while (stack.length > 0) {
      let at = stack.pop()!
      let step = stack.pop()!
      for (;;) {
        const bit = step * width + (at - from)
        if (((seen[bit >>> 5]! >>> (bit & 31)) & 1) === 1) break
        seen[bit >>> 5]! |= 1 << (bit & 31)
        const kind = op[step]!
        if (kind === STEP.done) return at
        if (kind === STEP.set) {
          if (at >= to || sets[x[step]!]![text.charCodeAt(at)] !== 1) break
          at++
          step++
        } else if (kind === STEP.either) {
          stack.push(y[step]!, at)
          step = x[step]!
        } else if (kind === STEP.go) step = x[step]!
        else if (kind === STEP.assert ? holds(x[step]!, at, window) : looks[x[step]!]!.holdsAt(at)) step++
        else break
      }
    }
    return -1
  }
}

function holds(assertion: number, at: number, { text, start, end }: Window): boolean {
  const which = ASSERTIONS[assertion]!
  if (which === "^") return at === start
  if (which === "$") return at === end
  const before = at > start && isWord(text.charCodeAt(at - 1))
  const after = at < end && isWord(text.charCodeAt(at))
  return (before !== after) === (which === "b")
}

/** The characters with which a match may begin. */
function firstOf({ op, x, y, sets }: Program): Uint8Array {
  const first = new Uint8Array(256)
  const seen = new Set<number>()
  const open = [0]
  for (let step = open.pop(); step !== undefined; step = open.pop()) {
    if (seen.has(step)) continue
    seen.add(step)
    const kind = op[step]!
    if (kind === STEP.set) for (let code = 0; code < 256; code++) first[code]! |= sets[x[step]!]![code]!
    else if (kind === STEP.either) open.push(x[step]!, y[step]!)
    else if (kind === STEP.go) open.push(x[step]!)
    else if (kind !== STEP.done) open.push(step + 1)
  }
  return first
}

/** Where in a window a look-around holds, found for all places in one pass when it is first asked. */
class Looks {
  readonly #look: LookAround
  readonly #window: Window
  readonly #low: number
  readonly #high: number
  #found: Uint8Array | undefined

  constructor(look: LookAround, window: Window) {
    this.#look = look
    this.#window = window
    this.#low = Math.max(window.start, window.from - AROUND)
    this.#high = Math.min(window.end, window.to + AROUND)
  }

  holdsAt(at: number): boolean {
    this.#found ??= this.#findAll()
    return (this.#found[at - this.#low] === 1) !== this.#look.negated
  }

  /** Follows all ways at once, from every place on: backwards for what lies ahead. */
  #findAll(): Uint8Array {
    const { program, ahead } = this.#look
    const { op, x, y, sets } = program
    const { text } = this.#window
    const found = new Uint8Array(this.#high - this.#low + 1)
    const [first, last, by] = ahead ? [this.#high, this.#low, -1] : [this.#low, this.#high, 1]
    let waiting: number[] = []
    for (let at = first; ; at += by) {
      const seen = new Uint8Array(op.length)
      const open = [0, ...waiting]
      waiting = []
      for (let step = open.pop(); step !== undefined; step = open.pop()) {
        if (seen[step] === 1) continue
        seen[step] = 1
        const kind = op[step]!
        if (kind === STEP.done) found[at - this.#low] = 1
        else if (kind === STEP.set) {
          const next = ahead ? at - 1 : at
          if (at !== last && sets[x[step]!]![text.charCodeAt(next)] === 1) waiting.push(step + 1)
        } else if (kind === STEP.either) open.push(x[step]!, y[step]!)
        else if (kind === STEP.go) open.push(x[step]!)
        else if (holds(x[step]!, at, this.#window)) open.push(step + 1)
      }
      if (at === last) return found
    }
  }
}
