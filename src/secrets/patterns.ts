/**
 * The user's own patterns. Loaded only if there are any. They run in hooks, so they are searched in time proportional to
 * the text, and those that cannot be are refused. Pure.
 */
import { look } from "./clock.ts"
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

/*
 * Regular expressions whose search takes time in proportion to text and expression, whatever both are (docs/adr/0009).
 * They mean what they mean in JavaScript, except that repetitions of what may be empty can end earlier. Back-references
 * and look-arounds within look-arounds are refused. Pure.
 *
 * Here an expression becomes a program: small steps that `patterns.ts` follows.
 */

/** Steps of a program. `x` and `y` are steps to go on with, or what the comments say. */
const STEP = {
  /** Consumes a character of set `x`. */
  set: 0,
  /** Tries `x` first, then `y`. */
  either: 1,
  go: 2,
  /** `x` is the index of an assertion. */
  assert: 3,
  /** `x` is the index of a look-around. */
  look: 4,
  done: 5,
} as const

type Assertion = "^" | "$" | "b" | "B"
const ASSERTIONS: readonly Assertion[] = ["^", "$", "b", "B"]

interface LookAround {
  /** Begins or ends at a position and is followed away from it; a look-ahead's is made for reading backwards. */
  readonly program: Program
  readonly ahead: boolean
  readonly negated: boolean
}

interface Program {
  readonly op: number[]
  readonly x: number[]
  readonly y: number[]
  /** For each character code below 256, 1 if it is in the set. */
  readonly sets: Uint8Array[]
  readonly looks: LookAround[]
}

/** Why an expression cannot be used, in words. */
class Unusable extends Error {
  override readonly name = "Unusable"
}

/** A text of a window's length has this many places for each step, and memory for one bit each. */
const MOST_STEPS = 1000

type Node =
  | { readonly kind: "set"; readonly set: Uint8Array }
  | { readonly kind: "all"; readonly nodes: readonly Node[] }
  | { readonly kind: "any"; readonly nodes: readonly Node[] }
  | {
      readonly kind: "repeat"
      readonly node: Node
      readonly least: number
      readonly most: number
      readonly lazy: boolean
    }
  | { readonly kind: "assert"; readonly which: Assertion }
  | { readonly kind: "look"; readonly node: Node; readonly ahead: boolean; readonly negated: boolean }

interface Expression {
  readonly program: Program
  /** What every match contains; may be empty. A text without it needs no closer look. */
  readonly needs: string
}

/** @throws Unusable */
function expressionOf(source: string): Expression {
  try {
    new RegExp(source)
  } catch {
    throw new Unusable("not a regular expression")
  }
  const node = new Parser(source).parse()
  if (isEmptyable(node)) throw new Unusable("it matches the empty text")
  return { program: compiled(node, false), needs: neededBy(node) }
}

/** The longest text that each match contains, as far as that is easily seen. */
function neededBy(node: Node): string {
  let best = ""
  const keep = (text: string): void => {
    if (text.length > best.length) best = text
  }
  let run = ""
  for (const one of node.kind === "all" ? node.nodes : [node]) {
    if (one.kind === "assert" || one.kind === "look") continue
    const code = one.kind === "set" ? onlyIn(one.set) : undefined
    if (code !== undefined) run += String.fromCharCode(code)
    else {
      keep(run)
      run = ""
      if (one.kind === "repeat" && one.least > 0) keep(neededBy(one.node))
      if (one.kind === "all") keep(neededBy(one))
    }
  }
  keep(run)
  return best
}

function onlyIn(set: Uint8Array): number | undefined {
  const code = set.indexOf(1)
  return code >= 0 && set.indexOf(1, code + 1) < 0 ? code : undefined
}

/** Whether it may match without consuming anything. */
function isEmptyable(node: Node): boolean {
  switch (node.kind) {
    case "set":
      return false
    case "all":
      return node.nodes.every(isEmptyable)
    case "any":
      return node.nodes.some(isEmptyable)
    case "repeat":
      return node.least === 0 || isEmptyable(node.node)
    default:
      return true
  }
}

const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})(\??)/y
const GROUP = /\(\?(?:(<?)([=!])|<[^>]*>|([a-z]*(?:-[a-z]*)?):)/iy
const ESCAPE = /\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|c[a-z]|0[0-7]{0,2}|[\s\S])/iy
const CLASS = /\[(?:\\[\s\S]|[^\\\]])*\]/y

/** Reads an expression that the engine has found to be one. */
class Parser {
  readonly #source: string
  #at = 0
  /** How the modifiers of the groups around an atom are written before it. */
  #modifiers: string[] = []
  #inLook = false

  constructor(source: string) {
    this.#source = source
  }

  parse(): Node {
    return this.#alternatives()
  }

