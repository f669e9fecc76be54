/**
 * How much of the budgets is used, for the status line: sums that are kept beside the archive, so that nobody opens the
 * database for them. They are as old as the last look of the background job or of `stats`.
 */
import { statsOf, tryTo } from "../../base/files.ts"
import { readJson, writeJson } from "../../base/json-files.ts"
import { join } from "../../base/path.ts"
import type { BudgetPeriod, Config } from "../../config/options.ts"

/** What was spent from then until now. */
export interface Use {
  readonly period: BudgetPeriod
  /** ISO 8601 in UTC. After `until` another period has begun, of which nothing is known. */
  readonly from: string
  readonly until: string
  /** US dollars at list prices. */
  readonly cost: number
  /** Of all four kinds. */
  readonly tokens: number
}

export interface BudgetUse {
  readonly period: BudgetPeriod
  readonly from: string
  readonly until: string
  readonly unit: "dollars" | "tokens"
  readonly limit: number
  readonly used: number
  readonly share: number
}

type Budget = Pick<BudgetUse, "unit" | "limit">

/** `$20` or `5M`: dollars, or tokens in thousands, millions, billions. Undefined for nothing, and for no more than that. */
export function parseBudget(text: string): Budget | undefined {
  const [, money, tokens, unit = ""] = /^\s*(?:\$\s*([\d.]+)|([\d.]+)\s*([kmb])?)/i.exec(text) ?? []
  const limit = Number(money ?? tokens ?? 0) * (unit === "" ? 1 : 1000 ** " kmb".indexOf(unit.toLowerCase()))
  return limit > 0 ? { unit: money === undefined ? "tokens" : "dollars", limit } : undefined
}

const fileOf = (dataHome: string): string => join(dataHome, "spent.json")

/** Where nothing can be written, the status line shows none. */
export const keepUses = (dataHome: string, uses: readonly Use[]): unknown =>
  tryTo(() => writeJson(fileOf(dataHome), uses))

/** ms for which sums are good enough: each costs a background job. */
const GOOD = 60_000

export const areUsesOld = (dataHome: string, now: number): boolean =>
  Math.abs(now - (statsOf(fileOf(dataHome))?.mtimeMs ?? 0)) > GOOD

/** Those that are set, of the periods that have not ended. */
export function budgetUses(config: Config, uses: readonly Use[], now: number): BudgetUse[] {
  return uses.flatMap(({ period, from, until, cost, tokens }) => {
    const budget = parseBudget(config[`budget.${period}`])
    if (budget === undefined || !(now < Date.parse(until))) return []
    const used = budget.unit === "dollars" ? cost : tokens
    return [{ period, from, until, ...budget, used, share: used / budget.limit }]
  })
}

/** Shares from which the status line says so. */
const NEAR = 0.8
const SPENT = 1
const COLOURS = { near: 33, spent: 31 } as const

/** ` ⚠ day 81%`: the budget of which most is used, once that is much; else nothing. */
export function budgetSign(dataHome: string, config: Config, now: number, color: boolean): string {
  const kept = readJson(fileOf(dataHome))
  // Whatever the file holds, the rest of the line is shown.
  const uses = Array.isArray(kept) ? (tryTo(() => budgetUses(config, kept as Use[], now)) ?? []) : []
  const [most] = uses.sort((a, b) => b.share - a.share)
  if (most === undefined || !(most.share >= NEAR)) return ""
  const isSpent = most.share >= SPENT
  // Rounded down: 100% is when all of it is used.
  const text = `${isSpent ? "✖" : "⚠"} ${most.period} ${Math.min(999, Math.floor(100 * most.share))}%`
  return color ? ` \x1b[${COLOURS[isSpent ? "spent" : "near"]}m${text}\x1b[0m` : ` ${text}`
}
