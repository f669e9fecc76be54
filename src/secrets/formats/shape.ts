/**
 * The notation in which the tables describe a format, and the regular expression made of it. Pure.
 *
 *     ghp_{an 36..255}      the text, then 36 to 255 of an alphabet; here and at the end, also more
 *     {hex 32}              exactly 32, but at the end, also more: services lengthen their tokens
 *     {hex 32}!             exactly 32, and no letter or digit behind it: for what resembles other things
 *     (live|test)_          one of these
 *     (-{hex 8})?           may be missing
 *     ^key-{hex 32}         nothing before it that a name may consist of: for what ordinary words begin with
 *     #airtable:pat{an 14}  found by its first word's form (see ../tokens.ts)
 */

/**
 * A row of the tables: whose token, its shape, and where that is documented: the service's own site, or the scanner
 * that lists it.
 */
export type Format = readonly [service: string, shape: string, source: string]

/** Sets of characters, as in a character class. */
export const ALPHABETS = {
  d: "0-9",
  hex: "0-9a-f",
  /** Upper or lower case. */
  Hex: "0-9A-Fa-f",
  low: "a-z0-9",
  up: "A-Z0-9",
  az: "A-Za-z",
  an: "A-Za-z0-9",
  /** Like `an`, but behind a common word, so it must look random. */
  mix: "A-Za-z0-9",
  mixed: "\\w-",
  w: "\\w",
  url: "\\w-",
  /** With up to two `=` behind it. */
  b64: "A-Za-z0-9+/",
  /** Several parts of URL-safe base64. */
  dot: "\\w.-",
  /** Also base64, with up to two `=` behind it. */
  any: "\\w.+/-",
  tok: "\\w.~-",
  /** Microsoft's accounts. */
  live: "\\w.!*$-",
  fly: "\\w=/+-",
  /** URL-encoded. */
  pct: "\\w%.~-",
  /** All but blanks, quotation marks, angle brackets and the backslash. */
  print: "!#-&(-;=?-\\[\\]-_a-~",
  /** The 36 characters of a UUID. */
  uuid: "0-9A-Fa-f-",
} as const

export type Alphabet = keyof typeof ALPHABETS

export type ShapePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "run"; readonly alphabet: Alphabet; readonly least: number; readonly greatest: number }
  | {
      readonly kind: "choice"
      readonly options: readonly (readonly ShapePart[])[]
      readonly optional: boolean
    }

export interface Shape {
  readonly parts: readonly ShapePart[]
  /** `^` */
  readonly isStrict: boolean
  /** `!` */
  readonly isWhole: boolean
  /** `#name` */
  readonly form: string | undefined
}

/** Of a run whose row names no greatest length. */
export const OPEN = Number.POSITIVE_INFINITY

