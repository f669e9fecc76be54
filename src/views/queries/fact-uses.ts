/** Rows of facts: names, paths, commands and error lines, and how often each was used. */
import { isTool, SHELL_KINDS } from "../../agents/tool-kinds.ts"
import type { FactKind } from "../../record/facts.ts"
import type { Database } from "../database.ts"
import { sessionKey } from "../identity.ts"
import type { SlotItem, SlotRow } from "./restores.ts"
import { isAtHome, type Scope } from "./scope.ts"

export interface FactRow {
  readonly text: string
  readonly form: string
  readonly times: number
  readonly latest: number
}

/** First and last seen in turns that the user took back. */
const IS_TAKEN_BACK = `(coalesce((SELECT taken_back FROM turns WHERE id = since), 0)
  AND coalesce((SELECT t.taken_back FROM messages m JOIN turns t ON t.id = m.turn WHERE m.id = latest), 0))`

/** Newest first in each part of the scope, at most so many of each. */
export function factsIn(db: Database, scope: Scope, kind: FactKind, most: number): FactRow[] {
  const query = db.query<FactRow, [bigint, string, number, number]>(
    `SELECT text, iif(form = '', text, form) AS form, times, latest FROM facts WHERE session = ?1 AND kind = ?2 AND since <= ?3
       AND (?4 OR NOT ${IS_TAKEN_BACK}) ORDER BY latest DESC, text DESC LIMIT ${most}`,
  )
  return scope.flatMap(({ session, upTo, takenBack }) =>
    query.all(sessionKey(session), kind, upTo, takenBack),
  )
}

/** Whether these words were run as one command in the session. */
export const isCommandOf = (db: Database, session: string, words: string): boolean =>
  db
    .query<{ n: number }, [bigint, string]>(
      "SELECT 1 AS n FROM facts WHERE session = ? AND kind = 'command' AND text = ?",
    )
    .get(sessionKey(session), words) !== null

/* Rows of what was learnt: how often what restores showed was used, by project, and the weight that this gives. */

export interface LearnedRow {
  /** path, command, name. */
  readonly kind: string
  /** What is known of facts like it (restore/slots.ts); "" for an item. */
  readonly cell: string
  /** A path, command or name of which more is known; "" for all of a cell. */
  readonly item: string
  /** How often it was shown, or left out by chance. */
  readonly shown: number
  readonly used: number
  readonly weight: number
}

export const learnedRows = (db: Database, project: number): LearnedRow[] =>
  db
    .query<LearnedRow, [number]>(
      "SELECT kind, cell, item, shown, used, weight FROM learned WHERE project = ? ORDER BY kind, item, cell",
    )
    .all(project)

/** Replaces what was learnt in a project. */
export function setLearned(db: Database, project: number, rows: readonly LearnedRow[]): void {
  db.query("DELETE FROM learned WHERE project = ?").run(project)
  const insert = db.query(
    "INSERT INTO learned (project, kind, cell, item, shown, used, weight) VALUES (?, ?, ?, ?, ?, ?, ?)",
  )
  for (const { kind, cell, item, shown, used, weight } of rows)
    insert.run(project, kind, cell, item, shown, used, weight)
}

/* Rows of what was used of what had been shown again, and of the sessions that were followed for it. */

interface UseRow {
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

/* Calls with which the model opened turns by their handles: of our server, and of the binary in a shell. */

interface OpeningCall {
  /** The call's input, or the beginning of its script. */
  readonly target: string
  readonly name: string
  readonly session: string
  /** ISO 8601. */
  readonly time: string | null
}

/** Oldest first. Those that failed opened nothing. */
export const openingCalls = (db: Database): OpeningCall[] =>
  db
    .query<OpeningCall, []>(
      `SELECT c.target, c.name, c.session, m.time FROM tool_calls c JOIN messages m ON m.id = c.use
       WHERE c.is_error IS NOT 1 AND ${isAtHome("c.origin")} AND (
         c.name LIKE 'mcp\\_\\_%ctxbridge\\_\\_get' ESCAPE '\\'
         OR ${isTool("c.name", ...SHELL_KINDS)} AND c.target LIKE '%ctxbridge%show%')
       ORDER BY c.use`,
    )
    .all()

/** Ids of the turns with these handles, which are without prefix. */
export const turnsByHandle = (db: Database, handles: readonly string[]): Map<string, number> => {
  const rows = db
    .query<{ handle: string; id: number }, [string]>(
      "SELECT handle, id FROM turns WHERE handle IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(handles))
  return new Map(rows.map(({ handle, id }) => [handle, id]))
}
