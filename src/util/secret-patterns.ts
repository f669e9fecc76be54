/**
 * The user's own patterns. They run in hooks, so what could take for ever is refused beforehand, and a pattern sees
 * only a piece of a long text at a time. Pure.
 */
import type { AddSpan } from "./secret-blocks.ts"
import { look } from "./secret-clock.ts"
import { isJsonLine, stringsOf } from "./secret-lines.ts"

const LONGEST_PATTERN = 300
const MOST_UNBOUNDED = 3
/** A pattern's text at a time, and how much of it is looked at again with the next, at least: the longest sure match. */
const WINDOW = 4096
const OVERLAP = 512
/** What is looked at before a match that goes on behind the window, for those that depend on it. */
const BEFORE = 64

let compiled: Map<string, RegExp> | undefined

/** What is wrong with a pattern, in words; undefined when it can be used. */
export function problemOf(pattern: string): string | undefined {
  if (pattern.length > LONGEST_PATTERN) return `longer than ${LONGEST_PATTERN} characters`
  try {
    new RegExp(pattern, "g")
  } catch {
    return "not a regular expression"
  }
  // Classes and escapes hold no structure.
  const bare = pattern.replace(/\\./g, "x").replace(/\[[^\]]*\]/g, "x")
  if (/\\[1-9k]/.test(pattern)) return "back-references take too long"
  if (repeatsChoices(bare)) {
    return "a repeated group with repetitions or alternatives in it may take for ever"
  }
  if ((bare.match(/[*+]|\{\d+,\}/g) ?? []).length > MOST_UNBOUNDED) {
    return `more than ${MOST_UNBOUNDED} of *, + and {n,} take too long`
  }
  return new RegExp(pattern).test("") ? "it matches the empty text" : undefined
}

/** Whether a group is repeated that holds, however deep, a repetition or alternatives: each letter doubles the time. */
function repeatsChoices(bare: string): boolean {
  /** Of each group that is open, whether it holds one. */
  const groups = [false]
  for (let at = 0; at < bare.length; at++) {
    const unit = bare[at]!
    if (unit === "(") {
      groups.push(false)
      OPENING.lastIndex = at
      at = OPENING.test(bare) ? OPENING.lastIndex - 1 : at
    } else if (unit === ")") {
      const holds = groups.pop() === true
      if (holds && "*+{".includes(bare[at + 1] ?? " ")) return true
      if (holds) groups[groups.length - 1] = true
    } else if ("*+?{|".includes(unit)) groups[groups.length - 1] = true
  }
  return false
}

/** How a group begins that says more than that it is one. */
const OPENING = /\(\?(?:<?[=!]|<\w+>|[\w-]*:)/y

/** Within the strings of lines of JSON, and anywhere in other lines. A pattern that cannot be used is passed over. */
export function findPatterns(text: string, patterns: readonly string[], add: AddSpan): void {
  const usable = patterns.map(regexOf).filter((one) => one !== undefined)
  if (usable.length === 0) return
  for (let start = 0; start < text.length; ) {
    const newline = text.indexOf("\n", start)
    const end = newline < 0 ? text.length : newline
    const pieces = isJsonLine(text, start) ? stringsOf(text, start, end) : [{ start, end, isKey: false }]
    for (const piece of pieces) if (!piece.isKey) inPiece(text, piece.start, piece.end, usable, add)
    start = end + 1
  }
}

function inPiece(text: string, start: number, end: number, patterns: readonly RegExp[], add: AddSpan): void {
  for (let from = start; ; ) {
    const window = text.slice(from, Math.min(end, from + WINDOW))
    look()
    let next = WINDOW - OVERLAP
    for (const pattern of patterns) {
      for (const { 0: found, index } of window.matchAll(pattern)) {
        add(from + index, from + index + found.length)
        // All of it stands in the next window, unless it is longer than one.
        if (index + found.length === WINDOW && index > OVERLAP) next = Math.min(next, index - BEFORE)
      }
    }
    if (from + WINDOW >= end) return
    from += next
  }
}

function regexOf(pattern: string): RegExp | undefined {
  compiled ??= new Map()
  let regex = compiled.get(pattern)
  if (regex === undefined && problemOf(pattern) === undefined) {
    // Text is given as bytes of UTF-8.
    regex = new RegExp(Buffer.from(pattern).toString("latin1"), "g")
    compiled.set(pattern, regex)
  }
  return regex
}
