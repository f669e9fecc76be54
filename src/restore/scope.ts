/** Which sessions and turns a restore may draw from. */
import type { Database } from "../archive/database.ts"

/** A session and which of its turns count. */
export interface ScopePart {
  readonly session: string
  /** The last of them. */
  readonly upTo: number
  /**
   * 1 when turns that the user took back need not be left out: there are none, or a fork continued from one of them.
   */
  readonly takenBack: 0 | 1
}

export type Scope = readonly ScopePart[]

const ALL = Number.MAX_SAFE_INTEGER

/** True when subagent `s` was started in a turn that was taken back. */
const IS_TAKEN_BACK = `coalesce((SELECT t.taken_back FROM turns t WHERE t.session = s.parent AND t.started <= s.started
  ORDER BY t.seq DESC LIMIT 1), 0)`

/**
 * A session, its subagents, and what a fork shares with the session it came from.
 *
 * @param last the last turn of the session that counts
 */
export function scopeOf(db: Database, session: string, last = ALL): ScopePart[] {
  const scope: ScopePart[] = []
  const visit = (id: string, upTo: number, takenBack: 0 | 1, depth: number): void => {
    if (depth > 8 || scope.some((part) => part.session === id)) return
    const part = { session: id, upTo, takenBack: hasTakenBack(db, id) ? takenBack : 1 } as const
    scope.push(part)
    const children = db
      .query<{ id: string }, [string, number]>(
        `SELECT s.id FROM sessions s WHERE s.parent = ? AND (? OR NOT ${IS_TAKEN_BACK})`,
      )
      .all(id, part.takenBack)
    for (const child of children) scope.push({ session: child.id, upTo, takenBack: 1 })
    const parents = db
      .query<{ parent: string; turn: number | null; takenBack: 0 | 1 }, [string]>(
        `SELECT l.parent, l.turn, coalesce(t.taken_back, 0) AS takenBack
         FROM lineage l LEFT JOIN turns t ON t.id = l.turn WHERE l.child = ? AND l.kind = 'fork'`,
      )
      .all(id)
    for (const { parent, turn, takenBack: isBranch } of parents)
      visit(parent, Math.min(turn ?? ALL, upTo, replacedBy(db, id, parent) - 1), isBranch, depth + 1)
  }
  visit(session, last, 0, 0)
  return scope
}

const hasTakenBack = (db: Database, session: string): boolean =>
  db
    .query<{ found: number }, [string]>(
      "SELECT 1 AS found FROM turns WHERE session = ? AND taken_back = 1 LIMIT 1",
    )
    .get(session) !== null

/**
 * The parent session's first turn that a turn of the fork replaces: by forking there, the user took back all the
 * parent's turns since.
 */
function replacedBy(db: Database, fork: string, parent: string): number {
  const row = db
    .query<{ id: number | null }, [string, string]>(
      `SELECT min(t.id) AS id FROM turns f JOIN turns t ON t.parent = f.parent
       WHERE f.session = ? AND t.session = ?`,
    )
    .get(fork, parent)
  return row?.id ?? ALL
}

/** True when a human said something in session `s`; commands that only the host carries out (`/clear`) do not count. */
const IS_SPOKEN_IN = `EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id AND t.via NOT IN ('none', 'brief')
  AND t.origin <> 'import' AND NOT (t.via = 'command' AND t.tools = 0 AND t.answer = ''))`

/** Maximum number of empty sessions between a conversation and its continuation, one for each superfluous `/clear`. */
const MOST_EMPTY = 8

/** The session itself, or if no one said anything in it, the one it continues after `/clear`. */
export function spokenIn(db: Database, session: string): string {
  const row = db
    .query<{ id: string }, [string]>(
      `WITH RECURSIVE former (id, depth) AS (
         SELECT ?, 0 UNION ALL
         SELECT l.parent, depth + 1 FROM former JOIN lineage l ON l.child = former.id
         WHERE l.kind = 'clear' AND depth < ${MOST_EMPTY})
       SELECT s.id FROM former s WHERE ${IS_SPOKEN_IN} ORDER BY s.depth LIMIT 1`,
    )
    .get(session)
  return row?.id ?? session
}

/** The project's session with the latest record, other than `besides`, in which a human said something to the host. */
export function latestSession(db: Database, project: string, besides: string): string | undefined {
  const row = db
    .query<{ id: string }, [string, string]>(
      `SELECT s.id FROM sessions s JOIN projects p ON p.id = s.project
       WHERE p.path = ? AND s.id <> ? AND s.parent IS NULL
         AND ${IS_SPOKEN_IN}
       ORDER BY s.ended DESC LIMIT 1`,
    )
    .get(project, besides)
  return row?.id
}
