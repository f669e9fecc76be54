/** Parses a text that is one strict JSON object. The only importer of jsonc-parser. Pure. */

import { type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import { CtxError } from "./errors.ts"

/**
 * Parses a text into its tree.
 *
 * @throws CtxError `settings-syntax`, `settings-shape` for anything that is no strict JSON
 */
export function parseObject(text: string): JsonNode {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false })
  const first = errors[0]
  if (first !== undefined) throw syntaxError(text, first)
  try {
    JSON.parse(text)
  } catch (cause) {
    // Something that only `JSON.parse` rejects, such as `-01`.
    throw new CtxError("settings-syntax", `not JSON: ${(cause as Error).message}`, { cause })
  }
  if (root?.type !== "object") throw shapeError("the top level", "an object", root)
  return root
}

/** The tree of a whole file's text; undefined if the file is blank or does not exist. */
export function treeOf(text: string | undefined): JsonNode | undefined {
  const source = splitBom(text)[1]
  return isBlankJson(source) ? undefined : parseObject(source)
}

/** Whether the text is blank or an empty object. */
export const isEmptySettings = (text: string): boolean => !treeOf(text)?.children?.length

/** The value of a key. The last duplicate wins, as in Claude Code's parser. */
export function member(node: JsonNode | undefined, key: string): JsonNode | undefined {
  if (node?.type !== "object") return undefined
  return node.children?.findLast((property) => keyOf(property) === key)?.children?.[1]
}

export function keyOf(property: JsonNode): string {
  return String(property.children?.[0]?.value)
}

export function hasSiblings(node: JsonNode): boolean {
  return (node.parent?.children?.length ?? 0) > 1
}

export function isBlankJson(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text)
}

/** Splits off the byte order mark, if any. An `undefined` text is a file that does not exist. */
export function splitBom(text = ""): [bom: string, source: string] {
  return text.startsWith("\uFEFF") ? ["\uFEFF", text.slice(1)] : ["", text]
}

export function shapeError(place: string, expected: string, found: JsonNode | undefined): CtxError {
  return new CtxError("settings-shape", `${place} must be ${expected}, but is ${found?.type ?? "missing"}`, {
    hint: "nothing was changed; correct the file and try again",
  })
}

const PROBLEMS: Readonly<Record<string, string>> = {
  InvalidCommentToken: "comments are not allowed",
  PropertyNameExpected: "a property name in double quotes is expected",
  ValueExpected: "a value is expected",
  ColonExpected: "a colon is expected",
  CommaExpected: "a comma is expected",
  CloseBraceExpected: "a closing brace is missing",
  CloseBracketExpected: "a closing bracket is missing",
  EndOfFileExpected: "there is more text after the end",
  UnexpectedEndOfString: "a string does not end",
  UnexpectedEndOfComment: "comments are not allowed",
}

function syntaxError(text: string, error: ParseError): CtxError {
  const before = text.slice(0, error.offset)
  const comma = /,\s*$/.exec(before)
  const trailing = comma !== null && /[}\]]/.test(text.charAt(error.offset))
  const name = printParseErrorCode(error.error)
  const problem = trailing ? "trailing commas are not allowed" : (PROBLEMS[name] ?? "this is not JSON")
  const lines = text.slice(0, trailing ? comma.index : error.offset).split(/\r\n|\n|\r/)
  const place = `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`
  return new CtxError("settings-syntax", `${place}: ${problem}`, {
    hint: "only strict JSON is edited here; nothing was changed",
  })
}

/*
 * How a value is inserted into JSON text, or removed, so that it looks as if it had always been written that way and no
 * other byte changes.
 *
 * jsonc-parser's own `modify` is not used: its formatter rewrites the whole line it touches (which would reflow someone
 * else's hook written on one line), and without the formatter it deletes the wrong bytes (`[1,2]` less item 1: `[12]`).
 */

