/**
 * Follows the program of an expression through a window of a text. Each step is tried at each place once: what has
 * failed there fails again, from wherever it is reached. Pure.
 */
import { ASSERTIONS, type Expression, type LookAround, type Program, STEP } from "./expression.ts"

export interface Match {
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

export class Matcher {
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
