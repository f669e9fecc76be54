/**
 * Regular expressions whose search takes time in proportion to text and expression, whatever both are (docs/adr/0009).
 * They mean what they mean in JavaScript, except that repetitions of what may be empty can end earlier. Back-references
 * and look-arounds within look-arounds are refused. Pure.
 *
 * Here an expression becomes a program: small steps that `patterns.ts` follows.
 */

/** Steps of a program. `x` and `y` are steps to go on with, or what the comments say. */
export const STEP = {
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

export type Assertion = "^" | "$" | "b" | "B"
export const ASSERTIONS: readonly Assertion[] = ["^", "$", "b", "B"]

export interface LookAround {
  /** Begins or ends at a position and is followed away from it; a look-ahead's is made for reading backwards. */
  readonly program: Program
  readonly ahead: boolean
  readonly negated: boolean
}

export interface Program {
  readonly op: number[]
  readonly x: number[]
  readonly y: number[]
  /** For each character code below 256, 1 if it is in the set. */
  readonly sets: Uint8Array[]
  readonly looks: LookAround[]
}

/** Why an expression cannot be used, in words. */
export class Unusable extends Error {
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

export interface Expression {
  readonly program: Program
  /** What every match contains; may be empty. A text without it needs no closer look. */
  readonly needs: string
}

/** @throws Unusable */
export function expressionOf(source: string): Expression {
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
