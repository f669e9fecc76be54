/** What the model says in one line of a transcript, for callers that need nothing else from it. Pure. */
import { textsOf } from "./content.ts"
import { isObject, objectOf } from "./json.ts"

/** @returns `""` for any other line, and for lines with only thinking or tool calls */
export function answerText(line: string): string {
  let parsed: unknown
  try {
    parsed = JSON.parse(line)
  } catch {
    return ""
  }
  if (!isObject(parsed) || parsed["type"] !== "assistant") return ""
  return textsOf(objectOf(parsed["message"])["content"]).join("\n")
}
