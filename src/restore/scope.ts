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

/** The project's session with the latest record, other than `besides`; only one in which a human said something to the host. */
export function latestSession(db: Database, project: string, besides: string): string | undefined {
  const row = db
    .query<{ id: string }, [string, string]>(
      `SELECT s.id FROM sessions s JOIN projects p ON p.id = s.project
       WHERE p.path = ? AND s.id <> ? AND s.parent IS NULL
         AND EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id AND t.via NOT IN ('none', 'brief') AND t.origin <> 'import')
       ORDER BY s.ended DESC LIMIT 1`,
    )
    .get(project, besides)
  return row?.id
}
