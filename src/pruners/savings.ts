/** What each way would have taken out of the window in the user's sessions, when it was fullest. */

import type { Database } from "../archive/database.ts"
import { type LargestRequest, largestRequests } from "../archive/queries/largest-requests.ts"
import { linesFrom } from "../archive/records.ts"
import { type PruneOptions, pruneMessages } from "../prune/prune-messages.ts"
import { promptTokens } from "../transcript/token-counts.ts"
import { cut } from "../util/text.ts"
import { vaultFile } from "../vault/layout.ts"
import { type Clearing, clearableResults, clearedResult } from "./cleared-results.ts"
import { UNITS_PER_TOKEN } from "./prune-options.ts"
import { type Passage, type SentMessage, sentPassages } from "./sent-messages.ts"
import { scaleOf, unitsOf } from "./token-scale.ts"
import type { WayName } from "./way.ts"

export interface Savings {
  readonly session: string
  readonly title: string
  /** Of the largest request, as the API counted them. */
  readonly tokens: number
  /** Of these, so many would not have been sent; undefined: that cannot be told. */
  readonly saved: Readonly<Record<WayName, number | undefined>>
}

/**
 * What `prune native` sets unless asked otherwise: tokens from which on results are cleared (what Claude Code sends
 * before anybody has said anything is half of it), and how many of the latest stay, as one step often calls several
 * tools at once.
 */
export const DEFAULT_CLEARING = { trigger: 50_000, keep: 10 } as const

/** What is read here is what the vault holds. All handles are equally long. */
export const ANY_HANDLE = "ctx:000000"

const TITLE = 60

/** Of the latest sessions. */
export const recentSavings = (
  db: Database,
  dataHome: string,
  options: PruneOptions,
  sessions: number,
): Savings[] => {
  const clearing = { ...DEFAULT_CLEARING, atLeast: options.threshold / UNITS_PER_TOKEN }
  return largestRequests(db, "latest", sessions).map((request) => {
    const lines = linesFrom(vaultFile(dataHome, request.copy), request.from)
    return savingsIn(sentPassages(textsOf(lines)), request, options, clearing)
  })
}

function* textsOf(lines: Iterable<{ readonly line: string }>): Generator<string> {
  for (const { line } of lines) yield line
}

function savingsIn(
  passages: readonly Passage[],
  { session, title, tokens, answer }: LargestRequest,
  options: PruneOptions,
  clearing: Clearing,
): Savings {
  const about = { session, title: cut(title.replace(/\s+/g, " ").trim(), TITLE), tokens }
  const place = passages.findIndex(({ requests }) => requests.some((request) => request.answer === answer))
  const passage = passages[place]
  if (passage === undefined)
    return { ...about, saved: { native: undefined, plugin: undefined, proxy: undefined, patch: undefined } }
  const request = passage.requests.find((one) => one.answer === answer)!
  const sent = passage.messages.slice(0, request.messages)
  const { unitsPerToken } = scaleOf(passage)
  const inTokens = (units: number): number => Math.min(tokens, Math.round(units / unitsPerToken))
  const byRule = (results: boolean): number => {
    const { pruned } = pruneMessages(sent, { ...options, results }, () => ANY_HANDLE)
    return inTokens(pruned.reduce((sum, { saved }) => sum + saved, 0))
  }
  const cleared = inTokens(clearedUnits(sent, clearing.keep))
  const isCleared = tokens >= clearing.trigger && cleared >= clearing.atLeast
  return {
    ...about,
    saved: {
      native: isCleared ? cleared : 0,
      plugin: savedByPlugin(tokens, passages.slice(place + 1), unitsPerToken),
      proxy: byRule(options.results),
      // It leaves tools alone.
      patch: byRule(false),
    },
  }
}

const clearedUnits = (sent: readonly SentMessage[], keep: number): number =>
  clearableResults(sent, keep).reduce((sum, [message, n]) => {
    const block = sent[message]!.content[n]!
    return sum + Math.max(0, unitsOf(block) - unitsOf(clearedResult(block)))
  }, 0)

/**
 * At a compaction, which the plugin would have answered with at most half as much again as Claude Code's summary;
 * undefined if there was none.
 */
function savedByPlugin(tokens: number, later: readonly Passage[], unitsPerToken: number): number | undefined {
  const next = later.find(({ begins }) => begins === "compaction")
  const after = next?.requests[0]
  if (next === undefined || after === undefined) return undefined
  const summary = next.messages[0]?.content[0]
  const more = summary === undefined ? 0 : unitsOf(summary) / unitsPerToken / 2
  return Math.max(0, Math.round(tokens - promptTokens(after.usage) - more))
}
