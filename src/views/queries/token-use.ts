/** Rows of usage: tokens of the requests to a model. */
import { isTool } from "../../agents/tool-kinds.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Tokens } from "../../record/types.ts"
import type { Database } from "../database.ts"
import { agentOf } from "./scope.ts"
import { FIRST_PROMPT, IS_TURN } from "./turns.ts"

export interface TokenUse extends Tokens {
  readonly model: string
}

/**
 * Tokens of a turn by model; each API message counts once. A subagent's tokens in its parent's transcript do not count
 * for the parent's turn; in the subagent's own transcript they do count for its turns.
 */
export function usageOf(db: Database, turn: number): TokenUse[] {
  return db
    .query<TokenUse, [number]>(
      `SELECT model, sum(input) AS input, sum(output) AS output, sum(cache_creation) AS cacheCreation,
         sum(cache_read) AS cacheRead FROM usage
       WHERE turn = ? AND (sidechain = 0 OR instr(session, '/') > 0) GROUP BY model ORDER BY model`,
    )
    .all(turn)
}

/**
 * By handle, without prefix: the tokens of each turn's largest request and its answer. Of a subagent's work in its
 * parent's transcript, nothing.
 */
export const contextOfTurns = (
  db: Database,
  sessions: readonly string[],
): { readonly handle: string; readonly tokens: number }[] =>
  db
    .query<{ handle: string; tokens: number }, [string]>(
      `SELECT t.handle, max(u.input + u.output + u.cache_creation + u.cache_read) AS tokens
       FROM usage u JOIN turns t ON t.id = u.turn
       WHERE u.session IN (SELECT value FROM json_each(?)) AND (u.sidechain = 0 OR instr(u.session, '/') > 0)
       GROUP BY t.id HAVING tokens > 0`,
    )
    .all(JSON.stringify(sessions))

/** A model that answered in a session, and the tokens of its smallest and largest request. */
interface ModelRequests {
  readonly model: string
  readonly least: number
  readonly most: number
}

/** Of all four kinds. */
export const allTokens = ({ input, output, cacheCreation, cacheRead }: Tokens): number =>
  input + output + cacheCreation + cacheRead

/** What a session has cost, its subagents included. */
export interface SessionUse {
  /** Of the API's messages, each counted once. */
  readonly tokens: Tokens
  /** US dollars by Claude Code's own account; null if it gives none, as up to 2.1.328 in its own transcripts. */
  readonly cost: number | null
  /** Requests to the model and ms, as Claude Code sums them up at the end of a query; null if it does not. */
  readonly requests: number | null
  readonly duration: number | null
}

interface UseRow extends Tokens, Omit<SessionUse, "tokens"> {
  readonly id: string
}

/** Sessions named in a JSON list, each with its own rows and with those of its subagents. */
const NAMED = `
  wanted (id) AS (SELECT DISTINCT value FROM json_each(?1)),
  own (id, session) AS (SELECT id, id FROM wanted
    UNION ALL SELECT w.id, s.id FROM wanted w CROSS JOIN sessions s ON s.parent = w.id)`

/** A project's sessions and their subagents as one: nobody asks for each of a hundred thousand. */
const OF_PROJECT = `
  main (id) AS (SELECT s.id FROM projects p JOIN sessions s ON s.project = p.id
    WHERE p.path = ?1 AND s.parent IS NULL),
  wanted (id) AS (SELECT ?1),
  own (id, session) AS (SELECT ?1, id FROM main
    UNION ALL SELECT ?1, s.id FROM main m CROSS JOIN sessions s ON s.parent = m.id)`

/** SQL condition on sessions `s`. */
const BY_AGENT = `($program IS NULL OR ${agentOf("s")} = $program)`

/** Whether a fork's message `u` began in its origin. */
const IS_ORIGINS = `EXISTS (SELECT 1 FROM lineage l JOIN usage e ON e.session = l.parent AND e.message = u.message
  WHERE l.child = u.session AND l.kind = 'fork')`

/** Whether a fork's row `r` is one of its origin's: before its own first turn. */
const IS_COPY = `(EXISTS (SELECT 1 FROM lineage l WHERE l.child = r.session AND l.kind = 'fork')
  AND coalesce(r.offset < (SELECT min(t.first) FROM turns t WHERE t.session = r.session AND t.transcript = r.transcript), 1))`

