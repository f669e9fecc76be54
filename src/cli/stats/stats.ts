/** What the archive says of your work in figures (docs/stats.md says what each of them counts). */

import { fixesFor } from "../../find/fixes.ts"
import { WholeCalls } from "../../find/whole-matches.ts"
import type { Receipt } from "../../restore/receipt.ts"
import { countedReceipts, totalOf } from "../../restore/session-receipts.ts"
import { nothing, type Spent, type Sum } from "../../restore/window/spending.ts"
import { CopyReaders } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { type PriceList, requestCost } from "../../views/prices.ts"
import { namesApart } from "../../views/project.ts"
import { projectId, projectPaths } from "../../views/queries/projects.ts"
import { titlesOf } from "../../views/queries/sessions.ts"
import type { StatsSpan } from "../../views/queries/token-use.ts"
import { allTokens, type EditedFile, requestsIn, type ToolTotal } from "../../views/queries/token-use.ts"
import { hourFinder, type LocalHour, mondayOf } from "./activity-grid.ts"
import { type ErrorSum, type Summed, type SummedSession, sumsOf } from "./session-sums.ts"

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
  const summed = sumsOf(db, dataHome, spanOf(db, wanted), prices)
  const slotOf = hourFinder()
  const rows = new SpentRows()
  const byAgent = new SpentRows()
  const total = nothing()
  let turns = 0
  /** Tokens by model for which no price is known. */
  const unpriced = new Map<string, number>()
  const costs = new Map<string, number>()
  const days = new Map<string, number>()
  const hours = Array.from({ length: 24 }, () => 0)
  for (const one of summed.sessions) {
    const { session, program } = one
    if (one.turns.length + one.requests.length === 0) continue
    const own = { ...nothing(), turns: 0 }
    for (const [quarter, n] of one.turns) {
      const slot = slotOf(quarter)
      own.turns += n
      if (by !== "model") rows.of(keyOf(by, one, slot, "")).turns += n
      if (slot === undefined) continue
      days.set(slot.day, (days.get(slot.day) ?? 0) + n)
      hours[slot.hour]! += n
    }
    for (const sum of one.requests) {
      const { quarter, model } = sum
      addSum(own, sum)
      addSum(rows.of(keyOf(by, one, slotOf(quarter), model)), sum)
      if (sum.unpriced > 0) unpriced.set(model, (unpriced.get(model) ?? 0) + sum.unpriced)
    }
    addSum(total, own)
    turns += own.turns
    const agents = byAgent.of(program)
    addSum(agents, own)
    agents.turns += own.turns
    costs.set(session, (costs.get(session) ?? 0) + own.cost)
  }
  const active = [...days.keys()].sort()
  return {
    sessions: costs.size,
    turns,
    first: active[0] ?? null,
    last: active.at(-1) ?? null,
    total,
    unpriced: [...unpriced].map(([model, tokens]) => ({ model, tokens })).sort((a, b) => b.tokens - a.tokens),
    told: since === undefined ? toldBy(summed, costs) : null,
    by,
    rows: titled(db, by, rows.sorted(by)),
    agents: byAgent.sorted("agent"),
    days: active.map((day) => ({ day, turns: days.get(day)! })),
    hours,
    friction: frictionIn(db, dataHome, summed, most, slotOf),
    compactions: compactionStats(db, dataHome, { project, since, program }, onProgress),
  }
}

