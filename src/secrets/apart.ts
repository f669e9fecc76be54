/**
 * Values that stand apart from their name: on a line below it, in the next element, behind another word or an option,
 * or before it in a sentence. Pure.
 */
import { isBreak, isQuote, pastBlanks, quotedAt, type Value } from "./value-end.ts"

/** Blanks, and then line breaks, all of them perhaps escaped. */
const BLANKS = "(?:[ \\t]|\\\\{1,7}t){0,40}"
const BREAKS = `(?:${BLANKS}(?:\\r?\\n|\\\\{1,7}(?:r\\\\{1,7})?n)){1,3}${BLANKS}`
/** The rest of a line, which may hold escaped quotation marks. */
const REST = "(?:[^\\n\\\\]|\\\\{1,7}[\"']){0,160}"

/** Tries an expression that is made when it is first needed. */
function matcher(source: string, flags = "y"): (text: string, at: number) => number {
  let regex: RegExp | undefined
  return (text, at) => {
    regex ??= new RegExp(source, flags)
    regex.lastIndex = at
    return regex.test(text) ? regex.lastIndex : -1
  }
}

/** `</name> <value>`: the element that follows the one with the name. */
export const pastElement = matcher(`</[\\w:-]{1,24}>(?:${BREAKS}|${BLANKS})<(?:value|string)>(?=[^\\s<])`)

/** `{ type = string, default = …`: the default of a variable, below what else is said of it. */
export const pastVariable = matcher(
  `\\{(?:${BREAKS}(?:type|description|sensitive|nullable|ephemeral)[ ]{0,12}=${REST}){0,4}${BREAKS}default[ ]{0,12}=[ ]{0,4}`,
)

/** `type: string`, `example: …`: a field's description in YAML. */
export const pastSchema = matcher(
  `:(?:${BREAKS}(?:type|description|format|title):${REST}){1,4}${BREAKS}(?:example|default):[ ]{1,4}`,
)

const MARK = "\\\\{0,7}[\"']"
/** What a patch, a diff or a listing puts before a line. */
const LISTED = `(?:(?:${BREAKS}|",")[-+]?(?:[ ]{0,6}\\d{1,6}(?:\\xe2\\x86\\x92|\\t|:))?[ ]{0,40}|"[-+ ][ ]{0,40}|${BLANKS})`

/** To the next field, whatever a listing puts before its line. */
export const pastListed = matcher(LISTED)

/** `{"type": "string", "value": …`: the value among the fields of an object. */
export const pastFields = matcher(
  `\\{(?:${LISTED}${MARK}[\\w.-]{1,40}${MARK}:[ ]?(?:${MARK}[^"'\\\\\\n]{0,160}${MARK}|[\\w.-]{1,24}),){0,6}${LISTED}${MARK}(?:_?value|default|plain_?[tT]ext|string|data|raw|S)${MARK}:[ ]{0,4}(?=${MARK})`,
)

/** `type: string`, `value: …`: the value among a field's fields in YAML. */
export const pastNested = matcher(
  `:(?:${LISTED}(?:type|description|sensitive|required|format|name):[^\\n\\\\"]{0,160}){0,4}${LISTED}value:[ ]{1,4}(?=[^\\s{[])`,
)

/** `{"git.example.com": …`: what belongs to each host. */
export const pastHost = matcher(
  `\\{(?:${BREAKS}|${BLANKS})\\\\{0,7}"[\\w-]{1,60}(?:\\.[\\w-]{1,60}){1,4}(?::\\d{1,5})?\\\\{0,7}":[ ]?`,
)

/** What a dump says of the value before it. */
export const pastDump = matcher(`(?:${BREAKS})?string\\(\\d{1,6}\\) (?=\\\\{0,7}")`)

/** `(…).toBe(`: what a test expects. */
export const pastExpected = matcher(
  "\\)\\.(?:to\\.)?(?:be\\.)?(?:toBe|toEqual|toStrictEqual|equals?|eql?|isEqualTo)\\(",
)

/** The option with the value that belongs to a name: `gh secret set NAME --body …`. */
export const pastOption = matcher("(?:--(?:body|value|data|secret-string|plaintext)|-[bv])[ =]{1,2}")

/** `API key provided: …` */
export const pastParticiple = matcher(
  "(?:provided|supplied|given|received|returned|generated|created|used)(?: is| was)?: {1,2}",
)

/** Marks and words of other scripts for "is", arrows and dashes, and blanks between these. */
export const pastForeign = matcher(
  "(?:\\xef\\xbc[\\x9a\\x9d]|\\xe3\\x81[\\xaf\\x8c]|\\xe3\\x80[\\x8c\\x8e]|\\xe6\\x98\\xaf|\\xe4\\xb8\\xba|\\xe2\\x86\\x92|\\xe2\\x80[\\x93\\x94]| ){1,6}(?=[!-~])",
)

/** A line that ends in a colon, and the next one. */
const pastNotice = matcher(`\\.?(?:${BREAKS}(?:[\\w,'-]{1,24} ){2,16}[\\w'-]{1,24}:)?${BREAKS}(?=[!-~])`)