/** What we need of a syntax tree node, in the shape of jsonc-parser's nodes. */
export interface JsonNode {
  readonly type: string
  readonly offset: number
  readonly length: number
  readonly value?: unknown
  readonly colonOffset?: number
  readonly parent?: JsonNode
  readonly children?: JsonNode[]
}

/** The text with `value` after the last child of `container`, under `key` if `container` is an object. */
export const inserted = (
  text: string,
  container: JsonNode,
  key: string | undefined,
  value: unknown,
): string => applied(text, insertion(text, container, key, value))

/**
 * The text without `child` and one comma; a container left empty is closed up. Remarks stay, in a text whose tree was made
 * without them.
 */
export const without = (text: string, child: JsonNode): string => applied(text, removal(text, child))

/** The text with another value in the place of `node`: over several lines if that was. */
export function withValue(text: string, node: JsonNode, value: unknown): string {
  const isSpread = /[\r\n]/.test(text.slice(node.offset, node.offset + node.length))
  const lead = eolOf(text) + indentAt(text, node.offset)
  return rewritten(
    text,
    node,
    isSpread ? pretty(value, lead, unitOf(text, rootOf(node))) : JSON.stringify(value),
  )
}

/** The same with a value as it was written. */
export const rewritten = (text: string, { offset, length }: JsonNode, content: string): string =>
  applied(text, { offset, length, content })

/** What a blank text becomes when a value is put into it: a whole document. */
export const written = (blank: string, value: unknown): string =>
  pretty(value, eolOf(blank), "  ") + (blank === "" ? "\n" : blank)

interface TextEdit {
  readonly offset: number
  readonly length: number
  readonly content: string
}

const applied = (text: string, { offset, length, content }: TextEdit): string =>
  text.slice(0, offset) + content + text.slice(offset + length)

function insertion(text: string, container: JsonNode, key: string | undefined, value: unknown): TextEdit {
  const children = container.children ?? []
  const last = children.at(-1)
  if (last === undefined) return intoEmpty(text, container, key, value)
  const lead = leadOf(text, container)
  const offset = last.offset + last.length
  if (lead.includes("\n") || lead.includes("\r")) {
    const content = `,${lead}${labelled(key, pretty(value, lead, unitOf(text, rootOf(container))))}`
    return { offset, length: 0, content }
  }
  return { offset, length: 0, content: `,${gapOf(text, container)}${compact(text, container, key, value)}` }
}

function removal(text: string, child: JsonNode): TextEdit {
  const container = child.parent as JsonNode
  const children = container.children ?? []
  const index = children.indexOf(child)
  const previous = children[index - 1]
  const next = children[index + 1]
  const childEnd = child.offset + child.length
  const begin = previous === undefined ? container.offset + 1 : previous.offset + previous.length
  const end = next?.offset ?? container.offset + container.length - 1
  const before = text.slice(begin, child.offset)
  const after = text.slice(childEnd, end)
  if (previous !== undefined) {
    if (!hasRemark(before)) return span(begin, childEnd)
    // The comma before the remarks can stay where there is one behind the child.
    const rest = withoutComma(after)
    return rest === after
      ? span(begin, end, joined(withoutComma(before), after))
      : span(begin, end, joined(before, rest))
  }
  if (next !== undefined)
    return span(child.offset, end, hasRemark(after) ? withoutComma(after).trimStart() : "")
  return span(begin, end, hasRemark(before + after) ? joined(before, withoutComma(after)) : "")
}

/** Whether there is more between two values than blanks and a comma. */
const hasRemark = (gap: string): boolean => gap.includes("/")

const REMARK_OR_COMMA = /\/\/[^\n\r]*|\/\*[\s\S]*?\*\/|,/g

function withoutComma(gap: string): string {
  const comma = gap.matchAll(REMARK_OR_COMMA).find(([piece]) => piece === ",")
  return comma === undefined ? gap : gap.slice(0, comma.index) + gap.slice(comma.index + 1)
}

