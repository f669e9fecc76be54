/** What was done in a span: turns, calls of tools, files changed, calls that failed. */
import { isTool } from "../../agents/tool-kinds.ts"
import type { Database } from "../database.ts"
import { HANDLE_PREFIX } from "../handle-prefix.ts"
import { IN_SPAN, type StatsSpan, spanValues } from "./span.ts"
import { IS_TURN } from "./turn-kinds.ts"

type Values = ReturnType<typeof spanValues>

export interface TurnDone {
  readonly session: string
  readonly project: string | null
  /** ISO 8601. */
  readonly time: string | null
  readonly interrupted: number
  readonly takenBack: number
}

/** Turns that a human started. */
export const turnsDone = (db: Database, span: StatsSpan): Iterable<TurnDone> =>
  db
    .query<TurnDone, Values>(
      `SELECT t.session, p.path AS project, t.started AS time, t.interrupted, t.taken_back AS takenBack
       FROM turns t LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
       WHERE ${IS_TURN} AND ${IN_SPAN}`,
    )
    .iterate(spanValues(span))

export interface ToolTotal {
  readonly name: string
  readonly calls: number
  readonly failed: number
}

/** The most used first. */
export const toolTotals = (db: Database, span: StatsSpan): ToolTotal[] =>
  db
    .query<ToolTotal, Values>(
      `SELECT c.name, count(*) AS calls, count(*) FILTER (WHERE c.is_error = 1) AS failed
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE c.name <> '' AND ${IN_SPAN} GROUP BY c.name ORDER BY calls DESC, c.name`,
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

/** By calls of tools, the most edited first. */
export const filesEdited = (db: Database, span: StatsSpan, most: number): EditedFile[] =>
  db
    .query<EditedFile & { latest: number }, Values & { prefix: string; most: number }>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT c.target AS path, count(*) AS edits, count(*) FILTER (WHERE c.is_error = 1) AS failed,
         count(DISTINCT c.turn) AS turns, $prefix || t.handle AS handle, max(c.turn) AS latest
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE ${isTool("c.name", "edit", "write")} AND c.target <> '' AND ${IN_SPAN}
       GROUP BY c.target ORDER BY edits DESC, path LIMIT $most`,
    )
    .all({ ...spanValues(span), prefix: HANDLE_PREFIX, most })
    .map(({ latest: _latest, ...row }) => row)

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
export const callsFailed = (db: Database, span: StatsSpan): Iterable<FailedCall> =>
  db
    .query<FailedCall, Values>(
      `SELECT c.name AS tool, c.error, c.result, t.handle, t.started AS time
       FROM tool_calls c JOIN turns t ON t.id = c.turn LEFT JOIN sessions s ON s.id = t.session
       WHERE c.is_error = 1 AND c.error <> '' AND c.result IS NOT NULL AND ${IN_SPAN} ORDER BY t.started, c.result`,
    )
    .iterate(spanValues(span))
