/**
 * What a session would have cost under each way of pruning: every request is made up again, and its price is reckoned.
 * What the model would have answered to less is not known, so it says the same each time. Pure.
 */

import { promptTokens } from "../record/token-counts.ts"
import type { Tokens, Usage } from "../record/types.ts"
import { currentPrompt, findCut, isFurther, type PruneOptions, pruneAt, UNCUT } from "./prune-messages.ts"
import {
  type Clearing,
  clearableResults,
  clearedResult,
  type Passage,
  type SentMessage,
  scaleOf,
  unitsOf,
} from "./sent-passages.ts"
import { cacheLifetime } from "./way.ts"

/** Of a token, relative to one that was sent and not cached: the API's published prices, the same for nearly all its models. */
export const PRICES = {
  input: 1,
  cacheWrite: 1.25,
  cacheHour: 2,
  cacheRead: 0.1,
  output: 5,
  asOf: "2026-06",
} as const

/** What a request to a model costs; undefined: nobody knows. */
export type RequestPrice = (
  model: string,
  tokens: Tokens & { readonly cacheHour: number },
) => number | undefined

const relativePrice: RequestPrice = (_, { input, cacheCreation, cacheHour, cacheRead, output }) =>
  input * PRICES.input +
  (cacheCreation - cacheHour) * PRICES.cacheWrite +
  cacheHour * PRICES.cacheHour +
  cacheRead * PRICES.cacheRead +
  output * PRICES.output

/** Whether all of a session's models have one. */
export function isPriced({ steps }: PlayedSession, priceOf: RequestPrice): boolean {
  const none = { input: 0, output: 0, cacheCreation: 0, cacheRead: 0, cacheHour: 0 }
  return steps.every(({ model }) => priceOf(model, none) !== undefined)
}

interface CompactionModel {
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
  /** In tokens that are sent and not cached, or in dollars. */
  readonly cost: number
  /** Of it, for what the cache had and had to be written again. */
  readonly broken: number
}

