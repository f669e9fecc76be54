/** Rows of what a model wrote about sessions. */

import { tryTo } from "../../base/files.ts"
import { NOTES_SESSIONS } from "../../base/session-id.ts"
import type { ObservationFields, ObservationType, SummaryFields } from "../../record/model-summary.ts"
import { OTHERS_COPIES } from "../../vault/layout.ts"
import type { Database } from "../database.ts"
import { agentOf, type Whose } from "./scope.ts"

export const OBSERVATION_PREFIX = "obs:"

interface SummaryRow {
  readonly time: string
  readonly model: string
  /** The last turn that the model has read, and `turns.last` of it then. */
  readonly seq: number
  readonly last: number
  readonly fields: SummaryFields
}

/** The latest summary of a session. Views of an earlier version have none. */
export const latestSummary = (db: Database, session: string): SummaryRow | undefined =>
  tryTo(() => {
    const row = db
      .query<Omit<SummaryRow, "fields"> & { fields: string }, [string]>(
        `SELECT time, model, seq, last, fields FROM summaries WHERE session = ?
         ORDER BY time DESC, transcript DESC, offset DESC LIMIT 1`,
      )
      .get(session)
    return row === null ? undefined : { ...row, fields: JSON.parse(row.fields) as SummaryFields }
  })

/** Whether a session has gone on since, with another turn or in the last one that was read. */
export const hasGoneOn = (
  db: Database,
  session: string,
  { seq, last }: Pick<SummaryRow, "seq" | "last">,
): boolean =>
  db
    .query(
      `SELECT 1 FROM turns WHERE session = ?1 AND
         (seq > ?2 AND (tools > 0 OR answer <> '') OR seq = ?2 AND last > ?3) LIMIT 1`,
    )
    .get(session, seq, last) !== null

export interface Observation extends ObservationFields {
  /** With `obs:`. */
  readonly handle: string
  /** That it is about. */
  readonly session: string
  readonly project: string | null
  /** Of the last turn that the model had read, in ISO 8601. */
  readonly time: string
  readonly model: string
  readonly type: ObservationType
  readonly title: string
}

type Row = Omit<Observation, keyof ObservationFields> & { readonly fields: string }

const COLUMNS = `'${OBSERVATION_PREFIX}' || o.handle AS handle, o.session, p.path AS project, o.time, o.model, o.type,
  o.title, o.fields`
const FROM = `observations o LEFT JOIN sessions s ON s.id = o.session LEFT JOIN projects p ON p.id = s.project`

const observationOf = ({ fields, ...row }: Row): Observation => ({
  ...row,
  ...(JSON.parse(fields) as ObservationFields),
})

/** Oldest first, in the order in which they were written. */
export const observationsOf = (db: Database, session: string): Observation[] =>
  tryTo(() =>
    db
      .query<Row, [string]>(`SELECT ${COLUMNS} FROM ${FROM} WHERE o.session = ? ORDER BY o.id`)
      .all(session)
      .map(observationOf),
  ) ?? []

/** What a model that read a session called most of what was done in it; undefined if none did. */
export const usualType = (db: Database, session: string): ObservationType | undefined =>
  tryTo(
    () =>
      db
        .query<{ type: ObservationType }, [string]>(
          "SELECT type FROM observations WHERE session = ? GROUP BY type ORDER BY count(*) DESC, max(id) DESC LIMIT 1",
        )
        .get(session)?.type,
  )

/** The latest of all sessions of a session's project, newest first; none that others may have written, or about what they said. */
export const latestObservations = (db: Database, session: string, most: number): Observation[] =>
  tryTo(() =>
    db
      .query<Row, [string, number]>(
        `SELECT ${COLUMNS} FROM ${FROM} WHERE s.project = (SELECT project FROM sessions WHERE id = ?)
           AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.session = o.session AND t.origin = 'other')
           AND o.transcript NOT IN (SELECT id FROM transcripts WHERE copy GLOB '${OTHERS_COPIES}')
         ORDER BY o.time DESC, o.id DESC LIMIT ?`,
      )
      .all(session, most)
      .map(observationOf),
  ) ?? []

export const hasObservations = (db: Database): boolean =>
  tryTo(() => db.query("SELECT 1 FROM observations LIMIT 1").get() !== null) ?? false

/** Those whose handle begins so, without its prefix. */
export const observationsNamed = (db: Database, start: string): Observation[] =>
  db
    .query<Row, [string]>(
      `SELECT ${COLUMNS} FROM ${FROM} WHERE substr(o.handle, 1, length(?1)) = ?1 ORDER BY o.handle LIMIT 10`,
    )
    .all(start)
    .map(observationOf)

