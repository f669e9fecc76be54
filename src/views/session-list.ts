/** Sessions as they are listed and opened. */
import type { Database } from "./database.ts"
import {
  type CountedSession,
  listSessions,
  matchingSessions,
  type Session,
  type SessionFilter,
  sessionsNamed,
  withUse,
} from "./queries/sessions.ts"
import { allTokens, useOfSessions } from "./queries/token-use.ts"
import { type Lineage, lineageOf } from "./queries/transcripts.ts"
import { type Turn, turnsBeforeFork, turnsOfSession } from "./turn.ts"

interface SessionList {
  readonly sessions: readonly CountedSession[]
  /** Whether there are more than were asked for. */
  readonly more: boolean
}

/** All that sessions are ordered by: the most expensive first. */
export const SESSION_ORDERS = ["last", "first", "turns", "tokens", "cost", "errors", "size", "title"] as const

interface ListRequest extends SessionFilter {
  readonly limit: number
  /** By default the latest, and before them those that are pinned. */
  readonly order?: (typeof SESSION_ORDERS)[number]
  /** Ids of the sessions that are pinned. */
  readonly pinned?: readonly string[]
  /** US dollars by session, for the order by cost: what Claude Code has told is known of few. */
  readonly costs?: ReadonlyMap<string, number>
}

export function sessionList(
  db: Database,
  { limit, order, pinned = [], costs, ...filter }: ListRequest,
): SessionList {
  if (order === "tokens" || order === "cost")
    return cutTo(limit, mostUsing(db, filter, order === "cost" ? costs : undefined, limit + 1))
  const listed = listSessions(db, { ...filter, limit: limit + 1, ...(order && { order }) })
  if (order !== undefined || pinned.length === 0) return cutTo(limit, withUse(db, listed))
  const among = filter.among?.filter((id) => pinned.includes(id)) ?? pinned
  const first = listSessions(db, { ...filter, among, limit: limit + 1 })
  const rest = listed.filter(({ id }) => !pinned.includes(id))
  return cutTo(limit, withUse(db, [...first, ...rest].slice(0, limit + 1)))
}

const cutTo = (limit: number, found: readonly CountedSession[]): SessionList => ({
  sessions: found.slice(0, limit),
  more: found.length > limit,
})

/** What a session has used is a sum over its requests and its subagents', less what a fork has from its origin. */
function mostUsing(
  db: Database,
  filter: SessionFilter,
  costs: ReadonlyMap<string, number> | undefined,
  most: number,
): CountedSession[] {
  const ids = matchingSessions(db, filter)
  const uses = useOfSessions(db, ids)
  const worth = (id: string): number =>
    costs === undefined ? allTokens(uses.get(id)!.tokens) : (costs.get(id) ?? -1)
  const first = ids.sort((a, b) => worth(b) - worth(a)).slice(0, most)
  return sessionsNamed(db, first).map((session) => ({ ...session, ...uses.get(session.id)! }))
}

interface OpenedSession {
  readonly session: CountedSession
  readonly lineage: Lineage
  /** Turns of the session that a fork continues; everybody else has none. */
  readonly shared: readonly Turn[]
  readonly turns: readonly Turn[]
}

export const openSession = (db: Database, session: Session): OpenedSession => ({
  session: withUse(db, [session])[0]!,
  lineage: lineageOf(db, session.id),
  shared: session.shared === 0 ? [] : turnsBeforeFork(db, session.id),
  turns: turnsOfSession(db, session.id),
})