/** The beginning of a line below the name, when a value stands alone there; -1 when none does. */
export function pastLine(text: string, end: number): number {
  const at = text[end] === "." ? end + 1 : end
  if (isBreak(text, pastBlanks(text, at, 4)) === 0) return -1
  const start = pastNotice(text, end)
  return start > 0 && isAlone(text, start) ? start : -1
}

/** No value alone on its line is shorter. */
const SHORTEST = 8
const LONGEST = 512

/** Whether a single long word stands on the line. */
function isAlone(text: string, start: number): boolean {
  let at = start
  while (at < start + LONGEST && text[at]! > " " && !(text[at] === "\\" && isBreak(text, at) > 0)) at++
  if (at - start < SHORTEST) return false
  const past = pastBlanks(text, at, 4)
  return past >= text.length || isBreak(text, past) > 0 || text[past] === '"'
}

/** The second argument of a call, as in `NetworkCredential("user", "…")` or `auth=("user", "…")`. */
export function secondArgument(text: string, end: number): Value | undefined {
  const open = text[end] === "=" ? pastBlanks(text, end + 1, 1) : end
  if (text[open] !== "(") return undefined
  let at = open + 1
  const first = quotedAt(text, at)
  if (first === undefined) while (at < open + 40 && /[\w.@]/.test(text[at] ?? " ")) at++
  else {
    at = first.end
    while (text[at] === "\\") at++
    at++
  }
  return at > open + 1 && text[at] === "," ? quotedAt(text, pastBlanks(text, at + 1, 1)) : undefined
}

const BRACKETS: readonly (readonly [open: string, close: string])[] = [
  ["[[", "]]"],
  ["q{", "}"],
  ["q(", ")"],
  ["qq{", "}"],
  ["%q(", ")"],
]
/** Quotation marks of a text's own, which words stand in, too. */
const CURLY: readonly (readonly [open: string, close: string])[] = [
  ["\xe2\x80\x9c", "\xe2\x80\x9d"],
  ["\xe2\x80\x9e", "\xe2\x80\x9c"],
  ["\xe2\x80\x98", "\xe2\x80\x99"],
]

/** A string in brackets, of Lua, Perl and Ruby, or in curly quotation marks. */
export function bracketedAt(text: string, at: number): Value | undefined {
  if (text[at] === "\xe2") {
    const pair = CURLY.find(([open]) => text.startsWith(open, at))
    const length =
      pair === undefined
        ? -1
        : text.slice(at + 3, at + 3 + LONGEST).search(/\xe2\x80[\x99\x9c\x9d]|[\r\n"\\]/)
    return length > 0 && text.startsWith(pair![1], at + 3 + length)
      ? { start: at + 3, end: at + 3 + length }
      : undefined
  }
  if (!"[q%".includes(text[at] ?? " ")) return undefined
  for (const [open, close] of BRACKETS) {
    if (!text.startsWith(open, at)) continue
    const start = at + open.length
    const length = text.slice(start, start + LONGEST).search(/[\s"'`\\[\]{}()]/)
    if (length > 0 && text.startsWith(close, start + length)) return { start, end: start + length }
  }
  return undefined
}

const first = (): RegExp =>
  /\\{0,7}["']value(\\{0,7}["']):[ ]?(\\{0,7}["'])([^"'\\\s]{4,512})\2,(?:[ \t\r\n]|\\{1,7}[nrt]|","|[-+]|\d{1,6}(?:\xe2\x86\x92|:)){0,48}\\{0,7}["'](?:name|key)\1:[ ]?\\{0,7}["']$/

/** `{"value": "…", "name": "NAME"}` @param start where the name begins */
export function valueFirst(text: string, start: number): Value | undefined {
  const from = Math.max(0, start - 640)
  const match = isQuote(text[start - 1]) ? first().exec(text.slice(from, start)) : null
  if (match === null) return undefined
  const at = from + match.index + match[0].indexOf(`${match[2]!}${match[3]!}${match[2]!}`) + match[2]!.length
  return { start: at, end: at + match[3]!.length }
}

/** `… is the name`: the value before its name in a sentence; `start` is where the name begins. */
export function valueBefore(text: string, start: number): Value | undefined {
  const from = Math.max(0, start - 72)
  const before = text.slice(from, start)
  const verb = before.lastIndexOf(" is ")
  if (verb < 0 || !/^(?:the|my|our|your|an?)(?: [\w.-]{1,24}){0,4} $/.test(before.slice(verb + 4)))
    return undefined
  let end = from + verb
  while (isQuote(text[end - 1]) || "\\*".includes(text[end - 1] ?? " ")) end--
  let at = end
  while (
    at > 0 &&
    end - at < LONGEST &&
    text[at - 1]! > " " &&
    !isQuote(text[at - 1]) &&
    text[at - 1] !== "\\"
  )
    at--
  // The letter of an escaped line break.
  if (text[at - 1] === "\\") at++
  while (at < end && "(*>".includes(text[at]!)) at++
  return end - at < SHORTEST ? undefined : { start: at, end }
}