/** Without their prefix; none of a session of which only a subagent is named. */
export const observationHandles = (db: Database, sessions: readonly string[]): string[] =>
  tryTo(() =>
    db
      .query<{ handle: string }, [string]>(
        "SELECT handle FROM observations WHERE session IN (SELECT value FROM json_each(?))",
      )
      .all(JSON.stringify(sessions.map((session) => session.replace(/\/summary$/, "")))),
  )?.map(({ handle }) => handle) ?? []

interface Wanted {
  readonly type?: ObservationType | undefined
  readonly project?: string | undefined
  readonly session?: string | undefined
  /** ISO 8601 in UTC. */
  readonly since?: string | undefined
  readonly until?: string | undefined
  readonly most: number
}

const IS_WANTED = `(?1 IS NULL OR p.path = ?1) AND (?2 IS NULL OR o.session = ?2) AND (?3 IS NULL OR o.time >= ?3)
  AND (?4 IS NULL OR o.time < ?4) AND (?5 IS NULL OR o.type = ?5)`

const valuesOf = ({ project, session, since, until, type, most }: Wanted): (string | number | null)[] => [
  ...[project, session, since, until, type].map((value) => value ?? null),
  most,
]

/**
 * Those with any of the words, the rarest words first.
 *
 * @param words in FTS5's language
 */
export const observationsWith = (db: Database, words: string, wanted: Wanted): Observation[] =>
  db
    .query<Row, (string | number | null)[]>(
      `SELECT ${COLUMNS} FROM observation_words w JOIN observations o ON o.id = w.rowid
         LEFT JOIN sessions s ON s.id = o.session LEFT JOIN projects p ON p.id = s.project
       WHERE observation_words MATCH ?7 AND ${IS_WANTED} ORDER BY bm25(observation_words), o.id DESC LIMIT ?6`,
    )
    .all(...valuesOf(wanted), words)
    .map(observationOf)

/** Newest first. */
export const observationsOfType = (db: Database, wanted: Wanted): Observation[] =>
  db
    .query<Row, (string | number | null)[]>(
      `SELECT ${COLUMNS} FROM ${FROM} WHERE ${IS_WANTED} ORDER BY o.time DESC, o.id DESC LIMIT ?6`,
    )
    .all(...valuesOf(wanted))
    .map(observationOf)

export interface TurnToRead {
  readonly id: number
  /** Without its prefix. */
  readonly handle: string
  readonly seq: number
  /** Offset behind its last line, in bytes. */
  readonly last: number
  readonly prompt: string
  readonly answer: string
  readonly started: string | null
  readonly ended: string | null
  readonly interrupted: number
  readonly takenBack: number
}

/** A session's turns in which anything was said or done. */
export const turnsToRead = (db: Database, session: string): TurnToRead[] =>
  db
    .query<TurnToRead, [string]>(
      `SELECT id, handle, seq, last, prompt, answer, started, ended, interrupted, taken_back AS takenBack FROM turns
       WHERE session = ? AND (tools > 0 OR answer <> '') ORDER BY seq`,
    )
    .all(session)

/** How a turn's failed calls failed, by tool_use_id. */
export const errorsIn = (db: Database, turn: number): ReadonlyMap<string, string> =>
  new Map(
    db
      .query<{ id: string; error: string }, [number]>(
        "SELECT id, coalesce(error, '') AS error FROM tool_calls WHERE turn = ? AND is_error = 1",
      )
      .all(turn)
      .map(({ id, error }) => [id, error]),
  )

/** Newest first: no subagents, no notes. */
export const sessionsByLatest = (
  db: Database,
  { project, program, since }: Whose & { readonly since?: string | undefined },
): string[] =>
  db
    .query<{ id: string }, [string | null, string | null, string, string | null]>(
      `SELECT s.id FROM sessions s LEFT JOIN projects p ON p.id = s.project
       WHERE s.parent IS NULL AND s.prompts_only = 0 AND (?1 IS NULL OR p.path = ?1) AND (?2 IS NULL OR s.ended >= ?2) AND s.id NOT GLOB ?3
         AND (?4 IS NULL OR ${agentOf("s")} = ?4)
       ORDER BY s.ended DESC, s.id`,
    )
    .all(project ?? null, since ?? null, NOTES_SESSIONS, program ?? null)
    .map(({ id }) => id)
