/** Where a value in a text ends, whatever the text stands in: a file, a string of JSON, or a string in such a string. Pure. */

/** A part of the text. */
export interface Value {
  readonly start: number
  readonly end: number
}

export const isBlankUnit = (unit: string | undefined): boolean => unit === " " || unit === "\t"
export const isQuote = (unit: string | undefined): boolean => unit === '"' || unit === "'" || unit === "`"

/** Index after blanks, of which an escaped tab is one; at most `most` of them. */
export function pastBlanks(text: string, start: number, most: number): number {
  let at = start
  for (let n = 0; n < most; n++) {
    if (isBlankUnit(text[at])) at++
    else if (text[at] === "\\" && escaped(text, at) === "t") at = pastSlashes(text, at) + 1
    else break
  }
  return at
}

/** The length of the line break at `at`, in the text or escaped; 0 when there is none. */
export function isBreak(text: string, at: number): number {
  if (text[at] === "\n") return 1
  if (text[at] === "\r") return text[at + 1] === "\n" ? 2 : 0
  if (text[at] !== "\\") return 0
  const past = pastSlashes(text, at) + 1
  const unit = text[past - 1]
  return unit === "n" ? past - at : unit === "r" && text[past] === "\\" ? past - at + isBreak(text, past) : 0
}

/** Index after a quotation mark with its backslashes; `at` when there is none. */
export function pastMarks(text: string, at: number): number {
  const past = text[at] === "\\" ? pastSlashes(text, at) : at
  return isQuote(text[past]) ? past + 1 : at
}

function pastSlashes(text: string, start: number): number {
  let at = start
  while (at < start + 7 && text[at] === "\\") at++
  return at
}

const escaped = (text: string, at: number): string | undefined => text[pastSlashes(text, at)]

/** Longer values without quotes are none: nothing that stands in one piece is longer than a JSON web token. */
const LONGEST_BARE = 8192
const LONGEST_QUOTED = 2048

/** The value in quotation marks that begin at `at`. */
export function quotedAt(text: string, at: number): Value | undefined {
  // Some languages put letters before it.
  let open = at
  while (open < at + 2 && "bBruL@".includes(text[open] ?? " ")) open++
  let start = pastMarks(text, open)
  if (start === open && open > at) {
    open = at
    start = pastMarks(text, open)
  }
  if (start === open) return undefined
  const depth = start - open - 1
  const mark = text[start - 1]!
  const piece = text.slice(start, start + LONGEST_QUOTED)
  for (let found = piece.indexOf(mark); found >= 0; found = piece.indexOf(mark, found + 1)) {
    let slashes = 0
    while (slashes < found && piece[found - 1 - slashes] === "\\") slashes++
    if (slashes > depth && isEscapedIn(depth, slashes, mark)) continue
    const value = piece.slice(0, found - Math.min(slashes, depth))
    return value.includes("\n") ? undefined : { start, end: start + value.length }
  }
  return undefined
}

/**
 * Whether a mark after so many backslashes belongs to the value.
 *
 * @param depth backslashes before the opening mark: 0, 1, 3 or 7, each level of JSON doubles them and adds one
 */
function isEscapedIn(depth: number, slashes: number, mark: string): boolean {
  if (mark !== '"') return true
  let left = slashes
  for (let level = depth; level > 0; level >>= 1) {
    if (left % 2 === 0) return false
    left = (left - 1) / 2
  }
  return left % 2 === 1
}

/** What ends a bare value besides blanks. `line` is for settings, whose values reach to the end of their line. */
export type Bare = "line" | "word" | "element" | "cell" | "ascii" | "field"

let last: { text: string; how: Bare; start: number; end: number; times: number } | undefined

/** So many values within each other are examined: a run of `key:key:…` would be judged from each of its operators. */
const MOST_WITHIN = 8

/** The value without quotation marks that begins at `start`; undefined if it never ends. */
export function bareAt(text: string, start: number, how: Bare): Value | undefined {
  // Values within values end where these do, so nothing is read twice.
  const isKnown = last !== undefined && last.text === text && last.how === how
  const isWithin = isKnown && last!.start <= start && start < last!.end
  const end = isWithin ? last!.end : bareEnd(text, start, how)
  const times = isWithin ? last!.times + 1 : 1
  last = { text, how, start, end, times }
  if (end - start > LONGEST_BARE || times > MOST_WITHIN) return undefined
  const trimmed = how === "line" ? end : withoutMarks(text, start, end)
  return trimmed > start ? { start, end: trimmed } : undefined
}

function bareEnd(text: string, start: number, how: Bare): number {
  const most = Math.min(text.length, start + LONGEST_BARE + 1)
  let at = start
  while (at < most) {
    const code = text.charCodeAt(at)
    if (code <= 0x20 || (how === "ascii" && code > 0x7e)) break
    const unit = text[at]!
    if (unit === "\\") {
      let past = at
      while (text[past] === "\\") past++
      const next = text[past] ?? ""
      const isBlank = "nrt".includes(next) || next === ""
      if (isBlank) break
      if ("\"'`".includes(next) && ((past - at) % 2 === 1 || next !== '"') && endsAt(text, past, how)) break
      at = past + 1
      continue
    }
    if ("\"'`".includes(unit) && (unit === '"' || endsAt(text, at, how))) break
    if (how === "element" && unit === "<") break
    if (how === "cell" && unit === "|") break
    if (how === "field" && unit === ",") break
    if ((unit === "&" || unit === ";" || unit === ",") && nextPair(text, at, how)) break
    at++
  }
  return at
}

/** Whether a quotation mark ends a bare value. In a line of settings, it may be a part of it. */
const endsAt = (text: string, at: number, how: Bare): boolean =>
  how === "element"
    ? /\s/.test(text[at + 1] ?? " ")
    : how !== "line" || !/[\w!@#$%^*+=-]/.test(text[at + 1] ?? " ")

const pair = (): RegExp => /[&;] ?[A-Za-z][A-Za-z_. -]{2,40}=/y
const pairOfWord = (): RegExp => /[&;,] ?\\{0,7}["']?[A-Za-z][\w.-]{0,40}\\{0,7}["']?[=:]/y

/** Whether the next of several pairs of names and values follows, as in a query or a connection string. */
function nextPair(text: string, at: number, how: Bare): boolean {
  const next = how === "line" ? pair() : pairOfWord()
  next.lastIndex = at
  if (next.test(text)) return true
  return text[at] === ";" && /[\s"'\\]/.test(text[at + 1] ?? " ")
}

/** Leaves out the marks of the sentence or the code around it. */
function withoutMarks(text: string, start: number, end: number): number {
  let to = end
  while (to > start && ",;:.)]}>*\\".includes(text[to - 1]!)) {
    const close = text[to - 1]!
    const open = close === ")" ? "(" : close === "]" ? "[" : close === "}" ? "{" : ""
    if (open !== "" && text.slice(start, to - 1).includes(open)) break
    to--
  }
  return to
}
