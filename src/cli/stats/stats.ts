/** What the archive says of your work in figures (docs/stats.md says what each of them counts). */

import { fixesFor } from "../../find/fixes.ts"
import { WholeCalls } from "../../find/whole-matches.ts"
import { errorLinesIn } from "../../record/error-lines.ts"
import type { Receipt } from "../../restore/receipt.ts"
import { countedReceipts, totalOf } from "../../restore/session-receipts.ts"
import { add, nothing, type Spent, type Sum } from "../../restore/window/spending.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { HANDLE_PREFIX } from "../../views/handle-prefix.ts"
import { type PriceList, priceKey, requestCost } from "../../views/prices.ts"
import { projectId } from "../../views/queries/projects.ts"
import { titlesOf } from "../../views/queries/sessions.ts"
import type { StatsSpan } from "../../views/queries/token-use.ts"
import {
  allTokens,
  callsFailed,
  type EditedFile,
  type FailedCall,
  filesEdited,
  type ModelRequest,
  requestsIn,
  type ToolTotal,
  type TurnDone,
  toolTotals,
  turnsDone,
  useOfSessions,
} from "../../views/queries/token-use.ts"
import { hourFinder, type LocalHour, mondayOf } from "./activity-grid.ts"

interface StatsWanted {
  /** As the archive names it; undefined: every project. */
  readonly project: string | undefined
  /** ISO 8601 in UTC. */
  readonly since: string | undefined
  /** Name of an agent; undefined: all. */
  readonly program?: string | undefined
  readonly by: Period
  readonly prices: PriceList
  /** Files and errors at most. */
  readonly most: number
}

/** What Claude Code itself says that sessions have cost. */
interface ToldCost {
  /** US dollars. */
  readonly cost: number
  /** How many sessions tell it, out of all. */
  readonly sessions: number
  /** By our own reckoning, of the same sessions. */
  readonly estimated: number
}

export interface Stats {
  readonly sessions: number
  /** Turns that a human started. */
  readonly turns: number
  /** Local days. */
  readonly first: string | null
  readonly last: string | null
  readonly total: Spent
  readonly unpriced: readonly { readonly model: string; readonly tokens: number }[]
  /** Null if no session tells it, or with a `since`, which may cut one in two. */
  readonly told: ToldCost | null
  readonly by: Period
  readonly rows: readonly SpentRow[]
  /** By agent, whatever `by` says. */
  readonly agents: readonly SpentRow[]
  /** Turns by local day, without days that have none; the earliest first. */
  readonly days: readonly { readonly day: string; readonly turns: number }[]
  /** Turns by local hour, from 0 to 23. */
  readonly hours: readonly number[]
  readonly friction: Friction
  readonly compactions: CompactionStats
}

export function gatherStats(
  db: Database,
  dataHome: string,
  wanted: StatsWanted,
  onProgress: (done: number, total: number) => void,
): Stats {
  const { project, since, program, by, prices, most } = wanted
  const span = spanOf(db, wanted)
  const slotOf = hourFinder()
  const spending = new Spending(prices, by)
  const byAgent = new Spending(prices, "agent")
  const sessions = new Set<string>()
  const days = new Map<string, number>()
  const hours = Array.from({ length: 24 }, () => 0)
  const note = (slot: LocalHour | undefined): void => {
    if (slot === undefined) return
    days.set(slot.day, (days.get(slot.day) ?? 0) + 1)
    hours[slot.hour]!++
  }
  let turns = 0
  for (const turn of turnsDone(db, span)) {
    const slot = slotOf(turn.time)
    note(slot)
    spending.turn(turn, slot)
    byAgent.turn(turn, slot)
    sessions.add(turn.session)
    turns++
  }
  for (const request of requestsIn(db, span)) {
    const slot = slotOf(request.time)
    spending.request(request, slot)
    byAgent.request(request, slot)
    sessions.add(request.session)
  }
  const active = [...days.keys()].sort()
  return {
    sessions: sessions.size,
    turns,
    first: active[0] ?? null,
    last: active.at(-1) ?? null,
    total: spending.total,
    unpriced: [...spending.unpriced]
      .map(([model, tokens]) => ({ model, tokens }))
      .sort((a, b) => b.tokens - a.tokens),
    told: since === undefined ? toldBy(db, [...sessions], spending) : null,
    by,
    rows: by === "session" ? titled(db, spending.rows()) : spending.rows(),
    agents: byAgent.rows(),
    days: active.map((day) => ({ day, turns: days.get(day)! })),
    hours,
    friction: gatherFriction(db, dataHome, span, most),
    compactions: compactionStats(db, dataHome, { project, since, program }, onProgress),
  }
}

