/** The token counts of an API message, as the host writes them on each of its lines. */
import { isObject, type JsonObject, objectOf, stringOf } from "./json.ts"
import type { Tokens, Usage } from "./types.ts"

export const SYNTHETIC = "<synthetic>"

/** Undefined for whatever is no answer of the API. */
export function usageOf(type: string, line: JsonObject): Usage | undefined {
  const message = objectOf(line["message"])
  const messageId = stringOf(message["id"])
  const usage = message["usage"]
  const model = stringOf(message["model"]) ?? ""
  // The host's own answers count nothing; taken for a reading, they would show an empty window.
  if (type !== "assistant" || messageId === undefined || !isObject(usage) || model === SYNTHETIC)
    return undefined
  return { messageId, model, ...tokensIn(usage) }
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

/** What was sent: the context before the answer. */
export const promptTokens = ({ input, cacheRead, cacheCreation }: Tokens): number =>
  input + cacheRead + cacheCreation

/** The context after an answer: what was sent, and the answer, which is sent with the next request. */
export const contextTokens = (tokens: Tokens): number => promptTokens(tokens) + tokens.output
