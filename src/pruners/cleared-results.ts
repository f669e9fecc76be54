/** What the API's own clearing of tool results leaves of a request, by its documentation. Pure. */
import type { JsonObject } from "../transcript/json.ts"
import type { SentMessage } from "./sent-messages.ts"

export interface Clearing {
  /** Tokens of a request from which on it clears. */
  readonly trigger: number
  /** Latest uses of tools whose results stay. */
  readonly keep: number
  /** Tokens that a clearing must save. */
  readonly atLeast: number
}

/** Of the tools that a client runs; what stands there afterwards is short. */
const CLEARED = "[cleared]"

/** Index of the message and of the block of each result that may be cleared, oldest first. */
export function clearableResults(
  messages: readonly SentMessage[],
  keep: number,
): [message: number, block: number][] {
  const results = messages.flatMap(({ content }, message) =>
    content.flatMap((block, n): [number, number][] =>
      block["type"] === "tool_result" ? [[message, n]] : [],
    ),
  )
  return keep === 0 ? results : results.slice(0, -keep)
}

export const clearedResult = (block: JsonObject): JsonObject => ({ ...block, content: CLEARED })
