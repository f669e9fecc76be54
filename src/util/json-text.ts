/** Parses a text that is one strict JSON object. The only importer of jsonc-parser. Pure. */
import { type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import { CtxError } from "./errors.ts"
import type { JsonNode } from "./json-style.ts"

/**
 * Parses a text into its tree.
 *
 * @throws CtxError `settings-syntax`, `settings-shape` for anything that the host would not read
 */
export function parseObject(text: string): JsonNode {
  const errors: ParseError[] = []
  const root = parseTree(text, errors, { disallowComments: true, allowTrailingComma: false })
  const first = errors[0]
  if (first !== undefined) throw syntaxError(text, first)
  try {
    JSON.parse(text)
  } catch (cause) {
    // Something that only the host's parser rejects, such as `-01`.
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

/** The value of a key. The last duplicate wins, as in the host's parser. */
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
    hint: "Claude Code reads this file as strict JSON; nothing was changed",
  })
}
