/** Tokens and cost, summed by day, week, month, project, model or session. */
import type { TurnDone } from "../archive/queries/activity.ts"
import type { ModelRequest } from "../archive/queries/model-requests.ts"
import { allTokens } from "../archive/queries/token-use.ts"
import type { Tokens } from "../transcript/types.ts"
import { type LocalHour, mondayOf } from "./local-hours.ts"
import { modelKey, type PriceList, requestCost } from "./prices.ts"

export const PERIODS = ["day", "week", "month", "project", "model", "session"] as const
export type Period = (typeof PERIODS)[number]

export interface Spent {
  readonly tokens: Tokens
  readonly requests: number
  /** US dollars at list prices, of the models that have one. */
  readonly cost: number
  /** Tokens of the models without a price, which are not in `cost`. */
  readonly unpriced: number
}

export interface SpentRow extends Spent {
  /** `2026-03-02`, the Monday of a week, `2026-03`, a project's path, a model, a session's id; `""`: unknown. */
  readonly key: string
  /** Turns that a human started; null by model, since a turn may have several. */
  readonly turns: number | null
}

/** The same, while it grows. */
type Growing<T> = { -readonly [K in keyof T]: T[K] }
type Sum = Growing<Omit<Spent, "tokens">> & { readonly tokens: Growing<Tokens> }

const nothing = (): Sum => ({
  tokens: { input: 0, output: 0, cacheCreation: 0, cacheRead: 0 },
  requests: 0,
  cost: 0,
  unpriced: 0,
})

export class Spending {
  readonly total: Spent = nothing()
  /** Tokens by model for which no price is known. */
  readonly unpriced = new Map<string, number>()
  readonly #prices: PriceList
  readonly #by: Period
  readonly #rows = new Map<string, Sum & { turns: number }>()
  readonly #sessions = new Map<string, number>()

  constructor(prices: PriceList, by: Period) {
    this.#prices = prices
    this.#by = by
  }

  request(request: ModelRequest, slot: LocalHour | undefined): void {
    const { session, project, model } = request
    const cost = requestCost(this.#prices, model, request)
    const own = this.#row(keyOf(this.#by, { session, project, model }, slot))
    add(this.total, request, cost)
    add(own, request, cost)
    this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + (cost ?? 0))
    if (cost !== undefined) return
    this.unpriced.set(modelKey(model), (this.unpriced.get(modelKey(model)) ?? 0) + allTokens(request))
  }

  turn({ session, project }: TurnDone, slot: LocalHour | undefined): void {
    if (this.#by !== "model") this.#row(keyOf(this.#by, { session, project }, slot)).turns++
  }

  /** Cost by our own reckoning of these sessions together. */
  costOfSessions(sessions: readonly string[]): number {
    return sessions.reduce((sum, session) => sum + (this.#sessions.get(session) ?? 0), 0)
  }

  /** The latest period first; projects, models and sessions by their tokens. */
  rows(): SpentRow[] {
    const isTime = ["day", "week", "month"].includes(this.#by)
    const rows = [...this.#rows].map(([key, row]) => ({
      key,
      ...row,
      turns: this.#by === "model" ? null : row.turns,
    }))
    return rows.sort((a, b) =>
      isTime
        ? a.key < b.key
          ? 1
          : -1
        : allTokens(b.tokens) - allTokens(a.tokens) || (a.key < b.key ? -1 : 1),
    )
  }

  #row(key: string): Sum & { turns: number } {
    const found = this.#rows.get(key) ?? { ...nothing(), turns: 0 }
    this.#rows.set(key, found)
    return found
  }
}

function add(sum: Sum, tokens: Tokens, cost: number | undefined): void {
  sum.requests++
  sum.tokens.input += tokens.input
  sum.tokens.output += tokens.output
  sum.tokens.cacheCreation += tokens.cacheCreation
  sum.tokens.cacheRead += tokens.cacheRead
  if (cost === undefined) sum.unpriced += allTokens(tokens)
  else sum.cost += cost
}

interface Whose {
  readonly session: string
  readonly project: string | null
  readonly model?: string
}

function keyOf(by: Period, { session, project, model = "" }: Whose, slot: LocalHour | undefined): string {
  switch (by) {
    case "day":
      return slot?.day ?? ""
    case "week":
      return slot === undefined ? "" : mondayOf(slot.day)
    case "month":
      return slot?.day.slice(0, 7) ?? ""
    case "project":
      return project ?? ""
    case "model":
      return modelKey(model)
    case "session":
      return session
  }
}
