/**
 * Whether the gate for words is worth making: to compile it takes longer than to search a hook's lines with it, and few
 * of these have a word with something like a value behind it. By hand, since any expression costs a hook too much. Pure.
 */
import { STEMS } from "./introductions.ts"

/** Whether something like a value is near a word that begins at `start` and, with what joins it, ends at `end`. */
export type IsNear = (text: string, start: number, end: number) => boolean

type Stem = (typeof STEMS)[number]

/**
 * @param text one character per byte
 * @returns false only if no match of the gate has a value near
 */
export function mayHoldNames(text: string, isNear: IsNear): boolean {
  const lower = text.toLowerCase()
  const bytes = Buffer.from(lower, "latin1")
  for (const stem of STEMS) {
    let at = bytes.indexOf(stem, 0, "latin1")
    if (at < 0) continue
    const rests = restsOf(stem)
    const length = lengthOf(stem)
    for (; at >= 0; at = bytes.indexOf(stem, at + 1, "latin1")) {
      // `tokens`, `path`: most end here, before any call.
      const next = bytes[at + length]!
      if (next > 0x60 && next < 0x7b && rests === NONE) continue
      if (mayName(text, lower, at, stem, rests, isNear)) return true
    }
  }
  return false
}

const NONE: readonly string[] = []

/** Without what must only follow. */
const lengthOf = (stem: Stem): number => (stem.endsWith("=") ? stem.length - 1 : stem.length)

/** Whether one of the gate's words stands at `start`, as far as its stem tells, with a value near. */
function mayName(
  text: string,
  lower: string,
  start: number,
  stem: Stem,
  rests: readonly string[],
  isNear: IsNear,
): boolean {
  const end = start + lengthOf(stem)
  for (const rest of rests) {
    // Any character may stand before it: the gate says which.
    const from = lower.startsWith(rest, end) ? end : lower.startsWith(rest, end + 1) ? end + 1 : -1
    if (from >= 0 && isJoined(text, lower, start, from + rest.length, isNear)) return true
  }
  if (stem === "api" || stem === "app" || (stem === "pass" && !isBarePass(lower, end))) return false
  return isJoined(text, lower, start, end, isNear)
}

/** What may continue the words, where it is not the end of a shorter one. */
function restsOf(stem: Stem): readonly string[] {
  switch (stem) {
    case "pass":
      return ["word", "wort", "wd", "wt", "phrase", "code", "e", "prod", "dev", "stag", "live"]
    case "pw":
      return ["d"]
    case "key":
      return ["base", "string", "private"]
    case "auth":
      return ["orization", "z", "tok", "code"]
    case "api":
      return ["hash"]
    case "app":
      return ["id", "certificate"]
    case "cred":
      return ["s", "ential", "entials"]
    default:
      return NONE
  }
}

/** Whether `pass` alone may be a name here: it is an everyday word. */
function isBarePass(lower: string, end: number): boolean {
  // `keypass `, and before an encoding
  if (lower[end] === " " && ("ey".includes(lower[end - 5] ?? "-") || lower[end + 1] === "e")) return true
  let at = end
  while ("\\\"'`] ".includes(lower[at] ?? "-")) if ("\"'".includes(lower[at++]!)) return true
  return ":=>,-".includes(lower[at] ?? "+")
}

/** Whether what joins a word that ends at `end` to a value follows, and a value may be near. */
function isJoined(text: string, lower: string, start: number, end: number, isNear: IsNear): boolean {
  const behind = isLetter(lower, end) ? 0 : joinEnd(text, end)
  return behind > 0 && isNear(text, start, behind)
}

/** What may be appended to a name, at most. */
const LONGEST_SUFFIX = 21
const MOST_QUOTES = 9

/** Where the gate's match ends if its word ends at `at`: what JOIN in introductions.ts matches; 0 if nothing. */
export function joinEnd(text: string, at: number): number {
  if (text[at] === "_" || text[at] === "-") {
    let end = at + 1
    while (end - at < LONGEST_SUFFIX && isInName(text, end)) end++
    for (; end > at; end--) {
      const behind = quotesEnd(text, end)
      if (behind > 0) return behind
    }
  } else if (text[at] === ".") {
    const end = suffixEnd(text, at)
    const behind = end > 0 ? quotesEnd(text, end) : 0
    if (behind > 0) return behind
  }
  return quotesEnd(text, at)
}

/** The end of `.base` or `.private`. */
function suffixEnd(text: string, at: number): number {
  for (const suffix of [".base", ".private"]) {
    const end = at + suffix.length
    if (text.slice(at, end).toLowerCase() === suffix && text[end] !== "." && !isWord(text, end)) return end
  }
  return 0
}

function quotesEnd(text: string, from: number): number {
  let at = from
  while (at - from < MOST_QUOTES && at < text.length && "\\\"'`[]}*".includes(text[at]!)) at++
  for (; at >= from; at--) {
    const end = operatorEnd(text, at)
    if (end > 0) return end
  }
  return 0
}

function operatorEnd(text: string, at: number): number {
  if (at === text.length) return at
  const unit = text[at]!
  const code = text.charCodeAt(at)
  if (" \n\r\t\v\f\xa0:=>,|?(<{!nNtT".includes(unit)) return at + 1
  // Either case of these: the gate ignores it.
  if ((code >= 0xe2 && code <= 0xef) || (code >= 0xc2 && code <= 0xcf)) return at + 1
  if (unit === ")") {
    if (text[at + 1] === " " && isIn("?|oO,.", text, at + 2)) return at + 3
    return isIn("?|oO,.", text, at + 1) ? at + 2 : 0
  }
  return unit === "." && isIn("\n\\", text, at + 1) ? at + 2 : 0
}

const isIn = (list: string, text: string, at: number): boolean => at < text.length && list.includes(text[at]!)

function isLetter(lower: string, at: number): boolean {
  const code = lower.charCodeAt(at)
  return code > 0x60 && code < 0x7b
}

function isWord(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  return (
    (code > 0x60 && code < 0x7b) ||
    (code > 0x40 && code < 0x5b) ||
    (code > 0x2f && code < 0x3a) ||
    code === 0x5f
  )
}

const isInName = (text: string, at: number): boolean => text[at] === "-" || isWord(text, at)