/** @param model made for this session only */
export function costOf(
  { steps, overhead, unitsPerToken, hour }: PlayedSession,
  model: () => PruneModel,
  compaction: CompactionModel,
  priceOf: RequestPrice = relativePrice,
): SessionCost {
  const tokens = (units: number): number => units / unitsPerToken
  let pruner = model()
  let history: SentMessage[] = []
  let before: readonly SentMessage[] | undefined
  let [compactions, sent, largest, output, prefixChanges, cost, broken, requests] = [0, 0, 0, 0, 0, 0, 0, 0]

  function request(messages: readonly SentMessage[], more: number, answer: number, step: SessionStep): void {
    const price = (written: number, read: number, answered: number): number =>
      priceOf(step.model, {
        input: 0,
        cacheCreation: written,
        cacheHour: written * hour,
        cacheRead: read,
        output: answered,
      }) ?? 0
    const size = overhead + tokens(unitsIn(messages)) + more
    const isWarm = requests > 0 && !step.isCold
    const same = before === undefined ? 0 : sharedBeginning(before, messages)
    if (isWarm && before !== undefined && same < before.length) {
      prefixChanges++
      const again = tokens(unitsIn(messages.slice(same, before.length)))
      broken += price(again, 0, 0) - price(0, again, 0)
    }
    // Any beginning that the request before had counts as cached. The API's cache has less: this favours those who
    // change what was sent.
    const cached = isWarm ? overhead + tokens(unitsIn(messages.slice(0, same))) : 0
    cost += price(size - cached, cached, answer)
    requests++
    sent += size
    largest = Math.max(largest, size)
    output += answer
    // The history itself grows.
    before = messages.slice()
  }

  for (const step of steps) {
    const { news, answer, isLate } = step
    history.push(...news)
    let messages = pruner.sent(history, tokens, isLate)
    if (overhead + tokens(unitsIn(messages)) >= compaction.point && history.length > news.length) {
      if (compaction.summary > 0) {
        const earlier = pruner.sent(history.slice(0, history.length - news.length), tokens, false)
        request(earlier, INSTRUCTION, compaction.summary, step)
      }
      compactions++
      history = [remaining(LEFT * unitsPerToken), ...news]
      pruner = model()
      before = undefined
      messages = pruner.sent(history, tokens, false)
    }
    request(messages, 0, step.output, step)
    history.push(answer)
  }
  return { requests, compactions, sent, largest, output, prefixChanges, cost, broken }
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

/*
 * What each way makes of the messages of a request: models, by which their costs are compared. A model is asked at each
 * request of a conversation, and may remember. Pure.
 */

export interface PruneModel {
  /**
   * @param tokens of so many units of JSON
   * @param isLate whether so much time has passed that the cache has expired
   */
  sent(
    messages: readonly SentMessage[],
    tokens: (units: number) => number,
    isLate: boolean,
  ): readonly SentMessage[]
}

export const unpruned = (): PruneModel => ({ sent: (messages) => messages })

/** `ctx:` and a handle. */
const HELD = () => "ctx:000000"

/** Our rule, with everything in the vault: the cut moves at a prompt only, or at one that comes late. */
export function batchedRule(options: PruneOptions): PruneModel {
  let cutAt = UNCUT
  let considered = -1
  let before: readonly SentMessage[] = []
  return {
    sent(messages, _tokens, isLate) {
      const prompt = currentPrompt(messages) ?? -1
      if (prompt > considered && (isLate || options.afterPause !== true)) {
        considered = prompt
        const found = findCut(messages, options, HELD)
        if (isFurther(found, cutAt)) {
          cutAt = { ...found, thoughts: prompt }
          before = pruneAt(messages.slice(0, prompt), cutAt, options, HELD).messages as readonly SentMessage[]
        }
      }
      return cutAt === UNCUT ? messages : [...before, ...messages.slice(cutAt.thoughts)]
    },
  }
}

/**
 * The API's clearing of results. Its documentation does not say whether what was cleared stays cleared, with the next
 * clearing due when that saves enough again (`remembers`), or whether each request is looked at for itself.
 */
export function clearedByApi(
  { trigger, keep, atLeast }: Clearing,
  remembers: boolean,
  overhead: number,
): PruneModel {
  /** Results that stay cleared, the oldest ones. */
  let done = 0
  return {
    sent(messages, tokens) {
      const all = clearableResults(messages, keep)
      const before = remembers ? done : 0
      const whole = withoutResults(messages, all.slice(0, before))
      const cleared = withoutResults(messages, all)
      const isDue = overhead + tokens(unitsIn(whole)) >= trigger
      const isWorth = tokens(unitsIn(whole) - unitsIn(cleared)) >= atLeast
      if (!isDue || !isWorth) return whole
      done = all.length
      return cleared
    },
  }
}

function withoutResults(
  messages: readonly SentMessage[],
  results: readonly (readonly [message: number, block: number])[],
): readonly SentMessage[] {
  const blocks = new Map<number, Set<number>>()
  for (const [message, block] of results) blocks.set(message, (blocks.get(message) ?? new Set()).add(block))
  return messages.map((message, n) => {
    const gone = blocks.get(n)
    return gone === undefined ? message : withoutBlocks(message, gone)
  })
}

/** The same object for the same message, so that what did not change is seen at once. */
const made = new WeakMap<SentMessage, { readonly count: number; readonly message: SentMessage }>()

function withoutBlocks(message: SentMessage, gone: ReadonlySet<number>): SentMessage {
  const known = made.get(message)
  if (known?.count === gone.size) return known.message
  const content = message.content.map((block, n) => (gone.has(n) ? clearedResult(block) : block))
  made.set(message, { count: gone.size, message: { ...message, content } })
  return made.get(message)!.message
}

const counted = new WeakMap<SentMessage, number>()

/** UTF-16 units of JSON. */
export const unitsIn = (messages: readonly SentMessage[]): number =>
  messages.reduce((sum, message) => {
    const known = counted.get(message) ?? message.content.reduce((units, block) => units + unitsOf(block), 0)
    counted.set(message, known)
    return sum + known
  }, 0)

/* A session as steps that can be played again under any rule: what was said to the model, and what it answered. Pure. */

export interface SessionStep {
  /** Said since the answer before. */
  readonly news: readonly SentMessage[]
  readonly answer: SentMessage
  /** Tokens of the answer. */
  readonly output: number
  readonly model: string
  /** Whether the API had nothing of it in its cache any more, though it had been sent. */
  readonly isCold: boolean
  /** Whether so much time had passed since the request before that this was to be expected. */
  readonly isLate: boolean
}

export interface PlayedSession {
  readonly name: string
  readonly unitsPerToken: number
  /** Tokens of each request that are not in its messages. */
  readonly overhead: number
  /** Of what it wrote to the cache, the share that was to stay for an hour rather than five minutes. */
  readonly hour: number
  readonly steps: readonly SessionStep[]
}

/** How a summary begins. What it stands for is played itself. */
const SUMMARY = "This session is being continued from a previous conversation"

/** Without the compactions that took place: each way has its own. What the user took back stays. */
export function playedSession(name: string, passages: readonly Passage[]): PlayedSession {
  const scales = passages.map(scaleOf)
  // The longest tells most. What a compaction left is not overhead.
  const longest = passages.reduce(
    (most, one) => (one.requests.length > most.requests.length ? one : most),
    passages[0]!,
  )
  const { unitsPerToken } = scales[passages.indexOf(longest)]!
  const usages = passages.flatMap(({ requests }) => requests.map(({ usage }) => usage))
  const sum = (of: (usage: Usage) => number): number => usages.reduce((all, usage) => all + of(usage), 0)
  const written = sum(({ cacheCreation }) => cacheCreation)
  const hour = written === 0 ? 0 : sum(({ cacheHour }) => cacheHour) / written
  let last: number | undefined
  const steps = passages.flatMap(({ kept, messages, requests }) => {
    let from = kept
    let sent = 0
    return requests.flatMap(({ messages: upTo, usage, at }): SessionStep[] => {
      const news = messages.slice(from, upTo).flatMap(withoutSummary)
      from = upTo + 1
      const isLate = at !== undefined && last !== undefined && at - last >= cacheLifetime(hour > 0.5)
      // What Claude Code always sends is less than half, and others may have put it there.
      const isCold = sent > 0 ? usage.cacheRead < sent / 2 : isLate
      last = at ?? last
      sent = promptTokens(usage)
      const answer = messages[upTo]
      if (answer === undefined) return []
      const units = answer.content.reduce((all, block) => all + unitsOf(block), 0)
      // Some lines have the count of a message that was only begun.
      const output = Math.max(usage.output, Math.round(units / unitsPerToken))
      return [{ news, answer, output, model: usage.model, isCold, isLate }]
    })
  })
  return { name, unitsPerToken, overhead: scales[0]!.overhead, hour, steps }
}

function withoutSummary(message: SentMessage): SentMessage[] {
  const content = message.content.filter(({ text }) => typeof text !== "string" || !text.startsWith(SUMMARY))
  return content.length === 0 ? [] : [{ ...message, content }]
}
