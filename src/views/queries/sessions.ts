/** Rows of sessions: listed, found by name, the latest of a project. */
import { UNMARKED } from "../../agents/agents.ts"
import { NOTES_SESSIONS } from "../../base/session-id.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Database } from "../database.ts"
import { agentOf, isAtHome, rowsIn, type Scope, STANDS, type Whose } from "./scope.ts"
import { type SessionUse, useOfSessions } from "./token-use.ts"
import { FIRST_PROMPT, IS_EMPTY, IS_TURN, SHARED_COUNT, TURN_COUNT } from "./turns.ts"

/** A session as it is listed; its own numbers, without its subagents'. */
export interface Session {
  readonly id: string
  readonly parent: string | null
  readonly agent: string | null
  readonly title: string | null
  readonly cwd: string | null
  readonly project: string | null
  readonly branch: string | null
  readonly version: string | null
  /** Name of the agent whose session it is (agents/agent-table.ts). */
  readonly program: string
  readonly started: string | null
  readonly ended: string | null
  /** Of its conversation, those included that it shares with the session it is a fork of. */
  readonly turns: number
  /** How many of its turns are that other session's; everything else here is its own. */
  readonly shared: number
  readonly messages: number
  readonly tools: number
  readonly errors: number
  /** Bytes of its transcripts in the vault. */
  readonly archived: number
  /** With what it began: a prompt, or a command as it was typed. */
  readonly firstPrompt: string | null
  /** Whether nothing but its prompts is known, from the list of all prompts. */
  readonly promptsOnly: boolean
}

type SessionRow = Omit<Session, "promptsOnly"> & { readonly promptsOnly: number }

const asSession = (row: SessionRow): Session => ({ ...row, promptsOnly: row.promptsOnly === 1 })

/** With what it has cost, its subagents included. */
export interface CountedSession extends Session, SessionUse {}

export function withUse(db: Database, sessions: readonly Session[]): CountedSession[] {
  const uses = useOfSessions(
    db,
    sessions.map(({ id }) => id),
  )
  return sessions.map((session) => ({ ...session, ...uses.get(session.id)! }))
}

/** Of session `s`. */
const ERRORS = "(SELECT coalesce(sum(t.errors), 0) FROM turns t WHERE t.session = s.id)"
const ARCHIVED = "(SELECT coalesce(sum(x.archived), 0) FROM transcripts x WHERE x.session = s.id)"

const SESSION = `
  SELECT s.id, s.parent, s.agent, s.title, s.cwd, p.path AS project, s.branch, s.version, ${agentOf("s")} AS program, s.started, s.ended,
    ${TURN_COUNT} AS turns, ${SHARED_COUNT} AS shared,
    (SELECT count(*) FROM turns t JOIN messages m ON m.turn = t.id WHERE t.session = s.id) AS messages,
    (SELECT coalesce(sum(t.tools), 0) FROM turns t WHERE t.session = s.id) AS tools,
    ${ERRORS} AS errors, ${ARCHIVED} AS archived, ${FIRST_PROMPT} AS firstPrompt,
    s.prompts_only AS promptsOnly
  FROM sessions s LEFT JOIN projects p ON p.id = s.project`

export interface SessionFilter {
  readonly project?: string | undefined
  readonly agents?: boolean
  /** Leaves out the sessions that hold only what the model wanted kept, and those of which only prompts are known. */
  readonly spoken?: boolean
  /** ISO 8601: those that were active at or after the one, and before the other. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly branch?: string | undefined
  /** Name of an agent. */
  readonly program?: string | undefined
  /** Words that title and first prompt have between them, in upper or lower case (of ASCII). */
  readonly words?: readonly string[] | undefined
  /** Ids: only these. */
  readonly among?: readonly string[] | undefined
}

