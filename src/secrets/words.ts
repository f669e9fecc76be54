/**
 * Words for secrets at the end of a name. What may stand behind one is told by hand: an expression for all of it takes a
 * hook longer to compile than to search its lines for the words. Pure.
 */
import { isAlphanumeric } from "./beginning.ts"

/** Finds the words. */
export const wordGate = (flags: "gi" | "iy"): RegExp =>
  new RegExp(
    "(?:pass(?:w(?:or)?[dt]|phrase|code|e)?|pwd?|secret|token|key(?:base|string|private)?|auth(?:orization)?|api.?hash|" +
      "c(?:redentials?|ookie)|kennwort|jwt|pat|(?:session(?:id)?|sid|sig(?:nature)?)(?==))(?![a-z])",
    flags,
  )

const CLOSERS = "\\\"'`[]}*"
const JOINTS = ":=>,|?(<{! \t\n\v\f\r\xa0nNtT"

/**
 * The end of what stands behind a word and may join it to a value; -1 if nothing does. joint.ts takes a closer look.
 *
 * @param start of the word
 * @param end of the word
 */
export function joinedAt(text: string, start: number, end: number): number {
  const word = text.slice(start, end).toLowerCase()
  if (word === "pass" && !isPassed(text, end)) return -1
  if ((word === "pw" || word === "pwd") && isFolder(text, end)) return -1
  // The rest of the name.
  let past = end
  if (text[end] === "_" || text[end] === "-") {
    past++
    while (past < end + 21 && isNamePart(text, past)) past++
  }
  const joint = jointBehind(text, past)
  if (joint >= 0) return joint
  // `n` and `t` may be the letter of an escape.
  while (--past > end) if ("nNtT".includes(text[past]!)) return past + 1
  return -1
}

function jointBehind(text: string, from: number): number {
  let at = from
  while (at < from + 9 && CLOSERS.includes(text[at] ?? "-")) at++
  if (at >= text.length) return at
  const unit = text[at]!
  const code = text.charCodeAt(at) & 0xdf
  // A letter of many languages, or a mark of Chinese and the like.
  if (JOINTS.includes(unit) || (code > 0xc1 && code < 0xd0)) return at + 1
  if (unit === ".") return text[at + 1] === "\n" || text[at + 1] === "\\" ? at + 2 : -1
  if (unit !== ")") return -1
  const mark = text[at + 1] === " " ? at + 2 : at + 1
  return "?|oO,.".includes(text[mark] ?? "-") ? mark + 1 : -1
}

const isNamePart = (text: string, at: number): boolean =>
  isAlphanumeric(text.charCodeAt(at)) || text[at] === "_" || text[at] === "-"

/** Whether `pass`, which is mostly a verb, is followed by what settings have between name and value. */
function isPassed(text: string, end: number): boolean {
  if (text.slice(end, end + 9).toLowerCase() === " encoding") return true
  let at = end
  while (at < end + 8 && "\\\"'`]".includes(text[at] ?? "-")) at++
  const blank = at
  while (at < blank + 24 && text[at] === " ") at++
  return ":=>,".includes(text[at] ?? "-")
}

/** Whether a slash follows the marks behind `pwd`, as in `$(pwd)/src`. */
function isFolder(text: string, end: number): boolean {
  let at = end
  while (
    at < end + 20 &&
    at < text.length &&
    !isAlphanumeric(text.charCodeAt(at)) &&
    !"_/".includes(text[at]!)
  )
    at++
  return at > end && text[at] === "/"
}
