/**
 * Finds the values in manifests of Kubernetes that say `kind: Secret`: their names may be anything, and what they hold is
 * secret. In YAML and in JSON, before the kind or behind it, and with what a diff, a patch or line numbers put before
 * each line. Pure.
 */
import { look, tick } from "./clock.ts"
import type { AddSpan } from "./seek.ts"
import { isPlaceholder } from "./value.ts"
import type { Value } from "./value-end.ts"

/** How far from its kind a manifest reaches. */
const REACH = 48 << 10

const kind = (): RegExp =>
  /(?:^|\\[nrt]|\W)(\\{0,7}["'])?kind(\\{0,7}["'])?(?:[ \t]|\\{1,7}[nrt]|\r?\n){0,8}:[ \t]{0,8}\\{0,7}["']?$/

interface Kind {
  /** Where the word `kind` begins, with its quotation mark. */
  readonly at: number
  /** The quotation mark of JSON with its backslashes; undefined in YAML. */
  readonly mark: string | undefined
}

/** @param secrets where the word `Secret` stands */
export function findManifests(text: string, secrets: readonly number[], add: AddSpan): void {
  const kinds = secrets.flatMap((at) => kindAt(text, at) ?? [])
  for (const [n, one] of kinds.entries()) {
    // The next one's values are its own, and nothing is read more than twice.
    const from = Math.max(0, one.at - REACH, kinds[n - 1]?.at ?? 0)
    const to = Math.min(text.length, one.at + REACH, kinds[n + 1]?.at ?? text.length)
    if (one.mark === undefined) inLines(text, one.at, from, to, add)
    else inObject(text, one.at, one.mark, from, to, add)
  }
}

function kindAt(text: string, at: number): Kind | undefined {
  tick()
  if (/^\w/.test(text.slice(at + 6, at + 7))) return undefined
  const from = Math.max(0, at - 40)
  const match = kind().exec(text.slice(from, at))
  if (match === null) return undefined
  const start = from + match[0].search(/\\{0,7}["']?kind/) + match.index
  return { at: start, mark: match[1] === undefined || match[1] !== match[2] ? undefined : match[1] }
}

/** Ends a line: a break, also escaped, or the end of a string in an array of lines. */
const breaks = (): RegExp => /\r?\n|\\{1,7}(?:r\\{1,7})?n|(?:\\{1,7}r)?"(?:,"|\])/g
/** A field with its indentation, behind whatever a listing puts before it. Not tried again at every blank of many. */
const field = (): RegExp => /(?:(?<! )|(?! ))([ ]*)(- +)?(\\{0,7}["']?)([\w./-]{1,253})\3:(?:[ \t]+|$)/g
const TOP = " apiVersion kind metadata type immutable data stringData spec status "

/** Characters of a line that take about as long as a candidate. */
const SHORT = 256

const tickFor = (length: number): void => (length > SHORT ? look() : tick())

interface Line {
  readonly start: number
  readonly end: number
  readonly name: string
  readonly indent: number
  /** Where its value begins. */
  readonly value: number
}

function linesIn(text: string, from: number, to: number): Line[] {
  const lines: Line[] = []
  const add = (start: number, end: number): void => {
    const written = text.slice(start, end)
    tickFor(written.length)
    const found = written.length > 16_384 ? null : firstField(written)
    if (found === null) lines.push({ start, end, name: "", indent: indentOf(written), value: end })
    else {
      const indent = found[1]!.length + (found[2]?.length ?? 0)
      lines.push({ start, end, name: found[4]!, indent, value: start + found.index + found[0].length })
    }
  }
  let start = from
  for (const { 0: one, index } of text.slice(from, to).matchAll(breaks())) {
    add(start, from + index)
    start = from + index + one.length
  }
  add(start, to)
  return lines
}

const firstField = (line: string): RegExpExecArray | null => {
  const regex = field()
  let match = regex.exec(line)
  // Not the end of a longer word, such as a file's name with a line's number.
  while (match !== null && /[\w./]/.test(line[match.index - 1] ?? " ") && match[1] === "")
    match = regex.exec(line)
  return match
}

const indentOf = (line: string): number =>
  /^(?:[-+]|\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t)| *\d{1,6}(?:\xe2\x86\x92|\t|\\{1,7}t))?( *)/.exec(line)![1]!
    .length

const isBetweenDocuments = (text: string, { start, end, name }: Line): boolean =>
  name === "" &&
  /^(?:[-+ ]|[ \d]{1,8}(?:\xe2\x86\x92|:|\t|\\{1,7}t))?---(?: |$)/.test(
    text.slice(start, Math.min(end, start + 24)),
  )

function inLines(text: string, at: number, from: number, to: number, add: AddSpan): void {
  const lines = linesIn(text, from, to)
  const own = lines.findIndex(({ start, end }) => start <= at && at <= end)
  if (own < 0) return
  let first = own
  while (first > 0 && !isBetweenDocuments(text, lines[first - 1]!)) first--
  let last = own
  while (last + 1 < lines.length && !isBetweenDocuments(text, lines[last + 1]!)) last++
  const { indent } = lines[own]!
  for (let n = first; n <= last; n++) {
    const line = lines[n]!
    if (!/^(?:data|stringData)$/.test(line.name) || Math.abs(line.indent - indent) > 1) continue
    if (text[line.value] === "{") inBraces(text, line, add)
    else n = inFields(text, lines, n, last, add)
  }
}

/** @returns index of the last line of the fields */
function inFields(text: string, lines: readonly Line[], data: number, last: number, add: AddSpan): number {
  const top = lines[data]!.indent
  const isCoded = lines[data]!.name === "data"
  let inside = -1
  for (let n = data + 1; n <= last; n++) {
    const { start, end, name, indent, value } = lines[n]!
    tickFor(end - start)
    const isNearTop = indent <= top + 1
    if (inside >= 0 && (indent > inside || isBlank(text, start, end))) {
      addLine(text, start, end, add)
      continue
    }
    inside = -1
    if (name === "" && (isBlank(text, start, end) || /^[^#]{0,24}#/.test(text.slice(start, end)))) continue
    if (name === "" || indent < top || (isNearTop && (indent === top || has(name)))) return n - 1
    if (/^[|>]/.test(text.slice(value, end))) inside = indent
    else addValue(text, value, end, isCoded, add)
  }
  return last
}

const has = (name: string): boolean => TOP.includes(` ${name} `)

const isBlank = (text: string, start: number, end: number): boolean =>
  /^(?:[-+]|\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t))?\s*(?:\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t)\s*)?$/.test(
    text.slice(start, end),
  )

/** A line of a block, without what is before it. */
function addLine(text: string, start: number, end: number, add: AddSpan): void {
  const before = /^[ \t]*(?:[-+]|\d{1,6}(?:\xe2\x86\x92|:|\t|\\{1,7}t))?[ \t]*/.exec(
    text.slice(start, end),
  )![0].length
  if (end - start - before > 2) add(start + before, end)
}

function addValue(text: string, start: number, end: number, isCoded: boolean, add: AddSpan): void {
  const written = text.slice(start, end)
  const [, mark = "", inner = ""] = /^(\\{0,7}["'])((?:(?!\1).)*)\1/.exec(written) ?? []
  // The end of a string of JSON is no part of it, and neither is a comment.
  const value = inner === "" ? bareValue(written) : inner
  if (isSecretValue(value, isCoded)) add(start + mark.length, start + mark.length + value.length)
}

function bareValue(written: string): string {
  const past = written.search(/(?<![ \t])[ \t]+#|\\{0,7}"/)
  if (past >= 0) return written.slice(0, past)
  let end = written.length
  while (end > 0 && /[\s'\\]/.test(written[end - 1]!)) end--
  return written.slice(0, end)
}

/** Whether a manifest holds it and no template would fill it in. */
const isSecretValue = (value: string, isCoded: boolean): boolean =>
  value.length > 2 &&
  !/\{\{|\$\{|^[$<*&]|^(?:null|~|\.\.\.)$|…/.test(value) &&
  !isPlaceholder(isCoded ? decoded(value) : value) &&
  (!isCoded || /^[\w+/=\\-]{4,}$/.test(value))

const decoded = (value: string): string => Buffer.from(value, "base64").toString("latin1")

/** `data: { name: value, … }` */
function inBraces(text: string, { name, value, end }: Line, add: AddSpan): void {
  for (const match of text
    .slice(value, end)
    .matchAll(/([\w."'\\/-]{1,253}):[ \t]{1,8}\\{0,7}["']?([^\s,"'{}\\]+)/g))
    if (isSecretValue(match[2]!, name === "data")) {
      const start = value + match.index + match[0].length - match[2]!.length
      add(start, start + match[2]!.length)
    }
}

/** The strings of an object of JSON, without those in strings of it, and its braces. */
function* partsOf(
  text: string,
  from: number,
  to: number,
  mark: string,
): Generator<Value & { brace?: string }> {
  let open = -1
  for (let at = from; at < to; at++) {
    if (text.startsWith(mark, at) && text[at - 1] !== "\\") {
      if (open >= 0) yield { start: open, end: at }
      open = open < 0 ? at + mark.length : -1
      at += mark.length - 1
    } else if (open < 0 && (text[at] === "{" || text[at] === "}"))
      yield { start: at, end: at + 1, brace: text[at]! }
  }
}

function inObject(text: string, at: number, mark: string, from: number, to: number, add: AddSpan): void {
  // Back to where the object begins, as if no string held a brace.
  let begin = at
  for (let depth = 0; begin > from; begin--) {
    if (text[begin - 1] === "}") depth++
    else if (text[begin - 1] === "{" && depth-- === 0) break
  }
  let depth = 0
  let name = ""
  let inside: "data" | "stringData" | undefined
  for (const { start, end, brace } of partsOf(text, begin, to, mark)) {
    tickFor(end - start)
    if (brace !== undefined) {
      depth += brace === "{" ? 1 : -1
      if (depth < 0) return
      if (depth === 1 && brace === "{" && (name === "data" || name === "stringData")) inside = name
      else if (depth < 1) inside = undefined
      name = ""
      continue
    }
    const isName = /^[ \t]{0,8}:/.test(text.slice(end + mark.length, end + mark.length + 9))
    if (isName) name = text.slice(start, end)
    else if (inside !== undefined && depth === 1 && isSecretValue(text.slice(start, end), inside === "data"))
      add(start, end)
  }
}