/**
 * What a process has cost goes on growing until the next process begins with less. A fork's messages and costs are
 * those that came after its origin's, from whose total its process goes on.
 *
 * `CROSS JOIN` keeps the order: without figures about the tables, SQLite reads all of `usage` for ten sessions.
 */
const useOf = (wanted: string): string =>
  `WITH ${wanted},
   spent AS (SELECT o.id, sum(u.input) AS input, sum(u.output) AS output,
       sum(u.cache_creation) AS cacheCreation, sum(u.cache_read) AS cacheRead
     FROM own o CROSS JOIN usage u ON u.session = o.session WHERE NOT ${IS_ORIGINS} GROUP BY o.id),
   found AS (SELECT o.id, r.session, r.transcript, r.offset, r.requests, r.duration, r.cost, ${IS_COPY} AS copy
     FROM own o CROSS JOIN results r ON r.session = o.session),
   told AS (SELECT *, lead(cost) OVER later AS next, lead(copy) OVER later AS nextCopy FROM found
     WINDOW later AS (PARTITION BY session, transcript ORDER BY offset)),
   paid AS (SELECT id, sum(requests) FILTER (WHERE NOT copy) AS requests,
       sum(duration) FILTER (WHERE NOT copy) AS duration,
       sum(iif(copy, -cost, cost)) FILTER (
         WHERE iif(copy, NOT nextCopy AND next >= cost, next IS NULL OR next < cost)) AS cost
     FROM told GROUP BY id)
   SELECT w.id, coalesce(s.input, 0) AS input, coalesce(s.output, 0) AS output,
     coalesce(s.cacheCreation, 0) AS cacheCreation, coalesce(s.cacheRead, 0) AS cacheRead,
     p.cost, p.requests, p.duration
   FROM wanted w LEFT JOIN spent s ON s.id = w.id LEFT JOIN paid p ON p.id = w.id`

const asUse = ({ id: _, cost, requests, duration, ...tokens }: UseRow): SessionUse => ({
  tokens,
  cost,
  requests,
  duration,
})

export function useOfSessions(db: Database, sessions: readonly string[]): Map<string, SessionUse> {
  const rows = db.query<UseRow, [string]>(useOf(NAMED)).all(JSON.stringify(sessions))
  return new Map(rows.map((row) => [row.id, asUse(row)]))
}

export interface ProjectUse extends SessionUse {
  readonly project: string
  /** Sessions without subagents, whose figures are in. */
  readonly sessions: number
}

/** The sum of its sessions. */
export function useOfProject(db: Database, project: string): ProjectUse {
  const { sessions } = db
    .query<{ sessions: number }, [string]>(
      `SELECT count(*) AS sessions FROM projects p JOIN sessions s ON s.project = p.id
       WHERE p.path = ? AND s.parent IS NULL`,
    )
    .get(project)!
  const row = db.query<UseRow, [string]>(useOf(OF_PROJECT)).get(project)!
  return { project, sessions, ...asUse(row) }
}

/** The latest first. */
export const modelsIn = (db: Database, session: string): ModelRequests[] =>
  db
    .query<ModelRequests, [string]>(
      `SELECT model, min(sent) AS least, max(sent) AS most FROM
         (SELECT model, turn, input + cache_read + cache_creation AS sent FROM usage WHERE session = ? AND sidechain = 0)
       WHERE sent > 0 GROUP BY model ORDER BY max(turn) DESC, model`,
    )
    .all(session)

/* Requests to models, one by one: for sums by day, model, project or session. */

export interface ModelRequest extends Tokens {
  /** That of the human: a subagent's requests are its parent's. */
  readonly session: string
  readonly project: string | null
  /** Name of the agent. */
  readonly program: string
  readonly model: string
  /** ISO 8601. */
  readonly time: string | null
  /** Of `cacheCreation`, what is kept for an hour. */
  readonly cacheHour: number
  /** 1: in fast mode. */
  readonly fast: number
  /** Of the session or subagent that has the row. */
  readonly own: string
}

