/** Which sessions and turns a restore may draw from. */
import type { Database } from "../archive/database.ts"

/** A session and the last of its turns that counts. */
export interface ScopePart {
  readonly session: string
  readonly upTo: number
}

export type Scope = readonly ScopePart[]

const ALL = Number.MAX_SAFE_INTEGER

/** A session, its subagents, and what a fork shares with the session it came from. */
export function scopeOf(db: Database, session: string): ScopePart[] {
  const scope: ScopePart[] = []
  const visit = (id: string, upTo: number, depth: number): void => {
    if (depth > 8 || scope.some((part) => part.session === id)) return
    scope.push({ session: id, upTo })
    const children = db.query<{ id: string }, [string]>("SELECT id FROM sessions WHERE parent = ?").all(id)
    for (const child of children) scope.push({ session: child.id, upTo })
    const parents = db
      .query<{ parent: string; turn: number | null }, [string]>(
        "SELECT parent, turn FROM lineage WHERE child = ? AND kind = 'fork'",
      )
      .all(id)
    for (const { parent, turn } of parents) visit(parent, Math.min(turn ?? ALL, upTo), depth + 1)
  }
  visit(session, ALL, 0)
  return scope
}

/** A human said something in the session `s`: a command that only the host carries out (`/clear`) does not count. */
const IS_SPOKEN_IN = `EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id AND t.via NOT IN ('none', 'brief')
  AND t.origin <> 'import' AND NOT (t.via = 'command' AND t.tools = 0 AND t.answer = ''))`

/** Empty sessions between a conversation and its continuation: one for each `/clear` too many. */
const MOST_EMPTY = 8

/** The session, or when nobody said anything in it, the one that it goes on from after `/clear`. */
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

/** The project's session with the latest record, other than `besides`; only one in which a human said something to the host. */
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