const MATCHING = `SELECT s.id FROM sessions s LEFT JOIN projects p ON p.id = s.project
  WHERE (?1 IS NULL OR p.path = ?1) AND (?2 OR s.parent IS NULL) AND (?3 = 0 OR (s.id NOT GLOB ?4 AND s.prompts_only = 0))
    AND (?5 IS NULL OR s.ended >= ?5) AND (?6 IS NULL OR s.started < ?6) AND (?7 IS NULL OR s.branch = ?7)
    AND NOT EXISTS (SELECT 1 FROM json_each(?8) w
      WHERE instr(lower(coalesce(s.title, '') || char(10) || coalesce(${FIRST_PROMPT}, '')), lower(w.value)) = 0)
    AND (?9 IS NULL OR ${agentOf("s")} = ?9) AND (?10 IS NULL OR s.id IN (SELECT value FROM json_each(?10)))`

type Matched = [
  project: string | null,
  agents: number,
  spoken: number,
  notes: string,
  since: string | null,
  until: string | null,
  branch: string | null,
  words: string,
  program: string | null,
  among: string | null,
]

const matched = (filter: SessionFilter): Matched => [
  filter.project ?? null,
  filter.agents ? 1 : 0,
  filter.spoken ? 1 : 0,
  NOTES_SESSIONS,
  filter.since ?? null,
  filter.until ?? null,
  filter.branch ?? null,
  JSON.stringify(filter.words ?? []),
  filter.program ?? null,
  filter.among === undefined ? null : JSON.stringify(filter.among),
]

const ORDERS = {
  last: "s.ended DESC",
  first: "s.started DESC",
  turns: `${TURN_COUNT} DESC`,
  errors: `${ERRORS} DESC`,
  size: `${ARCHIVED} DESC`,
  title: `coalesce(s.title, ${FIRST_PROMPT}) COLLATE NOCASE`,
} as const

/** What the views can order sessions by: the latest, the most or the largest first, titles by alphabet. */
type SessionOrder = keyof typeof ORDERS

export function listSessions(
  db: Database,
  {
    limit,
    order = "last",
    ...filter
  }: SessionFilter & { readonly limit: number; readonly order?: SessionOrder },
): Session[] {
  const by = `ORDER BY ${ORDERS[order]}, s.ended DESC, s.id`
  return db
    .query<SessionRow, [...Matched, number]>(
      // Selected first and counted later, because sorting would otherwise count every session of the archive.
      `${SESSION} WHERE s.id IN (${MATCHING} ${by} LIMIT ?11) ${by}`,
    )
    .all(...matched(filter), limit)
    .map(asSession)
}

/** Ids of all of them, newest first. */
export const matchingSessions = (db: Database, filter: SessionFilter): string[] =>
  db
    .query<{ id: string }, Matched>(`${MATCHING} ORDER BY s.ended DESC, s.id`)
    .all(...matched(filter))
    .map(({ id }) => id)

/** In this order. */
export const sessionsNamed = (db: Database, ids: readonly string[]): Session[] =>
  db
    .query<SessionRow, [string]>(`${SESSION} JOIN json_each(?1) w ON w.value = s.id ORDER BY w.key`)
    .all(JSON.stringify(ids))
    .map(asSession)

/** Sessions whose id begins with `prefix`. */
export function findSessions(db: Database, prefix: string): Session[] {
  return db
    .query<SessionRow, [string]>(
      `${SESSION} WHERE substr(s.id, 1, length(?1)) = ?1 ORDER BY s.id = ?1 DESC, s.id`,
    )
    .all(prefix)
    .map(asSession)
}

/** Ids of the project's sessions, without subagents. The project may be known by either name. */
export const sessionsOfProject = (db: Database, project: string, alias: string): string[] =>
  db
    .query<{ id: string }, [string, string]>(
      `SELECT s.id FROM sessions s JOIN projects p ON p.id = s.project
       WHERE s.parent IS NULL AND (p.path = ?1 OR p.path = ?2) ORDER BY s.id`,
    )
    .all(project, alias)
    .map(({ id }) => id)

export interface EndedSession {
  readonly id: string
  readonly ended: string | null
}

/** Ids of those of which only the prompts are known. */
export const promptsOnlySessions = (db: Database): string[] =>
  db
    .query<{ id: string }, []>("SELECT id FROM sessions WHERE prompts_only = 1")
    .all()
    .map(({ id }) => id)

