/** What the archive says of your work in figures (docs/stats.md says what each of them counts). */
import type { Database } from "../archive/database.ts"
import { turnsDone } from "../archive/queries/activity.ts"
import { requestsIn } from "../archive/queries/model-requests.ts"
import { projectId } from "../archive/queries/projects.ts"
import type { StatsSpan } from "../archive/queries/span.ts"
import { useOfSessions } from "../archive/queries/token-use.ts"
import { type CompactionStats, compactionStats } from "./compactions.ts"
import { type Friction, gatherFriction } from "./friction.ts"
import { hourFinder, type LocalHour } from "./local-hours.ts"
import type { PriceList } from "./prices.ts"
import { type Period, Spending, type Spent, type SpentRow } from "./spending.ts"

export interface StatsWanted {
  /** As the archive names it; undefined: every project. */
  readonly project: string | undefined
  /** ISO 8601 in UTC. */
  readonly since: string | undefined
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
  const { project, since, by, prices, most } = wanted
  const span = spanOf(db, wanted)
  const slotOf = hourFinder()
  const spending = new Spending(prices, by)
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
    sessions.add(turn.session)
    turns++
  }
  for (const request of requestsIn(db, span)) {
    spending.request(request, slotOf(request.time))
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
    rows: spending.rows(),
    days: active.map((day) => ({ day, turns: days.get(day)! })),
    hours,
    friction: gatherFriction(db, dataHome, span, most),
    compactions: compactionStats(db, dataHome, { project, since }, onProgress),
  }
}

/** No project has this number: one that nobody knows has nothing. */
const NO_PROJECT = 0

export const spanOf = (
  db: Database,
  { project, since }: Pick<StatsWanted, "project" | "since">,
): StatsSpan => ({
  project: project === undefined ? undefined : (projectId(db, project) ?? NO_PROJECT),
  since,
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