function titled(db: Database, by: Period, rows: readonly SpentRow[]): readonly SpentRow[] {
  const keys = rows.map(({ key }) => key)
  const titles =
    by === "session" ? titlesOf(db, keys) : by === "project" ? namesApart(projectPaths(db)) : undefined
  return titles === undefined ? rows : rows.map((row) => ({ ...row, title: titles.get(row.key) ?? null }))
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

/** @param costs by our own reckoning, of the sessions that count */
function toldBy({ sessions }: Summed, costs: ReadonlyMap<string, number>): ToldCost | null {
  const telling = sessions.flatMap(({ session, told }) =>
    told === null || !costs.has(session) ? [] : { id: session, cost: told },
  )
  if (telling.length === 0) return null
  return {
    cost: telling.reduce((sum, { cost }) => sum + cost, 0),
    sessions: telling.length,
    estimated: telling.reduce((sum, { id }) => sum + costs.get(id)!, 0),
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
  /** How many of them came before their session was archived. Their figures are in only if all did. */
  readonly early: number
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
  const ours = examined.filter(({ delivery }) => delivery !== "not-archived")
  return {
    examined: examined.length,
    more: within.length > EXAMINED,
    early: examined.length - ours.length,
    kinds: totalOf(ours.length === 0 ? examined : ours),
  }
}

/* What gets in the way again and again: calls that fail, files edited over and over, errors that come back. */

/** An error, and whether the last call with it was seen to succeed later. */
interface MetError extends Omit<RecurringError, "latest"> {
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
export const gatherFriction = (
  db: Database,
  dataHome: string,
  wanted: StatsSpan,
  prices: PriceList,
  most: number,
): Friction => frictionIn(db, dataHome, sumsOf(db, dataHome, wanted, prices), most, hourFinder())

function frictionIn(
  db: Database,
  dataHome: string,
  { sessions, keep }: Summed,
  most: number,
  slotOf: ReturnType<typeof hourFinder>,
): Friction {
  using readers = new CopyReaders()
  const calls = new WholeCalls(db, dataHome, readers)
  const failuresByHour = Array.from({ length: 24 }, () => 0)
  const tools = new Map<string, ToolTotal>()
  const files = new Map<string, SummedFile>()
  let [interrupted, takenBack] = [0, 0]
  for (const one of sessions) {
    interrupted += one.interrupted
    takenBack += one.takenBack
    for (const { name, calls: n, failed } of one.tools) {
      const known = tools.get(name) ?? { name, calls: 0, failed: 0 }
      tools.set(name, { name, calls: known.calls + n, failed: known.failed + failed })
    }
    for (const file of one.files) files.set(file[0], together(files.get(file[0]), file))
    for (const [quarter, n] of one.failures) {
      const slot = slotOf(quarter)
      if (slot !== undefined) failuresByHour[slot.hour]! += n
    }
  }
  let isMore = false
  const errors = recurringErrors(sessions.map((one) => one.errors))
    .slice(0, most)
    .map(({ latest, ...error }) => {
      if (latest.solvedIn === undefined) {
        isMore = true
        latest.solvedIn = fixesFor(db, [latest.message], calls)[0]?.[0].solvedIn ?? null
      }
      return { ...error, solvedIn: latest.solvedIn }
    })
  keep(isMore)
  return {
    interrupted,
    takenBack,
    failuresByHour,
    tools: [...tools.values()].sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)),
    files: mostEdited([...files.values()], most).map(namedFile),
    errors,
  }
}

type SummedFile = SummedSession["files"][number]

function together(one: SummedFile | undefined, other: SummedFile): SummedFile {
  if (one === undefined) return other
  const [path, edits, failed, turns, handle, latest] = one
  const isLater = latest > other[5]
  return [
    path,
    edits + other[1],
    failed + other[2],
    turns + other[3],
    isLater ? handle : other[4],
    isLater ? latest : other[5],
  ]
}

const namedFile = ([path, edits, failed, turns, handle]: SummedFile) => ({
  path,
  edits,
  failed,
  turns,
  handle,
})

/** Of thousands, only those are put in order that may be among the first. */
function mostEdited(files: readonly SummedFile[], most: number): SummedFile[] {
  const edits = new Float64Array(files.map((file) => -file[1])).sort()
  const least = -(edits[most - 1] ?? 0)
  return files
    .filter((file) => file[1] >= least)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .slice(0, most)
}

/** The same as of one session, and that of the session that had it last. */
type RecurringError = Omit<ErrorSum, "message" | "solvedIn"> & { readonly latest: ErrorSum }

/** Those that came up more than once. @returns the most frequent first */
export function recurringErrors(all: Iterable<Readonly<Record<string, ErrorSum>>>): RecurringError[] {
  const found = new Map<string, RecurringError>()
  for (const errors of all) {
    for (const [key, one] of Object.entries(errors)) {
      const known = found.get(key)
      const isLater = known === undefined || isBehind(one, known.latest)
      const { error, tool, last, handle } = isLater ? one : known
      found.set(key, {
        ...{ error, tool, last, handle },
        times: (known?.times ?? 0) + one.times,
        turns: (known?.turns ?? 0) + one.turns,
        first: earlier(known?.first ?? null, one.first),
        latest: isLater ? one : known.latest,
      })
    }
  }
  return [...found.values()]
    .filter(({ times }) => times > 1)
    .sort((a, b) => b.times - a.times || ((a.last ?? "") < (b.last ?? "") ? 1 : -1))
}

const isBehind = (one: ErrorSum, other: ErrorSum): boolean => {
  const [a, b] = [one.last ?? "", other.last ?? ""]
  return a > b || (a === b && one.message > other.message)
}

const earlier = (a: string | null, b: string | null): string | null =>
  a === null || (b !== null && b < a) ? b : a

/* Tokens and cost, summed by day, week, month, project, agent, model or session. */

export const PERIODS = ["day", "week", "month", "project", "agent", "model", "session"] as const
export type Period = (typeof PERIODS)[number]

export interface SpentRow extends Spent {
  /** `2026-03-02`, the Monday of a week, `2026-03`, a project's path, an agent's name, a model, a session's id; `""`: unknown. */
  readonly key: string
  /** By session: its title, else its first prompt, if it has one; by project: what it is called. */
  readonly title?: string | null
  /** Turns that a human started; null by model, since a turn may have several. */
  readonly turns: number | null
}

type SpentSum = Sum & { turns: number }

function addSum(one: Sum, other: Spent): void {
  one.requests += other.requests
  one.tokens.input += other.tokens.input
  one.tokens.output += other.tokens.output
  one.tokens.cacheCreation += other.tokens.cacheCreation
  one.tokens.cacheRead += other.tokens.cacheRead
  one.cost += other.cost
  one.unpriced += other.unpriced
}

class SpentRows {
  readonly #rows = new Map<string, SpentSum>()

  of(key: string): SpentSum {
    let found = this.#rows.get(key)
    if (found === undefined) {
      found = { ...nothing(), turns: 0 }
      this.#rows.set(key, found)
    }
    return found
  }

  /** The latest period first; projects, models and sessions by their tokens. */
  sorted(by: Period): SpentRow[] {
    const isTime = ["day", "week", "month"].includes(by)
    const rows = [...this.#rows].map(([key, row]) => ({
      key,
      ...row,
      turns: by === "model" ? null : row.turns,
    }))
    return rows.sort((a, b) =>
      isTime
        ? a.key < b.key
          ? 1
          : -1
        : allTokens(b.tokens) - allTokens(a.tokens) || (a.key < b.key ? -1 : 1),
    )
  }
}

/** By session, subagents' included: US dollars at list prices, of the models that have one. */
export function costsAtListPrices(
  db: Database,
  sessions: readonly { readonly project: string | null }[],
  prices: PriceList,
): Map<string, number> {
  const projects = new Set(sessions.map(({ project }) => project ?? undefined))
  const project = projects.size === 1 ? [...projects][0] : undefined
  const costs = new Map<string, number>()
  for (const request of requestsIn(db, spanOf(db, { project, program: undefined, since: undefined }))) {
    const cost = requestCost(prices, request.model, request)
    if (cost !== undefined) costs.set(request.session, (costs.get(request.session) ?? 0) + cost)
  }
  return costs
}

function keyOf(
  by: Period,
  { session, project, program }: SummedSession,
  slot: LocalHour | undefined,
  model: string,
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
      return model
    case "session":
      return session
  }
}