function titled(db: Database, rows: readonly SpentRow[]): SpentRow[] {
  const titles = titlesOf(
    db,
    rows.map(({ key }) => key),
  )
  return rows.map((row) => ({ ...row, title: titles.get(row.key) ?? null }))
}

/** No project has this number: one that nobody knows has nothing. */
const NO_PROJECT = 0

export const spanOf = (
  db: Database,
  { project, since, program }: Pick<StatsWanted, "project" | "since" | "program">,
): StatsSpan => ({
  project: project === undefined ? undefined : (projectId(db, project) ?? NO_PROJECT),
  since,
  program,
})

function toldBy(db: Database, sessions: readonly string[], spending: Spending): ToldCost | null {
  const telling = [...useOfSessions(db, sessions)].flatMap(([id, { cost }]) =>
    cost === null ? [] : { id, cost },
  )
  if (telling.length === 0) return null
  return {
    cost: telling.reduce((sum, { cost }) => sum + cost, 0),
    sessions: telling.length,
    estimated: spending.costOfSessions(telling.map(({ id }) => id)),
  }
}

/* What compactions dropped, and what of it was restored: the sums of the latest receipts. */

/** Each takes reading a transcript, so only the latest are examined. */
const EXAMINED = 10

export interface CompactionStats {
  /** Compactions whose figures are in, the latest of the span. */
  readonly examined: number
  /** Whether the span has older ones. */
  readonly more: boolean
  readonly kinds: Receipt["kinds"]
}

function compactionStats(
  db: Database,
  dataHome: string,
  wanted: Pick<StatsWanted, "project" | "since" | "program">,
  onProgress: (done: number, total: number) => void,
): CompactionStats {
  const all = countedReceipts(db, dataHome, { ...wanted, limit: EXAMINED, onProgress })
  const { since } = wanted
  const within = all.filter(({ time }) => since === undefined || (time ?? "") >= since)
  const examined = within.slice(0, EXAMINED)
  return { examined: examined.length, more: within.length > EXAMINED, kinds: totalOf(examined) }
}

/* What gets in the way again and again: calls that fail, files edited over and over, errors that come back. */

/** An error, and whether the last call with it was seen to succeed later. */
interface MetError extends Omit<RecurringError, "message"> {
  /** The turn in which it did, with `ctx:`. */
  readonly solvedIn: string | null
}

export interface Friction {
  /** Turns that the human stopped, and that the human took back. */
  readonly interrupted: number
  readonly takenBack: number
  /** Calls that failed, by the local hour in which their turns began, from 0 to 23. */
  readonly failuresByHour: readonly number[]
  /** The most used first. */
  readonly tools: readonly ToolTotal[]
  /** The most edited first. */
  readonly files: readonly EditedFile[]
  /** The most frequent first. */
  readonly errors: readonly MetError[]
}

/** @param most files and errors at most */
export function gatherFriction(db: Database, dataHome: string, span: StatsSpan, most: number): Friction {
  using readers = new CopyReaders()
  const calls = new WholeCalls(db, dataHome, readers)
  let [interrupted, takenBack] = [0, 0]
  for (const turn of turnsDone(db, span)) {
    interrupted += turn.interrupted
    takenBack += turn.takenBack
  }
  const failed = [...callsFailed(db, span)]
  const errors = recurringErrors(failed)
    .slice(0, most)
    .map(({ message, ...error }) => {
      const [found] = fixesFor(db, [message], calls)
      return { ...error, solvedIn: found?.[0].solvedIn ?? null }
    })
  return {
    interrupted,
    takenBack,
    failuresByHour: byHour(failed),
    tools: toolTotals(db, span),
    files: filesEdited(db, span, most),
    errors,
  }
}

function byHour(failed: readonly FailedCall[]): number[] {
  const hours = Array.from({ length: 24 }, () => 0)
  const slotOf = hourFinder()
  for (const { time } of failed) {
    const slot = slotOf(time)
    if (slot !== undefined) hours[slot.hour]!++
  }
  return hours
}

