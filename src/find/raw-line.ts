/** Tells from the raw line whether it may fulfil a requirement, because decoding it costs more. Pure. */
import type { Node } from "./parse-query.ts"

/**
 * True for every line that fulfils it, and for some that do not. A phrase matches within one text of a line, not across
 * two.
 */
export function lineMayFulfil(must: Node): (line: string) => boolean {
  switch (must.kind) {
    case "phrase": {
      const pattern = patternOf(must.text)
      return pattern === undefined ? () => true : (line) => pattern.test(line)
    }
    case "and": {
      const each = must.nodes.map(lineMayFulfil)
      return (line) => each.every((may) => may(line))
    }
    case "or": {
      const each = must.nodes.map(lineMayFulfil)
      return (line) => each.some((may) => may(line))
    }
    default:
      return () => true
  }
}

/** White space between words, raw or as JSON escapes it. */
const BETWEEN = "(?:\\s|\\\\[nrtf]|\\\\u[0-9a-fA-F]{4})+"

/** @returns undefined when the phrase has characters that JSON may escape in ways not covered here */
function patternOf(phrase: string): RegExp | undefined {
  if (!/^[\x20-\x7e]+$/.test(phrase)) return undefined
  return new RegExp(phrase.replace(/\W/g, written), "i")
}

/** How a character may be written in JSON. Some writers escape more than they must. */
function written(char: string): string {
  if (char === " ") return BETWEEN
  if (char === "\\") return "\\\\\\\\"
  return /["/<>&'=+`]/.test(char) ? `(?:\\\\?\\${char}|\\\\u00[0-9a-fA-F]{2})` : `\\${char}`
}
