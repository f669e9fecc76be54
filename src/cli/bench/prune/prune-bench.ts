/** What each way of pruning costs, over a simulated session and over real ones. Pure. */
import { cut, markdownTable, oneLine, percent } from "../../../base/text.ts"
import {
  batchedRule,
  clearedByApi,
  costOf,
  fullAt,
  type PlayedSession,
  PRICES,
  type PruneModel,
  type SessionCost,
  type SessionStep,
  SUMMARY_TOKENS,
  unitsIn,
  unpruned,
} from "../../../prune/costs.ts"
import type { PruneOptions } from "../../../prune/prune-messages.ts"
import { DEFAULT_CLEARING, type SentMessage } from "../../../prune/sent-passages.ts"
import { UNITS_PER_TOKEN } from "../../../prune/way.ts"
import { Dice, quantiles } from "../seeded-random.ts"

/** Tokens. Which one a session has depends on the model. */
const WINDOWS = [200_000, 1_000_000]

interface ModelledWay {
  readonly name: string
  readonly model: (session: PlayedSession) => PruneModel
  /** Whether a compaction asks the model for a summary. */
  readonly isSummarized: boolean
}

interface WayCost extends SessionCost {
  readonly way: string
  /** Of the cost without pruning. */
  readonly relative: number
}

interface PlayedCosts {
  readonly session: string
  readonly window: number
  readonly steps: number
  readonly unitsPerToken: number
  readonly overhead: number
  readonly ways: readonly WayCost[]
}

interface PruneBenchReport {
  readonly suite: "prune"
  readonly prices: typeof PRICES
  readonly options: PruneOptions
  readonly sessions: readonly PlayedCosts[]
}

/** What others do: the last four messages of the user's role stay, of earlier ones 80 characters, from 20,000 tokens on. */
const SLIDING = { keep: 4, maxChars: 80, threshold: 20_000 }

export const pruneBenchReport = (
  played: readonly PlayedSession[],
  options: PruneOptions,
  proxy: PruneOptions,
): PruneBenchReport => ({
  suite: "prune",
  prices: PRICES,
  options,
  sessions: played.flatMap((session) => WINDOWS.map((window) => costsIn(session, window, options, proxy))),
})

function costsIn(
  session: PlayedSession,
  window: number,
  options: PruneOptions,
  proxy: PruneOptions,
): PlayedCosts {
  const { name, steps, unitsPerToken, overhead } = session
  const point = fullAt(window)
  const costs = modelledWays(options, proxy).map(({ name: way, model, isSummarized }) => ({
    way,
    ...costOf(session, () => model(session), { point, summary: isSummarized ? SUMMARY_TOKENS : 0 }),
  }))
  const whole = costs[0]!.cost
  const ways = costs.map((one) => ({ ...one, relative: whole === 0 ? 1 : one.cost / whole }))
  return { session: name, window, steps: steps.length, unitsPerToken, overhead, ways }
}

function modelledWays(options: PruneOptions, proxy: PruneOptions): ModelledWay[] {
  const clearing = { ...DEFAULT_CLEARING, atLeast: options.threshold / UNITS_PER_TOKEN }
  const way = (name: string, model: ModelledWay["model"], isSummarized = true): ModelledWay => ({
    name,
    model,
    isSummarized,
  })
  return [
    way("no pruning", unpruned),
    way("sliding cut", () => slidingCut(SLIDING)),
    way("native, if the API remembers", ({ overhead }) => clearedByApi(clearing, true, overhead)),
    way("native, if it does not", ({ overhead }) => clearedByApi(clearing, false, overhead)),
    way("plugin", unpruned, false),
    way("proxy, patch: texts", () => batchedRule({ ...options, results: false })),
    way("proxy, patch: results, too", () => batchedRule({ ...options, results: true })),
    way("proxy by its options", () => batchedRule(proxy)),
  ]
}

/* What others do. Pure. */

interface SlidingCut {
  /** Latest messages of the user's role that stay whole. What tools returned counts as well. */
  readonly keep: number
  readonly maxChars: number
  /** Tokens of a conversation from which on it cuts. */
  readonly threshold: number
}

/** The cut is made anew for each request; whether that gains anything does not matter. Thinking stays. */
export function slidingCut({ keep, maxChars, threshold }: SlidingCut): PruneModel {
  const shortened = new Map<SentMessage, SentMessage>()
  const short = (message: SentMessage): SentMessage => {
    const known = shortened.get(message)
    if (known !== undefined) return known
    const content = message.content.map((block) => {
      const { text } = block
      const isLong = typeof text === "string" && text.length > maxChars
      return isLong ? { ...block, text: `${cut(text, maxChars, "")}\n[pruned]` } : block
    })
    const made = content.every((block, n) => block === message.content[n]) ? message : { ...message, content }
    shortened.set(message, made)
    return made
  }
  return {
    sent(messages, tokens) {
      if (tokens(unitsIn(messages)) < threshold) return messages
      const users = messages.flatMap(({ role }, n) => (role === "user" ? [n] : []))
      const from = users.at(-keep) ?? 0
      return messages.map((message, n) => (n < from ? short(message) : message))
    },
  }
}