/** All sessions, last ended first. */
export const sessionsByEnd = (db: Database): EndedSession[] =>
  db.query<EndedSession, []>("SELECT id, ended FROM sessions ORDER BY ended DESC").all()

/** When the first session of all began, and the last ended. */
export const spanOfSessions = (db: Database): { first: string | null; last: string | null } | null =>
  db
    .query<{ first: string | null; last: string | null }, []>(
      "SELECT min(started) AS first, max(ended) AS last FROM sessions",
    )
    .get()

/** What a restore says about its session. */
interface SessionAbout {
  readonly title: string | null
  readonly titleOrigin: string
  readonly ended: string | null
  readonly version: string | null
  readonly cwd: string | null
  /** JSON, see todos.ts. */
  readonly todos: string
}

export const aboutSession = (db: Database, session: string): SessionAbout | null =>
  db
    .query<SessionAbout, [string]>(
      "SELECT title, title_origin AS titleOrigin, ended, version, cwd, todos FROM sessions WHERE id = ?",
    )
    .get(session)

/** Bytes of the session's transcripts in the vault, and how many of them the views do not have yet. */
export const archivedOf = (db: Database, session: string): { archived: number; unread: number } =>
  db
    .query<{ archived: number; unread: number }, [string]>(
      `SELECT coalesce(sum(archived), 0) AS archived, coalesce(sum(archived - indexed), 0) AS unread
       FROM transcripts WHERE session = ? AND path LIKE '%.jsonl'`,
    )
    .get(session)!

/**
 * What was kept with `remember` for the session's project. Selects sessions by name first: there is one notes session
 * per project, and per project that is joined with it.
 */
export function keptNotes(db: Database, session: string, most: number): KeptNotes | undefined {
  const found = db
    .query<{ count: number; session: string }, [string, string]>(
      `SELECT count(*) AS count, n.id AS session FROM sessions n JOIN turns t ON t.session = n.id
       WHERE n.id GLOB ? AND ${isAtHome("t.origin")} AND n.project = (SELECT project FROM sessions WHERE id = ?)
       GROUP BY n.id ORDER BY n.ended DESC`,
    )
    .all(NOTES_SESSIONS, session)
  const [newest] = found
  if (newest === undefined) return undefined
  const latest = db
    .query<KeptNote, [string, number]>(
      `SELECT prompt AS text, handle, started AS time, parent AS keptIn FROM turns
       WHERE session IN (SELECT value FROM json_each(?)) AND ${isAtHome("origin")}
       ORDER BY started DESC, seq DESC LIMIT ?`,
    )
    .all(JSON.stringify(found.map((one) => one.session)), most)
  return { count: found.reduce((sum, one) => sum + one.count, 0), session: newest.session, latest }
}

export interface KeptNotes {
  readonly count: number
  /** The session that holds the newest. */
  readonly session: string
  /** Newest first. */
  readonly latest: readonly KeptNote[]
}

export interface KeptNote {
  readonly text: string
  /** Without its prefix. */
  readonly handle: string
  /** ISO 8601. */
  readonly time: string | null
  /** The session in which the model kept it, if it is known. */
  readonly keptIn: string | null
}

/** The notes of a project, or of all, newest first; of an agent, those that were kept in a session of its. */
export const notesOfProject = (db: Database, { project, program }: Whose): ProjectNote[] =>
  db
    .query<ProjectNote, [string, string | null, string | null]>(
      `SELECT t.prompt AS text, t.handle, t.started AS time, t.parent AS keptIn, t.session, p.path AS project
       FROM turns t JOIN sessions n ON n.id = t.session LEFT JOIN projects p ON p.id = n.project
       WHERE n.id GLOB ?1 AND ${isAtHome("t.origin")} AND p.path = coalesce(?2, p.path) AND t.prompt <> ''
         AND (?3 IS NULL OR EXISTS (SELECT 1 FROM sessions k WHERE k.id = t.parent AND ${agentOf("k")} = ?3))
       ORDER BY t.started DESC, t.seq DESC`,
    )
    .all(NOTES_SESSIONS, project ?? null, program ?? null)

