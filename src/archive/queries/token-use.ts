/** Rows of usage: tokens of the requests to a model. */
import type { Tokens } from "../../transcript/types.ts"
import type { Database } from "../database.ts"

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
  /** US dollars by the host's own account; null if it gives none, as up to 2.1.328 in its own transcripts. */
  readonly cost: number | null
  /** Requests to the model and ms, as the host sums them up at the end of a query; null if it does not. */
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

/** Whether a fork's message `u` began in its origin. */
export const IS_ORIGINS = `EXISTS (SELECT 1 FROM lineage l JOIN usage e ON e.session = l.parent AND e.message = u.message
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
