/**
 * The text that the host gives the model when the user's skill or command is invoked. Pure. For hooks that need nothing
 * else: loading the whole decoder would take longer than reading all such lines.
 */
import { textsOf } from "./content.ts"
import { isObject, objectOf } from "./json.ts"

/** Beginning of what else the host writes of its own accord. */
const OTHER = /^\s*(?:<|Caveat:)/

/** @returns undefined for any other line */
export function invokedText(line: string): string | undefined {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    return undefined
  }
  if (!isObject(parsed) || parsed["type"] !== "user" || parsed["isMeta"] !== true) return undefined
  const [text] = textsOf(objectOf(parsed["message"])["content"])
  return text === undefined || OTHER.test(text) ? undefined : text
}