export interface ProjectNote extends KeptNote {
  /** The session that holds it. */
  readonly session: string
  readonly project: string
}

/**
 * True when a human said something in session `s`; commands that only Claude Code carries out (`/clear`) do not count.
 */
const IS_SPOKEN_IN = `EXISTS (SELECT 1 FROM turns t WHERE t.session = s.id AND ${IS_TURN}
  AND ${isAtHome("t.origin")} AND NOT ${IS_EMPTY})`

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

/** Name of the agent whose session it is. */
export const programOfSession = (db: Database, session: string): string | undefined =>
  db
    .query<{ program: string }, [string]>(`SELECT ${agentOf("s")} AS program FROM sessions s WHERE s.id = ?`)
    .get(session)?.program

/** By handle, the names of the agents in whose sessions these turns are, where it is not Claude Code. */
export const programsOfTurns = (db: Database, handles: readonly string[]): Map<string, string> =>
  new Map(
    db
      .query<{ handle: string; program: string }, [string, number]>(
        `SELECT w.value AS handle, s.program FROM json_each(?1) w
         JOIN turns t ON t.handle = substr(w.value, ?2) JOIN sessions s ON s.id = t.session WHERE s.program IS NOT NULL`,
      )
      .all(JSON.stringify(handles), HANDLE_PREFIX.length + 1)
      .map(({ handle, program }) => [handle, program]),
  )

/**
 * The project's session with the latest record, other than `besides`, in which a human said something.
 *
 * @param agent whose it must be: another's is none that an agent could continue; default: Claude Code
 */
export function latestSession(
  db: Database,
  project: string,
  besides = "",
  agent: string | "any" = UNMARKED,
): string | undefined {
  const row = db
    .query<{ id: string }, [string, string, string]>(
      `SELECT s.id FROM sessions s
       WHERE s.project = (SELECT coalesce(joined, id) FROM projects WHERE path = ?1) AND s.id <> ?2 AND s.parent IS NULL
         AND ?3 IN ('any', ${agentOf("s")}) AND ${IS_SPOKEN_IN}
       ORDER BY s.ended DESC LIMIT 1`,
    )
    .get(project, besides, agent)
  return row?.id
}

/**
 * The only session of an agent's in which somebody has spoken in the project since a time (ISO 8601); undefined if there
 * are several.
 */
export function onlySessionSince(
  db: Database,
  project: string,
  { besides, agent, since }: { readonly besides: string; readonly agent: string; readonly since: string },
): string | undefined {
  const rows = db
    .query<{ id: string }, [string, string, string, string]>(
      `SELECT s.id FROM sessions s
       WHERE s.project = (SELECT coalesce(joined, id) FROM projects WHERE path = ?1) AND s.id <> ?2 AND s.parent IS NULL
         AND ?3 = ${agentOf("s")} AND s.ended >= ?4 AND ${IS_SPOKEN_IN} LIMIT 2`,
    )
    .all(project, besides, agent, since)
  return rows.length === 1 ? rows[0]!.id : undefined
}

/** A session as an index of them tells it. */
export interface SessionLine {
  readonly id: string
  /** The agent whose it is. */
  readonly program: string
  /** null: it has none, or one that others may have written. */
  readonly title: string | null
  /** Its first prompt. */
  readonly prompt: string
  readonly ended: string | null
  readonly turns: number
  /** How many files it changed. */
  readonly changed: number
  /** Characters of its prompts and last answers, as the views have them. */
  readonly size: number
}

/** Turns of session `s` in which somebody has said something here, and has not taken it back. */
const SPOKEN_TURNS = `FROM turns t WHERE t.session = s.id AND ${IS_TURN} AND ${isAtHome("t.origin")} AND NOT ${IS_EMPTY}
  AND t.taken_back = 0`