  #alternatives(): Node {
    const nodes = [this.#sequence()]
    while (this.#source[this.#at] === "|") {
      this.#at++
      nodes.push(this.#sequence())
    }
    return nodes.length === 1 ? nodes[0]! : { kind: "any", nodes }
  }

  #sequence(): Node {
    const nodes: Node[] = []
    while (this.#at < this.#source.length && !"|)".includes(this.#source[this.#at]!)) {
      nodes.push(this.#quantified(this.#atom()))
    }
    return { kind: "all", nodes }
  }

  #quantified(node: Node): Node {
    const match = this.#take(QUANTIFIER)
    if (match === undefined) return node
    const [, sign, first, comma, last, lazy] = match
    const least = sign === undefined ? Number(first) : sign === "+" ? 1 : 0
    const most =
      sign === "?"
        ? 1
        : sign !== undefined || (comma !== undefined && last === "")
          ? Infinity
          : Number(last ?? first)
    return { kind: "repeat", node, least, most, lazy: lazy === "?" }
  }

  #atom(): Node {
    const unit = this.#source[this.#at]!
    if (unit === "(") return this.#group()
    if (unit === "^" || unit === "$") {
      this.#at++
      return { kind: "assert", which: unit }
    }
    const [text] = this.#take(unit === "\\" ? ESCAPE : unit === "[" ? CLASS : ANY_UNIT)!
    if (text === "\\b" || text === "\\B") return { kind: "assert", which: text[1] as Assertion }
    if (/^\\[1-9k]/.test(text)) throw new Unusable("back-references take too long")
    return { kind: "set", set: setOf(text, this.#modifiers) }
  }

  #group(): Node {
    const match = this.#take(GROUP)
    if (match === undefined) this.#at++
    const [, behind, sign, modifiers] = match ?? []
    const isLook = sign !== undefined
    if (isLook && this.#inLook) throw new Unusable("a look-around within a look-around takes too long")
    const outside = this.#modifiers
    if (modifiers !== undefined && modifiers !== "") this.#modifiers = [...outside, modifiers]
    this.#inLook ||= isLook
    const node = this.#alternatives()
    this.#at++
    this.#modifiers = outside
    if (!isLook) return node
    this.#inLook = false
    return { kind: "look", node, ahead: behind === "", negated: sign === "!" }
  }

  #take(what: RegExp): RegExpExecArray | undefined {
    what.lastIndex = this.#at
    const match = what.exec(this.#source)
    if (match === null) return undefined
    this.#at = what.lastIndex
    return match
  }
}

const ANY_UNIT = /[\s\S]/y

const known = new Map<string, Uint8Array>()

/** The characters that an atom matches, as the engine itself says. */
function setOf(atom: string, modifiers: readonly string[]): Uint8Array {
  const whole = modifiers.reduceRight((inner, one) => `(?${one}:${inner})`, atom)
  let set = known.get(whole)
  if (set === undefined) {
    const regex = new RegExp(`^${whole}$`)
    set = Uint8Array.from({ length: 256 }, (_, code) => (regex.test(String.fromCharCode(code)) ? 1 : 0))
    known.set(whole, set)
  }
  return set
}

const tooLarge = (): Unusable =>
  new Unusable(`too large: written out, its repetitions have more than ${MOST_STEPS} steps`)

/** @param backwards for reading a text from its end */
function compiled(node: Node, backwards: boolean): Program {
  const program: Program = { op: [], x: [], y: [], sets: [], looks: [] }
  const add = (op: number, x = 0, y = 0): number => {
    if (program.op.length >= MOST_STEPS) throw tooLarge()
    program.op.push(op)
    program.x.push(x)
    program.y.push(y)
    return program.op.length - 1
  }
  const next = (): number => program.op.length
  /** Skips what `body` adds, or prefers to. */
  const optional = (body: () => void, lazy: boolean): void => {
    const at = add(STEP.either)
    body()
    const [inside, behind] = [at + 1, next()]
    program.x[at] = lazy ? behind : inside
    program.y[at] = lazy ? inside : behind
  }
  let puts = 0
  const put = (one: Node): void => {
    // Repeated groups that are empty add no step.
    if (++puts > 10 * MOST_STEPS) throw tooLarge()
    switch (one.kind) {
      case "set":
        add(STEP.set, program.sets.push(one.set) - 1)
        return
      case "assert":
        add(STEP.assert, ASSERTIONS.indexOf(one.which))
        return
      case "look": {
        const { ahead, negated } = one
        add(STEP.look, program.looks.push({ program: compiled(one.node, ahead), ahead, negated }) - 1)
        return
      }
      case "all":
        for (const each of backwards ? one.nodes.toReversed() : one.nodes) put(each)
        return
      case "any": {
        const ends: number[] = []
        for (const [n, each] of one.nodes.entries()) {
          const isLast = n === one.nodes.length - 1
          const at = isLast ? -1 : add(STEP.either, next() + 1)
          put(each)
          if (isLast) break
          ends.push(add(STEP.go))
          program.y[at] = next()
        }
        for (const at of ends) program.x[at] = next()
        return
      }
      case "repeat": {
        for (let n = 0; n < one.least; n++) put(one.node)
        if (one.most === Infinity) {
          const at = next()
          optional(() => {
            put(one.node)
            add(STEP.go, at)
          }, one.lazy)
        } else if (one.most > one.least) {
          const more = (n: number): void =>
            optional(() => {
              put(one.node)
              if (n > 1) more(n - 1)
            }, one.lazy)
          if (one.most - one.least > MOST_STEPS) throw tooLarge()
          more(one.most - one.least)
        }
      }
    }
  }
  put(node)
  add(STEP.done)
  return program
}
