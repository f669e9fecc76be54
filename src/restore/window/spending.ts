/** What was spent: sums of requests, in blocks of five hours as well, and in the periods of budgets. */

import { UNMARKED } from "../../agents/agents.ts"
import { HOUR } from "../../base/local-time.ts"
import type { Tokens } from "../../record/types.ts"
import type { Database } from "../../views/database.ts"
import { type PriceList, requestCost } from "../../views/prices.ts"
import { allTokens, type ModelRequest, requestsIn, type StatsSpan } from "../../views/queries/token-use.ts"
import type { Use } from "./budget-use.ts"

export interface Spent {
  readonly tokens: Tokens
  readonly requests: number
  /** US dollars at list prices, of the models that have one. */
  readonly cost: number
  /** Tokens of the models without a price, which are not in `cost`. */
  readonly unpriced: number
}

/** The same, while it grows. */
type Growing<T> = { -readonly [K in keyof T]: T[K] }
export type Sum = Growing<Omit<Spent, "tokens">> & { readonly tokens: Growing<Tokens> }

export const nothing = (): Sum => ({
  tokens: { input: 0, output: 0, cacheCreation: 0, cacheRead: 0 },
  requests: 0,
  cost: 0,
  unpriced: 0,
})

export function add(sum: Sum, tokens: Tokens, cost: number | undefined): void {
  sum.requests++
  sum.tokens.input += tokens.input
  sum.tokens.output += tokens.output
  sum.tokens.cacheCreation += tokens.cacheCreation
  sum.tokens.cacheRead += tokens.cacheRead
  if (cost === undefined) sum.unpriced += allTokens(tokens)
  else sum.cost += cost
}

/* Five hours of use after each other, as limits of subscriptions count them. */

const BLOCK = 5 * 60 * 60_000

/** Begins at the full hour in which somebody asked a model after the block before had ended. */
export interface UseBlock extends Spent {
  /** The agent: each has its own account. */
  readonly program: string
  /** ISO 8601, as is `last`: when the last answer began. */
  readonly start: string
  readonly end: string
  readonly last: string
}

/** All of them, the latest first: where one begins depends on those before it. */
export const gatherBlocks = (db: Database, span: StatsSpan, prices: PriceList): UseBlock[] =>
  blocksOf(requestsIn(db, span), prices)

function blocksOf(all: Iterable<ModelRequest>, prices: PriceList): UseBlock[] {
  const requests = [...all]
    .flatMap((request) => {
      const at = Date.parse(request.time ?? "")
      return Number.isNaN(at) ? [] : [{ at, request }]
    })
    .sort((a, b) => a.at - b.at)
  const current = new Map<string, Growing<UseBlock> & Sum>()
  const blocks: UseBlock[] = []
  for (const { at, request } of requests) {
    const { program, model } = request
    let block = current.get(program)
    if (block === undefined || at >= Date.parse(block.end)) {
      const start = Math.floor(at / HOUR) * HOUR
      const [from, to] = [start, start + BLOCK].map((ms) => new Date(ms).toISOString())
      block = { program, start: from!, end: to!, last: from!, ...nothing() }
      current.set(program, block)
      blocks.push(block)
    }
    block.last = new Date(at).toISOString()
    add(block, request, requestCost(prices, model, request))
  }
  return blocks.reverse()
}

/* What was spent in the periods of budgets. */

/** Every day has a pause of five hours, unless somebody works for a week on end: then all blocks are followed. */
const LOOKED_BACK = 7 * 24 * HOUR

type Period = Pick<Use, "period" | "from" | "until">

function calendarAt(now: number): Period[] {
  const today = new Date(now)
  const [year, month, date] = [today.getFullYear(), today.getMonth(), today.getDate()]
  const monday = date - ((today.getDay() + 6) % 7)
  const from = (period: Use["period"], first: Date, next: Date): Period => ({
    ...{ period, from: first.toISOString(), until: next.toISOString() },
  })
  return [
    from("day", new Date(year, month, date), new Date(year, month, date + 1)),
    from("week", new Date(year, month, monday), new Date(year, month, monday + 7)),
    from("month", new Date(year, month, 1), new Date(year, month + 1, 1)),
  ]
}

/** In the present day, week and month by all agents, and in Claude Code's present block. */
export function gatherUses(db: Database, prices: PriceList, now: number): Use[] {
  const calendar = calendarAt(now)
  const lookedBack = new Date(now - LOOKED_BACK).toISOString()
  const since = [lookedBack, ...calendar.map(({ from }) => from)].sort()[0]!
  const requests = [...requestsIn(db, { since })]
  const uses = calendar.map((period) => {
    const sum = nothing()
    for (const request of requests) {
      const { time, model } = request
      if (time !== null && time >= period.from && time < period.until)
        add(sum, request, requestCost(prices, model, request))
    }
    return { ...period, cost: sum.cost, tokens: allTokens(sum.tokens) }
  })
  const live = ownBlocks(db, requests, prices, Date.parse(since)).find(
    ({ start, end }) => Date.parse(start) <= now && now < Date.parse(end),
  )
  if (live === undefined) return uses
  const { start: from, end: until, cost, tokens } = live
  return [{ period: "block", from, until, cost, tokens: allTokens(tokens) }, ...uses]
}

/** Claude Code's: those behind a pause are where they are whatever was before it. */
function ownBlocks(
  db: Database,
  requests: readonly ModelRequest[],
  prices: PriceList,
  since: number,
): UseBlock[] {
  const own = requests.filter(({ program }) => program === UNMARKED)
  const times = own.map(({ time }) => Date.parse(time ?? "")).sort((a, b) => a - b)
  const hasPause = times.some((time, n) => time - (times[n - 1] ?? since) >= BLOCK)
  return hasPause ? blocksOf(own, prices) : gatherBlocks(db, { program: UNMARKED }, prices)
}
