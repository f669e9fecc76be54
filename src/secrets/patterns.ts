/**
 * The user's own patterns. Loaded only if there are any. They run in hooks, so they are searched in time proportional to
 * the text, and those that cannot be are refused. Pure.
 */
import { look } from "./clock.ts"
import { expressionOf, Unusable } from "./expression.ts"
import { isJsonLine, stringsOf } from "./lines.ts"
import { Matcher } from "./matcher.ts"
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
