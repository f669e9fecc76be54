/**
 * Where a token found by one of its anchors begins and ends. Loaded, with all formats, only when there is something that
 * may be a token: see ../rules.ts. Pure.
 */
import { ROWS } from "../../../dist/formats/rows.js"
import { isBeginning } from "../beginning.ts"
import type { Span } from "../lines.ts"
import { FORMATS } from "./all-formats.ts"
import { ALPHABETS, middleOf, parseShape, type Shape, shapeExpression } from "./shape.ts"

interface Rule {
  readonly expression: string
  readonly shape: Shape
  /** Compiled when it is first needed. */
  regex?: RegExp
  /** How many characters precede the anchor. */
  readonly before: { readonly least: number; readonly greatest: number }
  /** Whether a dot that ends a sentence would match, too. */
  readonly mayEndInDot: boolean
}

let rules: Map<string, readonly Rule[]> | undefined

/** The rules of an anchor. Only its own rows are read: reading all of them takes a new process 10 ms. */
function rulesOf(anchor: string): readonly Rule[] {
  rules ??= new Map()
  let found = rules.get(anchor)
  if (found === undefined) {
    found = rowsOf(anchor).map(ruleOf)
    rules.set(anchor, found)
  }
  return found
}

function rowsOf(anchor: string): number[] {
  const start = ROWS.indexOf(`\n${anchor} `)
  if (start < 0) return []
  return ROWS.slice(start + anchor.length + 2, ROWS.indexOf("\n", start + 1))
    .split(" ")
    .map(Number)
}

/** What is looked at of a run before a token. */
const RUN_BEFORE = 36

const NOTHING = { least: 0, greatest: 0 }

function ruleOf(row: number): Rule {
  const shape = parseShape(FORMATS[row]![1])
  const before = shape.form === undefined && shape.parts[0]!.kind === "run" ? middleOf(shape.parts) : NOTHING
  const last = shape.parts.at(-1)
  const mayEndInDot = last?.kind === "run" && ALPHABETS[last.alphabet].includes(".")
  return { expression: shapeExpression(shape), shape, before, mayEndInDot }
}

/**
 * The token that the anchor at `at` belongs to; the longest one if several formats fit.
 *
 * @returns undefined if there is none
 */
export function spanAt(text: string, anchor: string, at: number): Span | undefined {
  let longest: Span | undefined
  for (const rule of rulesOf(anchor)) {
    for (let start = at - rule.before.least; start >= Math.max(0, at - rule.before.greatest); start--) {
      if (rule.before.greatest > 0 && !isBeginning(text, start)) continue
      const end = endOf(rule, text, start)
      if (end > (longest?.end ?? at)) longest = { start, end }
    }
  }
  return longest
}

function endOf(rule: Rule, text: string, start: number): number {
  if (rule.shape.isStrict && /[_./-]/.test(text[start - 1] ?? "")) return -1
  rule.regex ??= new RegExp(rule.expression, "y")
  rule.regex.lastIndex = start
  const match = rule.regex.exec(text)
  if (match === null) return -1
  // Random text of this length has a digit or a capital; otherwise it is a name.
  if (/^[a-z_.:+/-]+$/.test(match[0])) return -1
  if (!match.slice(1).every((run) => run === undefined || looksRandom(run))) return -1
  return start + (rule.mayEndInDot ? match[0].replace(/\.+$/, "") : match[0]).length
}

/**
 * Whether a run is no hash and no name: a quarter of its letters and digits are of another kind (capital, digit, other)
 * than the one before, or two fifths if none is a digit.
 */
function looksRandom(run: string): boolean {
  const plain = run.replace(/[_-]/g, "")
  if (/^[0-9a-f]+$/.test(plain)) return false
  let changes = 0
  for (let n = 1; n < plain.length; n++) if (kindOf(plain, n) !== kindOf(plain, n - 1)) changes++
  return changes >= plain.length * (/\d/.test(plain) ? 0.25 : 0.4)
}

const kindOf = (run: string, n: number): number => {
  const code = run.charCodeAt(n)
  return code < 0x3a ? 0 : code < 0x5b ? 1 : 2
}

/**
 * Whether `+` or `/` before `start` belongs to base64, and not to a path, an address, a branch or a query: there, words
 * or numbers stand before it.
 */
export function isWithinBase64(text: string, start: number): boolean {
  if (text[start - 1] !== "+" && text[start - 1] !== "/") return false
  const [run] = /[\w+/-]*$/.exec(text.slice(Math.max(0, start - RUN_BEFORE), start))!
  return !/^(?:(?:[a-z\d]{0,12}|[0-9a-f]{7,40}|[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)*|[A-Z]{2,12})(?:[+/_-]|$))*$/.test(
    run,
  )
}
