/**
 * How many tokens a message takes. Nobody but the API can count them, but with each answer it tells how many it was sent:
 * what they grew by, over what the messages grew by, is this conversation's own scale. Pure.
 */

import { isObject, type JsonObject } from "../transcript/json.ts"
import { promptTokens } from "../transcript/token-counts.ts"
import { UNITS_PER_TOKEN } from "./prune-options.ts"
import type { Passage, SentMessage } from "./sent-messages.ts"

export interface TokenScale {
  readonly unitsPerToken: number
  /** Tokens of each request that are not in its messages: the system prompt, tools, reminders. */
  readonly overhead: number
}

/** Shorter growth tells little. */
const LEAST_GROWTH = 10_000

/** What no text has. Beyond it, something was sent that the transcript lacks, or the reverse. */
const CREDIBLE = { least: 1.5, most: 6 }

const IMAGE = 1_500

export function scaleOf({ messages, requests }: Passage): TokenScale {
  const units = unitsBefore(messages)
  const sent = requests.map((request) => ({
    units: units[request.messages]!,
    tokens: promptTokens(request.usage),
  }))
  const told = sent.filter(({ tokens }) => tokens > 0)
  const [first] = told
  if (first === undefined) return { unitsPerToken: UNITS_PER_TOKEN, overhead: 0 }
  const last = told.reduce((most, one) => (one.tokens > most.tokens ? one : most))
  const growth = last.tokens - first.tokens
  const ratio = (last.units - first.units) / growth
  const isTold = growth >= LEAST_GROWTH && ratio >= CREDIBLE.least && ratio <= CREDIBLE.most
  const unitsPerToken = isTold ? ratio : UNITS_PER_TOKEN
  return { unitsPerToken, overhead: Math.max(0, Math.round(first.tokens - first.units / unitsPerToken)) }
}

/** Units of JSON before each message, and of all. */
export function unitsBefore(messages: readonly SentMessage[]): number[] {
  const before = [0]
  for (const { content } of messages)
    before.push(before.at(-1)! + content.reduce((sum, block) => sum + unitsOf(block), 0))
  return before
}

/** UTF-16 units of JSON. A picture costs by its area, not by its bytes. */
export function unitsOf(block: JsonObject): number {
  if (block["type"] === "image" || block["type"] === "document") return IMAGE * UNITS_PER_TOKEN
  const { content } = block
  if (Array.isArray(content)) return content.filter(isObject).reduce((sum, item) => sum + unitsOf(item), 100)
  return JSON.stringify(block).length
}