/* Errors that come up again: the same line, whatever numbers, ids and folders are in it. Pure. */

interface RecurringError {
  /** The line that names it, as it was the last time. */
  readonly error: string
  readonly tool: string
  readonly times: number
  /** Turns in which it came up. */
  readonly turns: number
  readonly first: string | null
  readonly last: string | null
  /** The latest turn, with `ctx:`. */
  readonly handle: string
  /** Id of the latest message that holds it. */
  readonly message: number
}

/** @param failed in the order in which they happened @returns the most frequent first */
export function recurringErrors(failed: Iterable<FailedCall>): RecurringError[] {
  const found = new Map<string, RecurringError>()
  for (const { tool, error, result, handle, time } of failed) {
    const [line] = errorLinesIn(error, true)
    if (line === undefined) continue
    const key = essenceOf(line)
    const known = found.get(key)
    const isNewTurn = known?.handle !== HANDLE_PREFIX + handle
    found.set(key, {
      error: line,
      tool,
      times: (known?.times ?? 0) + 1,
      turns: (known?.turns ?? 0) + (isNewTurn ? 1 : 0),
      first: known?.first ?? time,
      last: time,
      handle: HANDLE_PREFIX + handle,
      message: result,
    })
  }
  return [...found.values()]
    .filter(({ times }) => times > 1)
    .sort((a, b) => b.times - a.times || ((a.last ?? "") < (b.last ?? "") ? 1 : -1))
}

/** Without what differs between two occurrences of one error. */
const essenceOf = (line: string): string =>
  line
    .replace(/(?:[A-Za-z]:)?(?:[\w.@~-]*[\\/])+(?=[\w.@-])/g, "")
    .replace(/\b(?=[a-f]*\d)[0-9a-f]{7,}\b/gi, "#")
    .replace(/\d+/g, "#")
    .toLowerCase()

/* Tokens and cost, summed by day, week, month, project, agent, model or session. */

export const PERIODS = ["day", "week", "month", "project", "agent", "model", "session"] as const
export type Period = (typeof PERIODS)[number]

export interface SpentRow extends Spent {
  /** `2026-03-02`, the Monday of a week, `2026-03`, a project's path, an agent's name, a model, a session's id; `""`: unknown. */
  readonly key: string
  /** By session: its title, else its first prompt, if it has one. */
  readonly title?: string | null
  /** Turns that a human started; null by model, since a turn may have several. */
  readonly turns: number | null
}

class Spending {
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
    const { session, model } = request
    const cost = requestCost(this.#prices, model, request)
    const own = this.#row(keyOf(this.#by, request, slot))
    add(this.total, request, cost)
    add(own, request, cost)
    this.#sessions.set(session, (this.#sessions.get(session) ?? 0) + (cost ?? 0))
    if (cost !== undefined) return
    const key = priceKey(model, request.fast === 1)
    this.unpriced.set(key, (this.unpriced.get(key) ?? 0) + allTokens(request))
  }

  turn(turn: TurnDone, slot: LocalHour | undefined): void {
    if (this.#by !== "model") this.#row(keyOf(this.#by, turn, slot)).turns++
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

/** By session, subagents' included: US dollars at list prices, of the models that have one. */
export function costsOfSessions(db: Database, span: StatsSpan, prices: PriceList): Map<string, number> {
  const costs = new Map<string, number>()
  for (const request of requestsIn(db, span)) {
    const cost = requestCost(prices, request.model, request)
    if (cost !== undefined) costs.set(request.session, (costs.get(request.session) ?? 0) + cost)
  }
  return costs
}

interface Whose {
  readonly session: string
  readonly project: string | null
  readonly program: string
  readonly model?: string
  readonly fast?: number
}

function keyOf(
  by: Period,
  { session, project, program, model = "", fast }: Whose,
  slot: LocalHour | undefined,
): string {
  switch (by) {
    case "day":
      return slot?.day ?? ""
    case "week":
      return slot === undefined ? "" : mondayOf(slot.day)
    case "month":
      return slot?.day.slice(0, 7) ?? ""
    case "project":
      return project ?? ""
    case "agent":
      return program
    case "model":
      return priceKey(model, fast === 1)
    case "session":
      return session
  }
}
