/** Token counts as the API has them, and what they add up to. Pure. */
import type { JsonObject } from "./json.ts"
import type { Tokens } from "./types.ts"

/** @param usage of an answer */
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
