/** How sessions are connected: which ones a session continues, and which continue it. */
import type { Database } from "../database.ts"

export interface LineageLink {
  readonly session: string
  /** `fork`: it begins with the same messages (fork, resume). `clear`: it continues after /clear. */
  readonly kind: "fork" | "clear"
  /** Handle of the last turn that both share. */
  readonly handle: string | null
}

export interface Lineage {
  readonly parents: readonly LineageLink[]
  readonly children: readonly LineageLink[]
  readonly subagents: readonly string[]
}

export function lineageOf(db: Database, session: string): Lineage {
  const links = (mine: "child" | "parent", other: "child" | "parent"): LineageLink[] =>
    db
      .query<LineageLink, [string]>(
        `SELECT l.${other} AS session, l.kind, t.handle FROM lineage l LEFT JOIN turns t ON t.id = l.turn
         WHERE l.${mine} = ? ORDER BY l.turn, l.${other}`,
      )
      .all(session)
  const subagents = db
    .query<{ id: string }, [string]>("SELECT id FROM sessions WHERE parent = ? ORDER BY started, id")
    .all(session)
  return {
    parents: links("child", "parent"),
    children: links("parent", "child"),
    subagents: subagents.map(({ id }) => id),
  }
}

interface Kinship {
  readonly child: string
  readonly parent: string
  readonly kind: string
}

/** All forks of all sessions, and what this session continues or is continued by. */
export const kinships = (db: Database, session: string): Kinship[] =>
  db
    .query<Kinship, [string]>(
      "SELECT child, parent, kind FROM lineage WHERE kind = 'fork' OR child = ?1 OR parent = ?1",
    )
    .all(session)

/** Handles of the turns that forks share with these sessions, without prefix. */
export const forkedTurns = (
  db: Database,
  sessions: readonly string[],
): Iterable<{ readonly child: string; readonly handle: string }> =>
  db
    .query<{ child: string; handle: string }, [string]>(
      `SELECT l.child, t.handle FROM lineage l JOIN turns t ON t.session = l.parent AND t.id <= l.turn
       WHERE l.kind = 'fork' AND l.parent IN (SELECT value FROM json_each(?1))`,
    )
    .iterate(JSON.stringify(sessions))

/** Whether the session continues another after /clear. */
export const isAfterClear = (db: Database, session: string): boolean =>
  db.query("SELECT 1 FROM lineage WHERE child = ? AND kind = 'clear'").get(session) !== null

export function addClear(db: Database, session: string, parent: string): void {
  db.query("INSERT OR IGNORE INTO lineage (child, parent, kind) VALUES (?, ?, 'clear')").run(session, parent)
}
