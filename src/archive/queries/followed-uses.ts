/** Rows of what was used of what had been shown again, and of the sessions that were followed for it. */
import type { Database } from "../database.ts"
import type { SlotItem, SlotRow } from "./slot-rows.ts"

export interface UseRow {
  readonly turn: number
  readonly session: string
  readonly kind: string
  /** ms since the epoch. */
  readonly time: number
}

/** Oldest first. */
export const usesNoted = (db: Database, turns?: readonly number[]): UseRow[] =>
  db
    .query<UseRow, [string]>(
      turns === undefined
        ? "SELECT turn, session, kind, time FROM uses WHERE ? IS NOT NULL ORDER BY time"
        : `SELECT turn, session, kind, time FROM uses WHERE turn IN (SELECT value FROM json_each(?)) ORDER BY time`,
    )
    .all(JSON.stringify(turns ?? []))

export interface GrownSession {
  readonly session: string
  /** Bytes of its transcripts that the views have followed. */
  readonly size: number
  readonly project: number | null
}

/** Sessions that have grown since they were followed. */
export const sessionsToFollow = (db: Database): GrownSession[] =>
  db
    .query<GrownSession, []>(
      `SELECT x.session, x.size, s.project FROM (
         SELECT session, sum(indexed) AS size FROM transcripts WHERE instr(session, '/') = 0 GROUP BY session) x
       LEFT JOIN followed f ON f.session = x.session LEFT JOIN sessions s ON s.id = x.session
       WHERE f.size IS NOT x.size`,
    )
    .all()

/** Whether something was shown again in a session: by a restore, or by our server or commands. */
export const hasDisplays = (db: Database, session: string): boolean =>
  db
    .query(
      `SELECT 1 FROM slots WHERE session = ?1 UNION ALL
       SELECT 1 FROM tool_calls WHERE session = ?1 AND
         (name LIKE 'mcp\\_\\_%ctxbridge\\_\\_%' ESCAPE '\\' OR instr(target, 'ctxbridge') > 0) LIMIT 1`,
    )
    .get(session) !== null

interface OutcomeRow extends Pick<SlotRow, "session" | "source" | "mark"> {
  readonly letters: string
}

/** Replaces what is known of a session. Call inside a transaction. */
export function setFollowed(
  db: Database,
  { session, size }: Pick<GrownSession, "session" | "size">,
  uses: readonly UseRow[],
  outcomes: readonly OutcomeRow[],
): void {
  for (const table of ["uses", "outcomes"]) db.query(`DELETE FROM ${table} WHERE session = ?`).run(session)
  const use = db.query("INSERT INTO uses (turn, session, kind, time) VALUES (?, ?, ?, ?)")
  for (const { turn, kind, time } of uses) use.run(turn, session, kind, time)
  const outcome = db.query("INSERT INTO outcomes (session, source, mark, letters) VALUES (?, ?, ?, ?)")
  for (const { source, mark, letters } of outcomes) outcome.run(session, source, mark, letters)
  db.query("INSERT OR REPLACE INTO followed (session, size) VALUES (?, ?)").run(session, size)
}

/** A restore whose slots were followed. */
export interface TriedRestore {
  readonly session: string
  readonly items: readonly SlotItem[]
  /** One for each item. */
  readonly letters: string
}

/** Oldest first. @param project undefined: all projects */
export const triedRestores = (db: Database, project: number | undefined): TriedRestore[] =>
  db
    .query<{ session: string; items: string; letters: string }, [number | null]>(
      `SELECT o.session, s.items, o.letters FROM outcomes o
       JOIN slots s ON s.session = o.session AND s.source = o.source AND s.mark = o.mark
       JOIN restores r ON r.session = o.session AND r.source = o.source AND r.mark = o.mark
       JOIN sessions n ON n.id = o.session WHERE (?1 IS NULL OR n.project = ?1) ORDER BY r.id`,
    )
    .all(project ?? null)
    .map(({ session, items, letters }) => ({ session, items: JSON.parse(items), letters }))

/** How often something was used, by kind. @param project where it was used; undefined: all projects */
export const useCounts = (db: Database, project: number | undefined): Record<string, number> => {
  const rows = db
    .query<{ kind: string; n: number }, [number | null]>(
      `SELECT u.kind, count(*) AS n FROM uses u JOIN sessions s ON s.id = u.session
       WHERE ?1 IS NULL OR s.project = ?1 GROUP BY u.kind ORDER BY u.kind`,
    )
    .all(project ?? null)
  return Object.fromEntries(rows.map(({ kind, n }) => [kind, n]))
}

/**
 * Forgets what restores showed and what became of it. What was opened or used of our server's answers is found again.
 *
 * @param project undefined: all projects
 * @returns how many restores were forgotten
 */
export function resetLearning(db: Database, project: number | undefined): number {
  const of = "session IN (SELECT id FROM sessions WHERE ?1 IS NULL OR project = ?1)"
  const value = project ?? null
  return db
    .transaction(() => {
      const { changes } = db.query(`DELETE FROM slots WHERE ${of}`).run(value)
      for (const table of ["outcomes", "uses", "followed"])
        db.query(`DELETE FROM ${table} WHERE ${of}`).run(value)
      db.query("DELETE FROM learned WHERE ?1 IS NULL OR project = ?1").run(value)
      return changes
    })
    .immediate()
}
