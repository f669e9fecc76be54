/**
 * All formats, and where a token found by one of its anchors begins and ends. Loaded only when there is something that
 * may be a token: see ../rules.ts. Pure.
 */

import { isBeginning } from "../beginning.ts"
import { CLOUDS } from "./clouds.ts"
import { CODE } from "./code.ts"
import type { Format } from "./format.ts"
import { MESSAGES } from "./messages.ts"
import { MODELS } from "./models.ts"
import { MONEY } from "./money.ts"
import { type Anchor, anchorsOf, expressionOf, middleOf, parseShape, type Shape } from "./shape.ts"
import { TOOLS } from "./tools.ts"

export const FORMATS: readonly Format[] = [...MODELS, ...CODE, ...CLOUDS, ...MESSAGES, ...MONEY, ...TOOLS]

interface Rule {
  readonly expression: string
  readonly shape: Shape
  /** Compiled when it is first needed. */
  regex?: RegExp
  /** How many characters precede the anchor. */
  readonly before: { readonly least: number; readonly greatest: number }
}

export interface Span {
  readonly start: number
  readonly end: number
}

let rules: Map<string, Rule[]> | undefined

/** Every anchor of a kind. */
export function anchorsOfKind(kind: Anchor["kind"]): string[] {
  const all = FORMATS.flatMap(([, written]) => anchorsOf(parseShape(written)))
  return [...new Set(all.filter((one) => one.kind === kind).map(({ text }) => text))].sort()
}

/** The rules by their anchors. */
function byAnchor(): Map<string, Rule[]> {
  const found = new Map<string, Rule[]>()
  for (const [, written] of FORMATS) {
    const shape = parseShape(written)
    const before =
      shape.form === undefined && shape.parts[0]!.kind === "run" ? middleOf(shape.parts) : NOTHING
    const rule = { expression: expressionOf(shape), shape, before }
    for (const { text } of anchorsOf(shape)) {
      const known = found.get(text)
      if (known === undefined) found.set(text, [rule])
      else known.push(rule)
    }
  }
  return found
}

const NOTHING = { least: 0, greatest: 0 }

/**
 * The token that the anchor at `at` belongs to; the longest one if several formats fit.
 *
 * @returns undefined if there is none
 */
export function spanAt(text: string, anchor: string, at: number): Span | undefined {
  rules ??= byAnchor()
  let longest: Span | undefined
  for (const rule of rules.get(anchor) ?? []) {
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
  return match.slice(1).every((run) => run === undefined || looksRandom(run)) ? rule.regex.lastIndex : -1
}

/** Whether a run is no hash and no name: it has a digit, and one character in four is of another kind than the last. */
function looksRandom(run: string): boolean {
  if (!/\d/.test(run) || /^[0-9a-f]+$/.test(run)) return false
  let changes = 0
  for (let n = 1; n < run.length; n++) if (kindOf(run, n) !== kindOf(run, n - 1)) changes++
  return changes * 4 >= run.length
}

const kindOf = (run: string, n: number): number => {
  const code = run.charCodeAt(n)
  return code < 0x3a ? 0 : code < 0x5b ? 1 : 2
}
