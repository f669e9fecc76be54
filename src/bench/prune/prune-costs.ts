/**
 * What a session would have cost under each way of pruning: every request is made up again, and its price is reckoned.
 * What the model would have answered to less is not known, so it says the same each time. Pure.
 */
import type { SentMessage } from "../../pruners/savings.ts"
import { type PruneModel, unitsIn } from "./prune-models.ts"
import type { PlayedSession } from "./prune-steps.ts"

/** Of a token, relative to one that was sent and not cached: the API's published prices, the same for all its models. */
export const PRICES = { input: 1, cacheWrite: 1.25, cacheRead: 0.1, output: 5, asOf: "2026-06" } as const

export interface CompactionModel {
  /** Tokens of a request from which on the conversation is compacted first. */
  readonly point: number
  /** Tokens of the summary; 0 if nobody is asked for one. */
  readonly summary: number
}

/** Where a recent client compacts of itself: the window, less what it reserves. */
export const fullAt = (window: number): number => window - 33_000

/** Tokens of a summary, and of all that a conversation goes on with: about what real ones had (docs/measurements/prune-costs.md). */
export const SUMMARY_TOKENS = 7_000
const LEFT = 18_000

/** Tokens of what asks for a summary. */
const INSTRUCTION = 1_500

export interface SessionCost {
  readonly requests: number
  readonly compactions: number
  /** Tokens of all requests, and of the largest. */
  readonly sent: number
  readonly largest: number
  readonly output: number
  /** Requests whose beginning was not what had been sent before; compactions are not among them. */
  readonly prefixChanges: number
  /** In tokens that are sent and not cached. */
  readonly cost: number
}

/** @param model made for this session only */
export function costOf(
  { steps, overhead, unitsPerToken }: PlayedSession,
  model: () => PruneModel,
  compaction: CompactionModel,
): SessionCost {
  const tokens = (units: number): number => units / unitsPerToken
  let pruner = model()
  let history: SentMessage[] = []
  let before: readonly SentMessage[] | undefined
  let [compactions, sent, largest, output, prefixChanges, cost, requests] = [0, 0, 0, 0, 0, 0, 0]

  function request(messages: readonly SentMessage[], more: number, answer: number): void {
    const size = overhead + tokens(unitsIn(messages)) + more
    const same = before === undefined ? 0 : sharedBeginning(before, messages)
    if (before !== undefined && same < before.length) prefixChanges++
    // Any beginning that the request before had counts as cached. The API's cache has less: this favours those who
    // change what was sent.
    const cached = requests === 0 ? 0 : overhead + tokens(unitsIn(messages.slice(0, same)))
    cost += cached * PRICES.cacheRead + (size - cached) * PRICES.cacheWrite + answer * PRICES.output
    requests++
    sent += size
    largest = Math.max(largest, size)
    output += answer
    // The history itself grows.
    before = messages.slice()
  }

  for (const { news, answer, output: answered } of steps) {
    history.push(...news)
    let messages = pruner.sent(history, tokens)
    if (overhead + tokens(unitsIn(messages)) >= compaction.point && history.length > news.length) {
      if (compaction.summary > 0) {
        const earlier = pruner.sent(history.slice(0, history.length - news.length), tokens)
        request(earlier, INSTRUCTION, compaction.summary)
      }
      compactions++
      history = [remaining(LEFT * unitsPerToken), ...news]
      pruner = model()
      before = undefined
      messages = pruner.sent(history, tokens)
    }
    request(messages, 0, answered)
    history.push(answer)
  }
  return { requests, compactions, sent, largest, output, prefixChanges, cost }
}

/** What the conversation goes on with after a compaction. Its words do not matter, and are nobody's to prune. */
const remaining = (units: number): SentMessage => ({
  role: "user",
  content: [{ type: "text", text: `<system-reminder>${"x".repeat(Math.round(units))}</system-reminder>` }],
})

function sharedBeginning(before: readonly SentMessage[], now: readonly SentMessage[]): number {
  let n = 0
  while (n < before.length && n < now.length && isSame(before[n]!, now[n]!)) n++
  return n
}

const isSame = (a: SentMessage, b: SentMessage): boolean =>
  a === b || (a.role === b.role && JSON.stringify(a.content) === JSON.stringify(b.content))
