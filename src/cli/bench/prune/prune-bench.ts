/** What each way of pruning costs, over a simulated session and over real ones. Pure. */
import { cut, markdownTable, oneLine, percent } from "../../../base/text.ts"
import { currentPrompt, findCut, type PruneOptions, pruneAt, UNCUT } from "../../../prune/prune-messages.ts"
import {
  type Clearing,
  clearableResults,
  clearedResult,
  DEFAULT_CLEARING,
  type Passage,
  type SentMessage,
  scaleOf,
  unitsOf,
} from "../../../prune/savings.ts"
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
): PruneBenchReport => ({
  suite: "prune",
  prices: PRICES,
  options,
  sessions: played.flatMap((session) => WINDOWS.map((window) => costsIn(session, window, options))),
})

function costsIn(session: PlayedSession, window: number, options: PruneOptions): PlayedCosts {
  const { name, steps, unitsPerToken, overhead } = session
  const point = fullAt(window)
  const costs = modelledWays(options).map(({ name: way, model, isSummarized }) => ({
    way,
    ...costOf(session, () => model(session), { point, summary: isSummarized ? SUMMARY_TOKENS : 0 }),
  }))
  const whole = costs[0]!.cost
  const ways = costs.map((one) => ({ ...one, relative: whole === 0 ? 1 : one.cost / whole }))
  return { session: name, window, steps: steps.length, unitsPerToken, overhead, ways }
}

function modelledWays(options: PruneOptions): ModelledWay[] {
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
  ]
}

/*
 * What a session would have cost under each way of pruning: every request is made up again, and its price is reckoned.
 * What the model would have answered to less is not known, so it says the same each time. Pure.
 */

/** Of a token, relative to one that was sent and not cached: the API's published prices, the same for all its models. */
const PRICES = { input: 1, cacheWrite: 1.25, cacheRead: 0.1, output: 5, asOf: "2026-06" } as const

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

interface SessionCost {
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

/*
 * What each way makes of the messages of a request: models, by which their costs are compared. A model is asked at each
 * request of a conversation, and may remember. Pure.
 */

interface PruneModel {
  /** @param tokens of so many units of JSON */
  sent(messages: readonly SentMessage[], tokens: (units: number) => number): readonly SentMessage[]
}

export const unpruned = (): PruneModel => ({ sent: (messages) => messages })

/** `ctx:` and a handle. */
const HELD = () => "ctx:000000"

/** Our rule, with everything in the vault: the cut moves at a prompt only. */
export function batchedRule(options: PruneOptions): PruneModel {
  let cutAt = UNCUT
  let considered = -1
  let before: readonly SentMessage[] = []
  return {
    sent(messages) {
      const prompt = currentPrompt(messages) ?? -1
      if (prompt > considered) {
        considered = prompt
        const found = findCut(messages, options, HELD)
        if (found.texts > cutAt.texts) {
          cutAt = found
          const whole = messages.slice(0, Math.max(cutAt.texts, cutAt.thoughts))
          before = pruneAt(whole, cutAt, options, HELD).messages as readonly SentMessage[]
        }
      }
      const end = Math.max(cutAt.texts, cutAt.thoughts)
      return end === 0 ? messages : [...before, ...messages.slice(end)]
    },
  }
}

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
const unitsIn = (messages: readonly SentMessage[]): number =>
  messages.reduce((sum, message) => {
    const known = counted.get(message) ?? message.content.reduce((units, block) => units + unitsOf(block), 0)
    counted.set(message, known)
    return sum + known
  }, 0)

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
  "The cache is taken to hold whatever the request before began with, and never to expire. No pruning and pruning alike",
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
  return { name: `simulated, ${turns} turns`, unitsPerToken: SIMULATED_UNITS, overhead: OVERHEAD, steps }
}

/* A session as steps that can be played again under any rule: what was said to the model, and what it answered. Pure. */

interface SessionStep {
  /** Said since the answer before. */
  readonly news: readonly SentMessage[]
  readonly answer: SentMessage
  /** Tokens of the answer. */
  readonly output: number
}

export interface PlayedSession {
  readonly name: string
  readonly unitsPerToken: number
  /** Tokens of each request that are not in its messages. */
  readonly overhead: number
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
  const steps = passages.flatMap(({ kept, messages, requests }) => {
    let from = kept
    return requests.flatMap((request): SessionStep[] => {
      const news = messages.slice(from, request.messages).flatMap(withoutSummary)
      from = request.messages + 1
      const answer = messages[request.messages]
      if (answer === undefined) return []
      const units = answer.content.reduce((sum, block) => sum + unitsOf(block), 0)
      // Some lines have the count of a message that was only begun.
      return [{ news, answer, output: Math.max(request.usage.output, Math.round(units / unitsPerToken)) }]
    })
  })
  return { name, unitsPerToken, overhead: scales[0]!.overhead, steps }
}

function withoutSummary(message: SentMessage): SentMessage[] {
  const content = message.content.filter(({ text }) => typeof text !== "string" || !text.startsWith(SUMMARY))
  return content.length === 0 ? [] : [{ ...message, content }]
}
