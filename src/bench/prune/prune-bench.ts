/** What each way of pruning costs, over a simulated session and over real ones. Pure. */
import type { PruneOptions } from "../../prune/prune-messages.ts"
import { DEFAULT_CLEARING } from "../../pruners/savings.ts"
import { UNITS_PER_TOKEN } from "../../pruners/way.ts"
import { costOf, fullAt, PRICES, type SessionCost, SUMMARY_TOKENS } from "./prune-costs.ts"
import { batchedRule, clearedByApi, type PruneModel, slidingCut, unpruned } from "./prune-models.ts"
import type { PlayedSession } from "./prune-steps.ts"

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

export interface PruneBenchReport {
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
