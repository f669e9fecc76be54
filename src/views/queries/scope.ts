/** Which sessions and turns a restore draws from, and the rows that show it. */
import { UNMARKED } from "../../agents/agents.ts"
import { withSlashes } from "../../base/path.ts"
import type { Database } from "../database.ts"

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

/** True for an origin of this user's own Claude Code; other archives and other people are found, but never restored. */
export const isAtHome = (origin: string): string => `${origin} NOT IN ('import', 'other')`

/** Name of the agent whose session a row of `sessions` is. */
export const agentOf = (session: string): string => `coalesce(${session}.program, '${UNMARKED}')`

/** Leaves out turns `t` that the user took back, unless they count. */
export const STANDS = "(t.taken_back = 0 OR ?3)"

/** The rows for all parts of the scope. `?1` is the session, `?2` the last turn that counts, `?3` as in STANDS. */
export function rowsIn<Row>(db: Database, scope: Scope, sql: string): Row[] {
  const query = db.query<Row, [string, number, number]>(sql)
  return scope.flatMap(({ session, upTo, takenBack }) => query.all(session, upTo, takenBack))
}

/** True when subagent `s` was started in a turn that was taken back. */
const IS_TAKEN_BACK = `coalesce((SELECT t.taken_back FROM turns t WHERE t.session = s.parent AND t.started <= s.started
  ORDER BY t.seq DESC LIMIT 1), 0)`

/** @param takenBack whether those count that were started in a turn that was taken back */
export const subagentsOf = (db: Database, session: string, takenBack: 0 | 1): string[] =>
  db
    .query<{ id: string }, [string, number]>(
      `SELECT s.id FROM sessions s WHERE s.parent = ? AND (? OR NOT ${IS_TAKEN_BACK})`,
    )
    .all(session, takenBack)
    .map(({ id }) => id)

/** Sessions with ids of their own that these, or one of them, have started: other agents' subagents. */
export const threadsOf = (db: Database, sessions: readonly string[]): string[] =>
  db
    .query<{ id: string }, [string]>(
      `WITH RECURSIVE started (id) AS (
         SELECT s.id FROM json_each(?) w JOIN sessions s ON s.parent = w.value WHERE instr(s.id, '/') = 0
         UNION SELECT s.id FROM started JOIN sessions s ON s.parent = started.id WHERE instr(s.id, '/') = 0)
       SELECT id FROM started`,
    )
    .all(JSON.stringify(sessions))
    .map(({ id }) => id)

interface ForkParent {
  readonly parent: string
  /** The last turn that both share. */
  readonly turn: number | null
  readonly takenBack: 0 | 1
}

/** The sessions that a fork came from. */
export const forkParents = (db: Database, fork: string): ForkParent[] =>
  db
    .query<ForkParent, [string]>(
      `SELECT l.parent, l.turn, coalesce(t.taken_back, 0) AS takenBack
       FROM lineage l LEFT JOIN turns t ON t.id = l.turn WHERE l.child = ? AND l.kind = 'fork'`,
    )
    .all(fork)

/**
 * The sessions that `/clear` ended before these, nearest first, in which a human may have said a constraint: there is
 * one, or they are forks and share it with their origin. A circle ends where it began, since no row comes twice.
 */
export const clearedWithConstraints = (db: Database, sessions: readonly string[]): string[] =>
  db
    .query<{ id: string }, [string]>(
      `WITH RECURSIVE line (id, cleared) AS (
         SELECT value, 0 FROM json_each(?)
         UNION SELECT l.parent, l.kind = 'clear' FROM line JOIN lineage l ON l.child = line.id)
       SELECT id FROM line WHERE cleared
         AND (EXISTS (SELECT 1 FROM notes n WHERE n.session = line.id AND n.kind = 'constraint')
           OR EXISTS (SELECT 1 FROM lineage f WHERE f.child = line.id AND f.kind = 'fork'))`,
    )
    .all(JSON.stringify(sessions))
    .map(({ id }) => id)

export const hasTakenBack = (db: Database, session: string): boolean =>
  db
    .query<{ found: number }, [string]>(
      "SELECT 1 AS found FROM turns WHERE session = ? AND taken_back = 1 LIMIT 1",
    )
    .get(session) !== null

