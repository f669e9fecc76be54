/** Token counts of an API message, which the host repeats on each of its lines. */
import { isObject, type JsonObject, objectOf, stringOf } from "../../transcript/json.ts"
import type { Tokens, Usage } from "../../transcript/types.ts"

export const SYNTHETIC = "<synthetic>"

/** undefined for anything that is not an answer of the API. */
export function messageUsage(type: string, line: JsonObject): Usage | undefined {
  const message = objectOf(line["message"])
  const messageId = stringOf(message["id"])
  const usage = message["usage"]
  const model = stringOf(message["model"]) ?? ""
  // The host's own answers have no counts. Taken as a reading, they would show an empty window.
  if (type !== "assistant" || messageId === undefined || !isObject(usage) || model === SYNTHETIC)
    return undefined
  const tokens = tokensIn(usage)
  const hour = tokenCount(objectOf(usage["cache_creation"])["ephemeral_1h_input_tokens"])
  return { messageId, model, ...tokens, cacheHour: Math.min(hour, tokens.cacheCreation) }
}

export const tokensIn = (usage: JsonObject): Tokens => ({
  input: tokenCount(usage["input_tokens"]),
  output: tokenCount(usage["output_tokens"]),
  cacheCreation: tokenCount(usage["cache_creation_input_tokens"]),
  cacheRead: tokenCount(usage["cache_read_input_tokens"]),
})

export function tokenCount(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}

/** Tokens sent: the context before the answer. */
export const promptTokens = ({ input, cacheRead, cacheCreation }: Tokens): number =>
  input + cacheRead + cacheCreation

/** The context after an answer: what was sent, plus the answer, which the next request sends as well. */
export const contextTokens = (tokens: Tokens): number => promptTokens(tokens) + tokens.output
