/**
 * What one line says, for callers that need nothing else of it. Pure. Loading the whole decoder would take hooks longer
 * than reading all such lines.
 */

import { parseJson } from "../base/json-files.ts"
import { type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { textsOf } from "./content.ts"

/** Beginning of what Claude Code writes of its own accord, besides what it gives for a skill or command. */
const OTHER = /^\s*(?:<|Caveat:)/

/**
 * The text that Claude Code gives the model when the user's skill or command is invoked.
 *
 * @returns undefined for any other line
 */
export function invokedText(line: string): string | undefined {
  const fields = fieldsOf(line)
  const [text] = fields["type"] === "user" && fields["isMeta"] === true ? messageTexts(fields) : []
  return text === undefined || OTHER.test(text) ? undefined : text
}

/**
 * What the model says.
 *
 * @returns `""` for any other line, and for lines with only thinking or tool calls
 */
export function answerText(line: string): string {
  const fields = fieldsOf(line)
  return fields["type"] === "assistant" ? messageTexts(fields).join("\n") : ""
}

/**
 * What tools gave back.
 *
 * @returns `""` for any other line
 */
export function resultText(line: string): string {
  const fields = fieldsOf(line)
  const content = fields["type"] === "user" ? objectOf(fields["message"])["content"] : undefined
  if (!Array.isArray(content)) return ""
  return content
    .map(objectOf)
    .filter(({ type }) => type === "tool_result")
    .flatMap((block) => textsOf(block["content"]))
    .join("\n")
}

/** A call of a tool, by its tool_use_id; undefined if the line does not hold it. */
export function callIn(
  line: string,
  id: string,
): { readonly name: string; readonly input: unknown } | undefined {
  const { content } = objectOf(fieldsOf(line)["message"])
  const use = (Array.isArray(content) ? content : []).map(objectOf).find((block) => block["id"] === id)
  const name = stringOf(use?.["name"])
  return name === undefined ? undefined : { name, input: use!["input"] }
}

const messageTexts = (fields: JsonObject): string[] => textsOf(objectOf(fields["message"])["content"])

const fieldsOf = (line: string): JsonObject => objectOf(parseJson(line))