/**
 * The parent session's first turn that a turn of the fork replaces: by forking there, the user took back all the
 * parent's turns since.
 */
export const firstReplaced = (db: Database, fork: string, parent: string): number | undefined =>
  db
    .query<{ id: number | null }, [string, string]>(
      `SELECT min(t.id) AS id FROM turns f JOIN turns t ON t.parent = f.parent
       WHERE f.session = ? AND t.session = ?`,
    )
    .get(fork, parent)?.id ?? undefined

/* Pieces of a WHERE clause, each with its values. Pure. */

export interface Condition {
  readonly sql: string
  readonly values: readonly string[]
}

/** Whose turns count; undefined: everybody's. */
export interface Whose {
  /** Path of a project as the archive names it. */
  readonly project: string | undefined
  /** Name of the agent. */
  readonly program?: string | undefined
}

/** True for a session `s` in project `p`. */
export function isWhose({ project, program }: Whose): Condition {
  const parts: Condition[] = []
  if (project !== undefined) parts.push({ sql: "p.path = ?", values: [project] })
  if (program !== undefined) parts.push({ sql: `${agentOf("s")} = ?`, values: [program] })
  if (parts.length === 0) return { sql: "1", values: [] }
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) }
}

/** What rows `m` of `messages` must be. */
interface MessagesWanted {
  readonly turns: ReadonlySet<number> | undefined
  readonly session: string | undefined
  /** ISO 8601 in UTC. */
  readonly since: string | undefined
  readonly until: string | undefined
  /** Name of the agent whose session it is. */
  readonly program: string | undefined
}

/** @returns undefined if nothing is asked for that the index's filter words do not cover */
export function messagesWhere({
  turns,
  session,
  since,
  until,
  program,
}: MessagesWanted): Condition | undefined {
  const parts: Condition[] = []
  if (turns !== undefined) {
    parts.push({ sql: "m.turn IN (SELECT value FROM json_each(?))", values: [`[${[...turns].join()}]`] })
  }
  // A session's filter word also covers its subagents.
  if (session?.includes("/")) parts.push({ sql: "m.session = ?", values: [session] })
  if (since !== undefined) parts.push({ sql: "m.time >= ?", values: [since] })
  if (until !== undefined) parts.push({ sql: "m.time < ?", values: [until] })
  if (program !== undefined)
    parts.push({
      sql: `m.session IN (SELECT s.id FROM sessions s WHERE ${agentOf("s")} = ?)`,
      values: [program],
    })
  if (parts.length === 0) return undefined
  return { sql: parts.map(({ sql }) => sql).join(" AND "), values: parts.flatMap(({ values }) => values) }
}

/**
 * A condition on rows `f` of `files`: the path equals or ends with `typed`. With `*` or `?` it is a pattern, whose `*`
 * also crosses folders; a slash at the end means everything below that folder. Windows paths are stored with forward
 * slashes.
 */
export function pathNamed(typed: string): Condition {
  const file = typed.includes("/") ? withSlashes(typed) : withSlashes(typed).replaceAll("\\", "/")
  const end = file.replace(/^(\.?\/)+/, "")
  const pattern = (text: string): string => (text.endsWith("/") ? `${text}*` : text).replaceAll("[", "[[]")
  if (/[*?]|\/$/.test(file)) {
    return { sql: "(f.path GLOB ? OR f.path GLOB ?)", values: [pattern(file), `*/${pattern(end)}`] }
  }
  return {
    sql: "(f.path IN (?, ?) OR substr(f.path, -length(?)) = ?)",
    values: [file, end, `/${end}`, `/${end}`],
  }
}

/** How output tells that the user took a turn back (take-back.ts). Pure. */

/* How output tells that the user took a turn back (take-back.ts). */

/** Set only on turns that were taken back. */
export interface TakenBack {
  readonly takenBack?: true
}

/** @param turn a row with the flag as stored in the views */
export const takenBackOf = (turn: { readonly takenBack: number }): TakenBack =>
  turn.takenBack === 1 ? { takenBack: true } : {}