/** Sessions of the project besides this one, in which somebody has said something, the latest first. */
export const sessionsBeside = (db: Database, session: string, most: number): SessionLine[] =>
  db
    .query<SessionLine, [string, number]>(
      // Chosen first: what is told of them is added up for these alone.
      `WITH s AS (
         SELECT s.id, ${agentOf("s")} AS program, s.ended, iif(s.title_origin IN ('import', 'other'), NULL, s.title) AS title FROM sessions s
         WHERE s.project = (SELECT project FROM sessions WHERE id = ?1) AND s.id <> ?1 AND s.parent IS NULL
           AND EXISTS (SELECT 1 ${SPOKEN_TURNS})
         ORDER BY s.ended DESC LIMIT ?2
       )
       SELECT s.id, s.program, s.title, s.ended, (SELECT t.prompt ${SPOKEN_TURNS} ORDER BY t.seq LIMIT 1) AS prompt,
         (SELECT count(*) ${SPOKEN_TURNS}) AS turns,
         (SELECT sum(length(t.prompt) + length(t.answer)) ${SPOKEN_TURNS}) AS size,
         (SELECT count(DISTINCT f.path) FROM files f JOIN turns t ON t.id = f.turn
          WHERE f.session = s.id AND f.op IN ('edit', 'write') AND t.taken_back = 0) AS changed
       FROM s ORDER BY s.ended DESC`,
    )
    .all(session, most)

export interface SessionFolder {
  readonly id: string
  readonly cwd: string | null
}

/** Sessions without subagents and the folders they were started in, newest first. */
export const sessionFolders = (db: Database): SessionFolder[] =>
  db
    .query<SessionFolder, []>(
      "SELECT id, cwd FROM sessions WHERE parent IS NULL AND prompts_only = 0 ORDER BY started DESC",
    )
    .all()

/* What sessions are called. */

/** By session: its title, else its first prompt. Sessions that have neither are left out. */
export function titlesOf(db: Database, sessions: readonly string[]): Map<string, string> {
  const rows = db
    .query<{ id: string; title: string | null }, [string]>(
      `SELECT s.id, coalesce(s.title, ${FIRST_PROMPT}) AS title
       FROM sessions s WHERE s.id IN (SELECT value FROM json_each(?1))`,
    )
    .all(JSON.stringify(sessions))
  return new Map(rows.flatMap(({ id, title }) => (title ? [[id, title]] : [])))
}

/* The latest prompts of all sessions, as something to choose from. */

interface LatestPrompt {
  /** With its prefix. */
  readonly handle: string
  readonly session: string
  readonly prompt: string
  readonly started: string | null
}

/** Sessions to look in: each has a prompt at least, so the turns wanted are among theirs. */
const LATEST_SESSIONS = `SELECT i.id FROM sessions i LEFT JOIN projects q ON q.id = i.project
  WHERE (?1 IS NULL OR q.path = ?1) AND i.parent IS NULL ORDER BY i.ended DESC LIMIT ?2`

/** Newest first. */
export const latestPrompts = (db: Database, project: string | undefined, most: number): LatestPrompt[] =>
  db
    .query<LatestPrompt, [string | null, number]>(
      `SELECT '${HANDLE_PREFIX}' || handle AS handle, session, prompt, started FROM turns t
       WHERE session IN (${LATEST_SESSIONS}) AND t.via <> 'none' AND NOT ${IS_EMPTY} AND taken_back = 0
       ORDER BY started DESC LIMIT ?2`,
    )
    .all(project ?? null, most)

/* Rows of notes, which hold statements: sentences worded as constraints, answers, decisions, or failed approaches. */

interface Statement {
  readonly text: string
  readonly turn: number
  /** Handle of the turn, without its prefix. */
  readonly handle: string
  readonly origin: string
}

/** Newest first in each part of the scope, at most so many of each. */
export const statementsIn = (
  db: Database,
  scope: Scope,
  kind: "constraint" | "answer" | "decision" | "refuted",
  most: number,
): Statement[] =>
  rowsIn<Statement>(
    db,
    scope,
    `SELECT n.text, n.turn, t.handle, n.origin FROM notes n JOIN turns t ON t.id = n.turn
     WHERE n.session = ?1 AND n.kind = '${kind}' AND n.turn <= ?2 AND ${STANDS}
       AND n.origin NOT IN ('subagent', 'import', 'other') AND instr(n.session, '/') = 0
     ORDER BY n.turn DESC, n.place DESC LIMIT ${most}`,
  )
