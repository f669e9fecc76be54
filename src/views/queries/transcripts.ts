/** Rows of transcripts: how far the views have followed a copy. More in transcript-rows.ts. */
import { placeBeside } from "../../agents/layouts.ts"
import { isFetchedCopy, isSuperseded } from "../../vault/layout.ts"
import type { Database } from "../database.ts"

/** @param copy its path below `vault/` */
export const isCopyIndexed = (db: Database, copy: string): boolean =>
  db.query("SELECT 1 FROM transcripts WHERE copy = ? AND indexed > 0").get(copy) !== null

/**
 * Bytes in the vault of each transcript as it is now, by its path: not of what it was before it was rewritten, and not of
 * copies that are gone.
 */
export function archivedByPath(db: Database): Map<string, number> {
  const rows = db
    .query<{ path: string; copy: string; archived: number }, []>(
      "SELECT path, copy, archived FROM transcripts",
    )
    .iterate()
  const found = new Map<string, number>()
  for (const { path, copy, archived } of rows) {
    if (copy.endsWith(".zst") && !isSuperseded(copy) && !isFetchedCopy(copy)) found.set(path, archived)
  }
  return found
}

/** Paths of the files beside their session's transcript that hold outputs of these subagents. */
export function outputsOfSubagents(db: Database, sessions: readonly string[]): Map<string, string[]> {
  const found = db.query<{ path: string }, [string]>(
    `SELECT DISTINCT c.path FROM turns t CROSS JOIN messages m ON m.turn = t.id
       CROSS JOIN transcripts c ON c.id = m.transcript
     WHERE t.session = ? AND c.session <> t.session`,
  )
  const subagents = sessions.filter((session) => session.includes("/"))
  return new Map(
    subagents.map((session) => [
      session,
      found
        .all(session)
        .map(({ path }) => path)
        .filter((path) => placeBeside(path) !== undefined),
    ]),
  )
}

/** @param copyId the `id` in the copy's header */
export const indexedBytes = (db: Database, copyId: string): number | undefined =>
  db.query<{ indexed: number }, [string]>("SELECT indexed FROM transcripts WHERE copy_id = ?").get(copyId)
    ?.indexed

/**
 * Whether the views have followed a copy past one of these stretches, and hold nothing of it.
 *
 * @param id of the copy
 */
export function lacksAny(
  db: Database,
  id: string,
  stretches: readonly (readonly [from: number, to: number])[],
): boolean {
  const row = db
    .query<{ id: number; indexed: number }, [string]>("SELECT id, indexed FROM transcripts WHERE copy_id = ?")
    .get(id)
  const held = db.query<{ n: number }, [number, number, number]>(
    "SELECT count(*) AS n FROM messages WHERE transcript = ? AND offset >= ? AND offset < ?",
  )
  return stretches.some(
    ([from, to]) => row !== null && row.indexed > from && held.get(row.id, from, to)?.n === 0,
  )
}

/* Lines of transcripts that are no JSON objects. The views have only the whole records in them. */

interface Malformed {
  readonly session: string
  readonly lines: number
  /** Whole records that were found in them. */
  readonly rescued: number
}

/** By session, most first. */
export const malformedLines = (db: Database): Malformed[] =>
  db
    .query<Malformed, []>(
      `SELECT session, sum(malformed) AS lines, sum(rescued) AS rescued FROM transcripts WHERE malformed > 0
       GROUP BY session ORDER BY lines DESC, session`,
    )
    .all()

/* How sessions are connected: which ones a session continues, and which continue it. */

interface LineageLink {
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

/** How far the views have followed all that a session's page is made of: its own, its subagents' and its origins' copies. */
export const copiesOfPage = (
  db: Database,
  session: string,
): { readonly copy: string; readonly id: string; readonly indexed: number }[] =>
  db
    .query<{ copy: string; id: string; indexed: number }, [string]>(
      `WITH RECURSIVE origin (id) AS (SELECT ?1 UNION
         SELECT l.parent FROM origin o JOIN lineage l ON l.child = o.id WHERE l.kind = 'fork'),
       own (id) AS (SELECT id FROM origin UNION ALL SELECT id FROM sessions WHERE parent = ?1)
       SELECT x.copy, x.copy_id AS id, x.indexed FROM own o CROSS JOIN transcripts x ON x.session = o.id ORDER BY x.copy`,
    )
    .all(session)

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