export function parseShape(written: string): Shape {
  const [, form, strict, body, whole] = /^(#\w+)?:?(\^?)(.*?)(!?)$/.exec(written)!
  const reader = { text: body!, at: 0 }
  const parts = partsOf(reader, false)
  return { parts, isStrict: strict !== "", isWhole: whole !== "", form }
}

interface Reader {
  readonly text: string
  at: number
}

/** @param isOption whether `|` and `)` end these parts; otherwise they are text */
function partsOf(reader: Reader, isOption: boolean): ShapePart[] {
  const parts: ShapePart[] = []
  while (reader.at < reader.text.length && !(isOption && "|)".includes(reader.text[reader.at]!))) {
    const unit = reader.text[reader.at]
    if (unit === "{") parts.push(runOf(reader))
    else if (unit === "(") parts.push(choiceOf(reader))
    else parts.push(textOf(reader, isOption))
  }
  return parts
}

function textOf(reader: Reader, isOption: boolean): ShapePart {
  const regex = isOption ? /[^{}()|]+/y : /[^{}()]+/y
  regex.lastIndex = reader.at
  const text = regex.exec(reader.text)?.[0]
  if (text === undefined) throw new Error(`${reader.text}: unexpected ${reader.text[reader.at]}`)
  reader.at += text.length
  return { kind: "text", text }
}

function runOf(reader: Reader): ShapePart {
  const regex = /\{(\w+)(?: (\d+)(\.\.(\d+)?)?)?\}/y
  regex.lastIndex = reader.at
  const match = regex.exec(reader.text)
  const isUuid = match?.[1] === "uuid"
  if (!Object.hasOwn(ALPHABETS, match?.[1] ?? "") || isUuid !== (match?.[2] === undefined)) {
    throw new Error(`${reader.text}: no such run at ${reader.at}`)
  }
  reader.at = regex.lastIndex
  const least = isUuid ? 36 : Number(match![2])
  const greatest = match![3] === undefined ? least : Number(match![4] ?? OPEN)
  return { kind: "run", alphabet: match![1] as Alphabet, least, greatest }
}

function choiceOf(reader: Reader): ShapePart {
  const options: ShapePart[][] = []
  do {
    reader.at++
    options.push(partsOf(reader, true))
  } while (reader.text[reader.at] === "|")
  if (reader.text[reader.at] !== ")") throw new Error(`${reader.text}: a parenthesis is open`)
  reader.at++
  const optional = reader.text[reader.at] === "?"
  if (optional) reader.at++
  return { kind: "choice", options, optional }
}

/** The source of a regular expression that matches at the token's first character. */
export function shapeExpression({ parts, isWhole }: Shape): string {
  return `${expression(parts, !isWhole)}${isWhole ? "(?![A-Za-z0-9])" : ""}`
}

/** @param isEnd whether nothing needs to follow these parts, so that their last run takes all there is */
function expression(parts: readonly ShapePart[], isEnd: boolean): string {
  let source = ""
  for (const [n, part] of parts.entries()) {
    const isLast = isEnd && parts.slice(n + 1).every((one) => one.kind === "choice" && one.optional)
    if (part.kind === "text") source += escaped(part.text)
    else if (part.kind === "run") source += runExpression(part, isLast)
    else {
      const options = part.options.map((one) => expression(one, isLast))
      source += `(?:${options.join("|")})${part.optional ? "?" : ""}`
    }
  }
  return source
}

const HEX = "[0-9A-Fa-f]"
const UUID = `${HEX}{8}-(?:${HEX}{4}-){3}${HEX}{12}`

function runExpression({ alphabet, least, greatest }: ShapePart & { kind: "run" }, isLast: boolean): string {
  if (alphabet === "uuid") return UUID
  const length =
    isLast || greatest === OPEN ? `${least},` : least === greatest ? `${least}` : `${least},${greatest}`
  const run = `[${ALPHABETS[alphabet]}]{${length}}`
  if (alphabet.startsWith("mix")) return `(${run})`
  return alphabet === "b64" || alphabet === "any" ? `${run}={0,2}` : run
}

const escaped = (text: string): string => text.replace(/[.$+|/^]/g, "\\$&")

/** What a format is found by. */
export interface Anchor {
  /**
   * A word and the separator behind it; the first three or four characters, a capital before all; any other text, at
   * the beginning or behind runs; or the form of the first word.
   */
  readonly kind: "word" | "head" | "literal" | "middle" | "form"
  readonly text: string
}

const WORD = /^(?:[A-Za-z][A-Za-z0-9]*|[A-Za-z0-9]{2,})[_.:$~-]/
/** No text needs to be searched for in full. */
const LONGEST_LITERAL = 12
const LONGEST_HEAD = 4

export function anchorsOf({ parts, form }: Shape): Anchor[] {
  if (form !== undefined) return [{ kind: "form", text: form }]
  if (parts[0]?.kind === "run") return [middleAnchor(middleOf(parts).text)]
  const found = headsOf(parts).map(anchorOf)
  return [...new Map(found.map((one) => [one.text, one])).values()]
}

function anchorOf(head: string): Anchor {
  const word = WORD.exec(head)?.[0]
  if (word !== undefined) return { kind: "word", text: word }
  // Any JSON in base64. One search finds all of these.
  if (head.startsWith("eyJ")) return { kind: "literal", text: "eyJ" }
  if (head.length < 2) throw new Error(`${head}: too short to be searched for`)
  return /^[A-Z]\w{2}[^ ]*$/.test(head)
    ? { kind: "head", text: head.slice(0, LONGEST_HEAD) }
    : { kind: "literal", text: head.slice(0, LONGEST_LITERAL).trimEnd() }
}

/** A word between two separators is found like one at the beginning. */
const middleAnchor = (text: string): Anchor =>
  /^[_.:$~-][a-z]\w+[_.:$~-]$/.test(text) ? { kind: "word", text: text.slice(1) } : { kind: "middle", text }

/** The longest text of a shape that begins with a run, and how many characters precede it. */
export function middleOf(parts: readonly ShapePart[]): { text: string; least: number; greatest: number } {
  const texts = parts.map((part) => (part.kind === "text" ? part.text : ""))
  const text = texts.reduce((longest, one) => (one.length > longest.length ? one : longest))
  if (text.length < 2) throw new Error("a format that begins with random characters needs a text behind them")
  const before = parts.slice(0, texts.indexOf(text))
  const extra = middleAnchor(text).kind === "word" ? 1 : 0
  const sum = (of: (part: ShapePart) => number): number => before.reduce((total, part) => total + of(part), 0)
  return { text, least: sum(leastOf) + extra, greatest: sum(greatestOf) + extra }
}

const leastOf = (part: ShapePart): number =>
  part.kind === "text" ? part.text.length : part.kind === "run" ? part.least : 0
const greatestOf = (part: ShapePart): number =>
  part.kind === "text" ? part.text.length : part.kind === "run" ? part.greatest : 0

const HEX_DIGITS = "0123456789abcdefABCDEF"

/** Every text with which these parts can begin, up to the first run; two capitals with a hexadecimal digit. */
function headsOf(parts: readonly ShapePart[]): string[] {
  return beginnings(parts).flatMap(({ text, next }) => {
    if (!/^[A-Z]{2}$/.test(text) || next === undefined) return [text]
    const digits = next === "hex" ? HEX_DIGITS.slice(0, 16) : next === "Hex" ? HEX_DIGITS : ""
    return digits.split("").map((digit) => text + digit)
  })
}

/** `next`: the alphabet of the run behind `text`. */
type Beginning = { readonly text: string; readonly next: Alphabet | undefined }

function beginnings(parts: readonly ShapePart[]): Beginning[] {
  const [first, ...rest] = parts
  if (first === undefined) return [{ text: "", next: undefined }]
  if (first.kind === "run") return [{ text: "", next: first.alphabet }]
  const firsts =
    first.kind === "text"
      ? [{ text: first.text, next: undefined }]
      : [...first.options.flatMap(beginnings), ...(first.optional ? [{ text: "", next: undefined }] : [])]
  return firsts.flatMap(({ text, next }) =>
    next === undefined
      ? beginnings(rest).map((one) => ({ ...one, text: text + one.text }))
      : [{ text, next }],
  )
}
