/**
 * The user's own patterns. They run in hooks, so patterns that could run for ever are refused, and a pattern sees only
 * a part of a long text at a time. Pure.
 */
import type { AddSpan } from "./blocks.ts"
import { look } from "./clock.ts"
import { isJsonLine, stringsOf } from "./lines.ts"

const LONGEST_PATTERN = 300
const MOST_UNBOUNDED = 3
/**
 * How much text a pattern sees at a time, and at least how much of it is repeated in the next window: longer matches
 * may be missed.
 */
const WINDOW = 4096
const OVERLAP = 512
/** How much text before a match that continues past the window is repeated, for patterns that depend on it. */
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
  // Classes and escapes contain no structure.
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

/**
 * Whether a repeated group contains, at any depth, a repetition or alternatives: then each character can double the
 * time.
 */
function repeatsChoices(bare: string): boolean {
  /** For each open group, whether it contains one. */
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

/** The beginning of a group that is more than a plain one. */
const OPENING = /\(\?(?:<?[=!]|<\w+>|[\w-]*:)/y

/** Searches the strings in lines of JSON, and all of other lines. Unusable patterns are skipped. */
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
        // The next window contains all of it, unless it is longer than a window.
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
    // The text has one character per byte of UTF-8.
    regex = new RegExp(Buffer.from(pattern).toString("latin1"), "g")
    compiled.set(pattern, regex)
  }
  return regex
}