/**
 * Each API message once, whichever transcripts have copies of it: a fork's copies are its origin's, and of copies that
 * nothing else tells apart, one with the most output counts, since earlier ones were written before the answer was whole.
 */
export const requestsIn = (db: Database, span: StatsSpan): Iterable<ModelRequest> =>
  db
    .query<ModelRequest & { most: number }, ReturnType<typeof spanValues>>(
      // With max(), SQLite takes the other columns from the row that has the maximum. `+`: the index of messages is for
      // those of few sessions, and would have it read all others out of order.
      `SELECT u.session AS own, coalesce(s.parent, u.session) AS session, p.path AS project, ${agentOf("s")} AS program, u.model, coalesce(u.time, t.started) AS time,
         u.input, u.output, u.cache_creation AS cacheCreation, u.cache_read AS cacheRead, u.cache_hour AS cacheHour, u.fast,
         max(u.output) AS most
       FROM usage u JOIN turns t ON t.id = u.turn LEFT JOIN sessions s ON s.id = u.session
         LEFT JOIN projects p ON p.id = s.project
       WHERE ($project IS NULL OR s.project = $project)
         AND ($since IS NULL OR coalesce(u.time, t.started) >= $since)
         AND ${BY_AGENT} AND NOT ${IS_ORIGINS} ${among("u.session", span)}
       GROUP BY +u.message`,
    )
    .iterate(spanValues(span))

/** Other sessions that hold one of its messages. */
export const sharingMessages = (db: Database, session: string): string[] =>
  db
    .query<{ session: string }, [string]>(
      `SELECT DISTINCT b.session FROM usage a CROSS JOIN usage b ON b.message = a.message
       WHERE a.session = ? AND b.session <> a.session`,
    )
    .all(session)
    .map((row) => row.session)

/** A session or subagent, and what of it decides its figures. */
export interface SessionMark {
  readonly id: string
  readonly parent: string | null
  readonly project: number | null
  readonly path: string | null
  readonly program: string
  /** Changes whenever the views follow one of its transcripts. */
  readonly state: string
}

export const sessionStates = (db: Database): SessionMark[] =>
  db
    .query<SessionMark, []>(
      `SELECT s.id, s.parent, s.project, p.path, ${agentOf("s")} AS program,
         coalesce((SELECT group_concat(x.id || ':' || x.copy_id || ':' || x.indexed ORDER BY x.id)
           FROM transcripts x WHERE x.session = s.id), '') AS state
       FROM sessions s LEFT JOIN projects p ON p.id = s.project ORDER BY s.id`,
    )
    .all()

/** Sessions that begin with another's lines. */
export const forks = (db: Database): { readonly child: string; readonly parent: string }[] =>
  db
    .query<{ child: string; parent: string }, []>(
      "SELECT child, parent FROM lineage WHERE kind = 'fork' ORDER BY child, parent",
    )
    .all()

/* The request of a session that sent most, and where the session's transcript is. */

interface LargestRequest {
  readonly session: string
  readonly title: string
  readonly tokens: number
  /** Below `vault/`. */
  readonly copy: string
}

const ORDERS = { latest: "s.ended DESC", largest: "l.tokens DESC" } as const

/**
 * Sessions in which a model answered, without subagents.
 *
 * @param least tokens of the request
 */
export const largestRequests = (
  db: Database,
  order: keyof typeof ORDERS,
  limit: number,
  least = 1,
): LargestRequest[] =>
  db
    .query<LargestRequest, [number, number]>(
      `WITH largest AS (
         SELECT session, turn, max(input + cache_read + cache_creation) AS tokens
         FROM usage WHERE sidechain = 0 GROUP BY session)
       SELECT l.session, l.tokens, x.copy, coalesce(nullif(s.title, ''), ${FIRST_PROMPT}, l.session) AS title
       FROM largest l JOIN sessions s ON s.id = l.session JOIN turns t ON t.id = l.turn
       JOIN transcripts x ON x.id = t.transcript
       WHERE s.parent IS NULL AND l.tokens >= ? ORDER BY ${ORDERS[order]}, l.session LIMIT ?`,
    )
    .all(least, limit)

/* What was done in a span: turns, calls of tools, files changed, calls that failed. */

type Values = ReturnType<typeof spanValues>
type OfSession<T> = T & { readonly session: string }

