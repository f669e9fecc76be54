/** Token counts of an API message, which Claude Code repeats on each of its lines. */
import { isObject, type JsonObject, objectOf, stringOf } from "../record/json.ts"
import { tokenCount, tokensIn } from "../record/token-counts.ts"
import type { Usage } from "../record/types.ts"

export const SYNTHETIC = "<synthetic>"

/** undefined for anything that is not an answer of the API. */
export function messageUsage(type: string, line: JsonObject): Usage | undefined {
  const message = objectOf(line["message"])
  const messageId = stringOf(message["id"])
  const usage = message["usage"]
  const model = stringOf(message["model"]) ?? ""
  // Claude Code's own answers have no counts. Taken as a reading, they would show an empty window.
  if (type !== "assistant" || messageId === undefined || !isObject(usage) || model === SYNTHETIC)
    return undefined
  const tokens = tokensIn(usage)
  const hour = tokenCount(objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"])
  const isFast = usage["speed"] === "fast"
  return {
    messageId,
    model,
    ...tokens,
    cacheHour: Math.min(hour, tokens.cacheCreation),
    ...(isFast && { isFast }),
  }
}
