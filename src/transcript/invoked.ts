/**
 * The text that the host puts before the model when a skill or a command of the user's is invoked. Pure. For hooks that
 * want nothing else of a line: the whole decoder takes them longer to load than all such lines to read.
 */
import { textsOf } from "./content.ts"
import { isObject, objectOf } from "./json.ts"

/** What the host writes on its own account where no text of this kind stands. */
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
