/** What the model says in one line of a transcript. Pure. For who wants nothing else of it, as invoked.ts. */
import { textsOf } from "./content.ts"
import { isObject, objectOf } from "./json.ts"

/** @returns `""` for any other line, and where it only thinks or calls tools */
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
