/** Sessions as they are listed and opened. */
import type { Database } from "../archive/database.ts"
import { type Lineage, lineageOf } from "../archive/queries/lineage.ts"
import {
  type CountedSession,
  listSessions,
  type Session,
  type SessionFilter,
  withUse,
} from "../archive/queries/sessions.ts"
import { type Turn, turnsOfSession } from "./turn.ts"

interface SessionList {
  readonly sessions: readonly CountedSession[]
  /** Whether there are more than were asked for. */
  readonly more: boolean
}

/** Newest first. */
export function sessionList(db: Database, { limit, ...filter }: SessionFilter): SessionList {
  const found = listSessions(db, { ...filter, limit: limit + 1 })
  return { sessions: withUse(db, found.slice(0, limit)), more: found.length > limit }
}

interface OpenedSession {
  readonly session: CountedSession
  readonly lineage: Lineage
  readonly turns: readonly Turn[]
}

export const openSession = (db: Database, session: Session): OpenedSession => ({
  session: withUse(db, [session])[0]!,
  lineage: lineageOf(db, session.id),
  turns: turnsOfSession(db, session.id),
})