interface TurnDone {
  readonly session: string
  /** ISO 8601. */
  readonly time: string | null
  readonly interrupted: number
  readonly takenBack: number
}

/** Turns that a human started. */
export const turnsDone = (db: Database, span: StatsSpan): Iterable<TurnDone> =>
  db
    .query<TurnDone, Values>(
      `SELECT t.session, t.started AS time, t.interrupted, t.taken_back AS takenBack
       FROM turns t LEFT JOIN sessions s ON s.id = t.session
       WHERE ${IS_TURN} AND ${IN_SPAN} ${among("t.session", span)}`,
    )
    .iterate(spanValues(span))

export interface ToolTotal {
  readonly name: string
  readonly calls: number
  readonly failed: number
}

/** Of each session, or subagent. */
export const toolTotals = (db: Database, span: StatsSpan): OfSession<ToolTotal>[] =>
  db
    .query<OfSession<ToolTotal>, Values>(
      `SELECT t.session, c.name, count(*) AS calls, count(*) FILTER (WHERE c.is_error = 1) AS failed
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE c.name <> '' AND ${IN_SPAN} ${among("t.session", span)} GROUP BY t.session, c.name`,
    )
    .all(spanValues(span))

export interface EditedFile {
  readonly path: string
  /** Calls that edited or wrote it. */
  readonly edits: number
  /** Of these, how many failed. */
  readonly failed: number
  readonly turns: number
  /** Of the latest turn, with `ctx:`. */
  readonly handle: string
}

/** By calls of tools, of each session or subagent; `latest`: number of the turn. */
export const filesEdited = (
  db: Database,
  span: StatsSpan,
): OfSession<EditedFile & { readonly latest: number }>[] =>
  db
    .query<OfSession<EditedFile & { readonly latest: number }>, Values & { prefix: string }>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT t.session, c.target AS path, count(*) AS edits, count(*) FILTER (WHERE c.is_error = 1) AS failed,
         count(DISTINCT c.turn) AS turns, $prefix || t.handle AS handle, max(c.turn) AS latest
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE ${isTool("c.name", "edit", "write")} AND c.target <> '' AND ${IN_SPAN} ${among("t.session", span)}
       GROUP BY t.session, c.target`,
    )
    .all({ ...spanValues(span), prefix: HANDLE_PREFIX })

export interface FailedCall {
  readonly tool: string
  /** The start of what it said. */
  readonly error: string
  /** Id of the message that holds the output. */
  readonly result: number
  /** Of its turn, without prefix. */
  readonly handle: string
  readonly time: string | null
}

/** The oldest first. */
export const callsFailed = (db: Database, span: StatsSpan): Iterable<OfSession<FailedCall>> =>
  db
    .query<OfSession<FailedCall>, Values>(
      `SELECT t.session, c.name AS tool, c.error, c.result, t.handle, t.started AS time
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE c.is_error = 1 AND c.error <> '' AND c.result IS NOT NULL AND ${IN_SPAN} ${among("t.session", span)}
       ORDER BY t.started, c.result`,
    )
    .iterate(spanValues(span))

/** A project and a time since when, for queries that sum up what happened in them. Pure. */

export interface StatsSpan {
  /** Its id; undefined: every project. */
  readonly project?: number | undefined
  /** ISO 8601 in UTC. */
  readonly since?: string | undefined
  /** Name of an agent. */
  readonly program?: string | undefined
  /** Of these alone, subagents by themselves. */
  readonly sessions?: readonly string[] | undefined
}

/** SQL condition that a column names one of the sessions, if they are named. */
const among = (column: string, { sessions }: StatsSpan): string =>
  sessions === undefined ? "" : `AND ${column} IN (SELECT value FROM json_each($sessions))`

/** For `$project`, `$since` and `$program`. */
const spanValues = ({ project, since, program, sessions }: StatsSpan) => ({
  project: project ?? null,
  since: since ?? null,
  program: program ?? null,
  ...(sessions && { sessions: JSON.stringify(sessions) }),
})

/** SQL condition on turns `t` and their sessions `s`. */
const IN_SPAN = `($project IS NULL OR s.project = $project) AND ($since IS NULL OR t.started >= $since)
  AND ${BY_AGENT}`