/** What was on both sides of something that is gone, without the line that it leaves blank. */
const joined = (before: string, after: string): string =>
  /^[ \t]*[\r\n]/.test(after) ? before.trimEnd() + after : before + after.replace(/^[ \t]+/, "")

/** The line break that a text uses. */
function eolOf(text: string): string {
  return /\r\n|\n|\r/.exec(text)?.[0] ?? "\n"
}

function intoEmpty(text: string, container: JsonNode, key: string | undefined, value: unknown): TextEdit {
  const at = { offset: container.offset + 1, length: container.length - 2 }
  const around = container.parent?.type === "property" ? container.parent.parent : container.parent
  if (around !== undefined && !/[\r\n]/.test(leadOf(text, around))) {
    return { ...at, content: compact(text, container, key, value) }
  }
  const outer = eolOf(text) + indentAt(text, container.offset)
  const unit = unitOf(text, rootOf(container))
  const inner = outer + unit
  return { ...at, content: `${inner}${labelled(key, pretty(value, inner, unit))}${outer}` }
}

/** What the line of this place begins with. */
function indentAt(text: string, offset: number): string {
  const lineStart = Math.max(text.lastIndexOf("\n", offset), text.lastIndexOf("\r", offset)) + 1
  return /^[ \t]*/.exec(text.slice(lineStart, offset))?.[0] ?? ""
}

/** The line break and indentation before the first child; empty for a container on one line. */
function leadOf(text: string, container: JsonNode): string {
  const first = container.children?.[0]
  if (first === undefined) return ""
  const blank = text.slice(container.offset + 1, first.offset)
  return /(?:\r\n|\n|\r)[ \t]*(?=[^\r\n]*$)/.exec(blank)?.[0] ?? ""
}

/** One step of indentation, taken from the first member of the document. */
function unitOf(text: string, root: JsonNode): string {
  const lead = leadOf(text, root)
  return lead === "" ? "  " : lead.replace(/^[\r\n]+/, "")
}

/** The whitespace between a comma and the next child of an inline container. */
function gapOf(text: string, container: JsonNode): string {
  const [first, second] = container.children ?? []
  if (first === undefined || second === undefined) return colonOf(text, container)
  const between = text.slice(first.offset + first.length, second.offset)
  return /^\s*/.exec(between.slice(between.indexOf(",") + 1))?.[0] ?? ""
}

/** The spaces after a colon, taken from the first member of the document. */
function colonOf(text: string, container: JsonNode): string {
  const member = rootOf(container).children?.[0]
  const value = member?.children?.[1]
  if (member?.colonOffset === undefined || value === undefined) return " "
  return /^ *$/.test(text.slice(member.colonOffset + 1, value.offset))
    ? text.slice(member.colonOffset + 1, value.offset)
    : " "
}

function compact(text: string, container: JsonNode, key: string | undefined, value: unknown): string {
  const blank = colonOf(text, container)
  const label = key === undefined ? "" : `${JSON.stringify(key)}:${blank}`
  return label + inline(value, blank)
}

function inline(value: unknown, blank: string): string {
  if (Array.isArray(value)) return `[${value.map((item) => inline(item, blank)).join(`,${blank}`)}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([key, item]) => `${JSON.stringify(key)}:${blank}${inline(item, blank)}`,
  )
  return `{${members.join(`,${blank}`)}}`
}

function labelled(key: string | undefined, rendered: string): string {
  return key === undefined ? rendered : `${JSON.stringify(key)}: ${rendered}`
}

/** `lead` is the line break and indentation of the line on which the value starts. */
const pretty = (value: unknown, lead: string, unit: string): string =>
  JSON.stringify(value, null, "\t").replace(/\n(\t*)/g, (_, { length }) => lead + unit.repeat(length))

function rootOf(node: JsonNode): JsonNode {
  let root = node
  while (root.parent !== undefined) root = root.parent
  return root
}

function span(from: number, to: number, content = ""): TextEdit {
  return { offset: from, length: to - from, content }
}