/* The report of `bench prune` for people. Pure. */

const HEAD = [
  "way",
  "requests",
  "compactions",
  "tokens sent",
  "largest",
  "prefix changes",
  "cost",
  "of no pruning",
]

export function renderPruneBench({ sessions, prices, options }: PruneBenchReport): string[] {
  const tables = sessions.flatMap(({ session, window, steps, unitsPerToken, overhead, ways }) => [
    `${cut(oneLine(session), 60)}: ${thousands(steps)} answers, a window of ${thousands(window)} tokens`,
    `(${unitsPerToken.toFixed(1)} characters of JSON per token, ${thousands(overhead)} tokens beside the messages)`,
    "",
    ...markdownTable(
      HEAD,
      ways.map((way) => [
        way.way,
        thousands(way.requests),
        thousands(way.compactions),
        millions(way.sent),
        thousands(way.largest),
        thousands(way.prefixChanges),
        millions(way.cost),
        percent(way.relative),
      ]),
    ),
    "",
  ])
  return [
    ...tables,
    `Cost: a token sent is ${prices.input}, written to the cache ${prices.cacheWrite}, read from it ${prices.cacheRead}, ` +
      `answered ${prices.output} (prices of ${prices.asOf}).`,
    `The rule of proxy and patch: keep ${options.keep}, threshold ${thousands(options.threshold)} characters of JSON, ` +
      `step ${thousands(options.step)}.`,
    ...NOTES,
  ]
}

const NOTES = [
  "",
  "Every request is made up again from what was said, and reckoned; nothing is sent. The model says the same each time,",
  "and nothing that was pruned or lost in a compaction is read again: what that costs cannot be told.",
  "The cache is taken to hold whatever the request before began with, and to expire where the API's counts say that it",
  "had; never in the simulated session, where the proxy finds no pause to prune after. No pruning and pruning alike",
  "compact 33,000 tokens before the window is full; the plugin asks no model for the summary, and goes on with as much.",
  "sliding cut: what others do, a new cut for each request (last 4 messages of the user's role, 80 characters).",
]

const thousands = (n: number): string => Math.round(n).toLocaleString("en-US")
const millions = (n: number): string => `${(n / 1e6).toFixed(2)} M`

/* A session that nobody had: what people ask, how many tools are used, and how long everything is, by seeded dice. Pure. */

const PROMPT = quantiles("0 20, 0.5 180, 0.9 1500, 0.98 8000, 1 40000")
const ANSWER = quantiles("0 60, 0.5 600, 0.9 3000, 1 9000")
const REMARK = quantiles("0 20, 0.5 120, 1 600")
const THOUGHT = quantiles("0 100, 0.5 500, 0.9 3000, 1 12000")
const OUTPUT = quantiles("0 20, 0.5 700, 0.9 8000, 0.98 25000, 1 60000")
const INPUT = quantiles("0 30, 0.5 150, 0.9 2500, 1 12000")
const CALLS = quantiles("0 0, 0.3 1, 0.7 5, 1 15")

/** As measured over real sessions (docs/measurements/prune-costs.md). */
const SIMULATED_UNITS = 3
const OVERHEAD = 40_000

const WORDS = "kiln glaze shelf cone clay slip batch ramp soak probe relay valve chart alarm vent".split(" ")

export function simulatedSession(seed: number, turns: number): PlayedSession {
  const dice = new Dice(seed)
  const steps: SessionStep[] = []
  let count = 0

  const words = (length: number): string => {
    let text = `${count++}`
    while (text.length < length) text += ` ${dice.pick(WORDS)}`
    return text.slice(0, Math.max(length, 1))
  }
  const text = (length: number) => ({ type: "text", text: words(length) })
  const thinking = () =>
    dice.chance(0.5)
      ? [{ type: "thinking", thinking: words(dice.sample(THOUGHT)), signature: dice.base64(400) }]
      : []
  const step = (news: SentMessage, content: SentMessage["content"]): void => {
    const units = content.reduce((sum, block) => sum + JSON.stringify(block).length, 0)
    steps.push({
      news: [news],
      answer: { role: "assistant", content },
      output: Math.round(units / SIMULATED_UNITS),
      model: "",
      isCold: false,
      isLate: false,
    })
  }

  for (let turn = 0; turn < turns; turn++) {
    let news: SentMessage = { role: "user", content: [text(dice.sample(PROMPT))] }
    for (let call = dice.sample(CALLS); call > 0; call--) {
      const id = dice.id("toolu")
      const remark = dice.chance(0.4) ? [text(dice.sample(REMARK))] : []
      const use = { type: "tool_use", id, name: "Bash", input: { command: words(dice.sample(INPUT)) } }
      step(news, [...thinking(), ...remark, use])
      const content = words(dice.sample(OUTPUT))
      news = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] }
    }
    step(news, [...thinking(), text(dice.sample(ANSWER))])
  }
  return {
    name: `simulated, ${turns} turns`,
    unitsPerToken: SIMULATED_UNITS,
    overhead: OVERHEAD,
    hour: 0,
    steps,
  }
}
