/** Rows of turns: of a session, by handle, around one, in the scope of a restore. */
import { tryTo } from "../../base/files.ts"
import { NOTES_SESSIONS } from "../../base/session-id.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import { isBesideCopy } from "../../vault/layout.ts"
import type { Database } from "../database.ts"
import type { LabelledNames } from "../labels.ts"
import { isAtHome, rowsIn, type Scope, STANDS } from "./scope.ts"

/**
 * A human's prompt and all that follows. Neither what came before the first prompt, nor the task of a subagent, nor a
 * note that the model wanted kept, nor a prompt of which nothing else is known (ingest.ts).
 */
export const IS_TURN = "t.via NOT IN ('none', 'brief', 'history')"

export interface TurnRow {
  readonly id: number
  /** Without `ctx:`. It is made of the content, so another archive of the same session has the same. */
  readonly handle: string
  readonly session: string
  /** From 1, in the order of the transcript. */
  readonly seq: number
  /** How it began: typed, queued, command, bash, memory, brief; none: before the first prompt. */
  readonly via: string
  readonly prompt: string
  readonly answer: string
  readonly started: string | null
  readonly ended: string | null
  /** Number of tool calls, and of failed ones. */
  readonly tools: number
  readonly errors: number
  readonly interrupted: number
  readonly takenBack: number
  /** 1 if it was fetched from where others may have written it. */
  readonly others: number
}

const COLUMNS =
  "id, handle, session, seq, via, prompt, answer, started, ended, tools, errors, interrupted, taken_back AS takenBack, " +
  "origin = 'other' AS others"

export function turnsOf(db: Database, session: string, offset = 0, limit = -1): TurnRow[] {
  return db
    .query<TurnRow, [string, number, number]>(
      `SELECT ${COLUMNS} FROM turns WHERE session = ? ORDER BY seq LIMIT ?3 OFFSET ?2`,
    )
    .all(session, offset, limit)
}

/** Turns of the sessions that this one is a fork of, as far as it has copies of them. */
export const sharedTurnsOf = (db: Database, session: string): TurnRow[] =>
  db
    .query<TurnRow, [string]>(
      `SELECT ${COLUMNS} FROM turns WHERE id IN (SELECT t.id FROM sessions s, ${SHARED_TURNS} AND s.id = ?) ORDER BY id`,
    )
    .all(session)

/** Turns whose handle begins with `handle`; its `ctx:` may be missing. */
export function findTurns(db: Database, handle: string): TurnRow[] {
  const bare = handle.startsWith(HANDLE_PREFIX) ? handle.slice(HANDLE_PREFIX.length) : handle
  if (!/^[0-9a-z]+$/.test(bare)) return []
  return db
    .query<TurnRow, [string]>(
      `SELECT ${COLUMNS} FROM turns WHERE substr(handle, 1, length(?1)) = ?1 ORDER BY length(handle), handle LIMIT 10`,
    )
    .all(bare)
}

/** The turn of this very handle, with its prefix. */
export const turnByHandle = (db: Database, handle: string): TurnRow | null =>
  db
    .query<TurnRow, [string]>(`SELECT ${COLUMNS} FROM turns WHERE handle = ?`)
    .get(handle.slice(HANDLE_PREFIX.length))

/** @param handle with or without its prefix */
export const turnId = (db: Database, handle: string): number =>
  db
    .query<{ id: number }, [string]>("SELECT id FROM turns WHERE handle = ?")
    .get(handle.startsWith(HANDLE_PREFIX) ? handle.slice(HANDLE_PREFIX.length) : handle)!.id

/** Ids of the turns with these handles, and of all in these sessions and their subagents. */
export const turnsLabelled = (db: Database, { sessions, handles }: LabelledNames): Set<number> =>
  new Set(
    db
      .query<{ id: number }, [string, number, string]>(
        `SELECT t.id FROM json_each(?1) w JOIN turns t ON t.handle = substr(w.value, ?2)
         UNION SELECT t.id FROM json_each(?3) w JOIN turns t ON t.session = w.value
         UNION SELECT t.id FROM json_each(?3) w JOIN sessions s ON s.parent = w.value JOIN turns t ON t.session = s.id`,
      )
      .all(JSON.stringify(handles), HANDLE_PREFIX.length + 1, JSON.stringify(sessions))
      .map(({ id }) => id),
  )

/** Ids of the sessions of the turns with these handles. */
export const sessionsOfTurns = (db: Database, handles: readonly string[]): string[] =>
  db
    .query<{ session: string }, [string, number]>(
      "SELECT DISTINCT t.session FROM json_each(?1) w JOIN turns t ON t.handle = substr(w.value, ?2)",
    )
    .all(JSON.stringify(handles), HANDLE_PREFIX.length + 1)
    .map(({ session }) => session)

/** With its prefix; undefined if the archive has no such turn. */
export function handleOfTurn(
  db: Database,
  session: string,
  seq: number,
  started: string | null,
): string | undefined {
  const found = db
    .query<{ handle: string }, [string, number, string | null]>(
      "SELECT handle FROM turns WHERE session = ? AND seq = ? AND started IS ?",
    )
    .get(session, seq, started)
  return found === null ? undefined : HANDLE_PREFIX + found.handle
}

/** A session's turns with these numbers, inclusive. */
export const turnsBetween = (db: Database, session: string, from: number, to: number): TurnRow[] =>
  db
    .query<TurnRow, [string, number, number]>(
      `SELECT ${COLUMNS} FROM turns WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq`,
    )
    .all(session, from, to)

/** Turns that a human started in this session: none of a subagent or from another tool's archive. */
const OWN = `${IS_TURN} AND ${isAtHome("t.origin")}`

export function countTurns(db: Database, scope: Scope): number {
  const counts = rowsIn<{ n: number }>(
    db,
    scope,
    `SELECT count(*) AS n FROM turns t WHERE session = ?1 AND id <= ?2 AND ${OWN} AND ${STANDS}`,
  )
  return counts.reduce((sum, { n }) => sum + n, 0)
}

export interface TurnLine {
  /** Without its prefix. */
  readonly handle: string
  readonly seq: number
  /** Offset of its first line in the transcript, in bytes. */
  readonly offset: number
  readonly prompt: string
  readonly answer: string
  readonly tools: number
  readonly errors: number
  /** 1 when the human stopped the model. */
  readonly interrupted: number
  /** Whether some of it is not known, so that its calls cannot be counted. */
  readonly isPartial?: boolean
}

/**
 * The latest turns that a human started, newest first.
 *
 * @param first of those of which some was passed over
 * @param last of them: the only one whose last answer is known
 */
export const latestTurns = (
  db: Database,
  scope: Scope,
  most: number,
  [first, last]: readonly [number, number] = [0, 0],
): TurnLine[] =>
  rowsIn<TurnLine & { id: number }>(
    db,
    scope,
    `SELECT id, handle, seq, first AS "offset", prompt, answer, tools, errors, interrupted FROM turns t
     WHERE session = ?1 AND id <= ?2 AND ${OWN} AND ${STANDS}
       AND NOT ${IS_EMPTY}
     ORDER BY seq DESC LIMIT ${most}`,
  )
    .sort((a, b) => b.id - a.id)
    .slice(0, most)
    .map(({ id, ...turn }) =>
      id < first || id > last ? turn : { ...turn, isPartial: true, answer: id < last ? "" : turn.answer },
    )

/** The first prompts of a session that something was done for. */
export const firstPrompts = (db: Database, session: string, most: number): string[] =>
  db
    .query<{ prompt: string }, [string, number]>(
      `SELECT prompt FROM turns t WHERE session = ? AND ${IS_LISTED} AND NOT ${IS_EMPTY} AND taken_back = 0
       ORDER BY seq LIMIT ?`,
    )
    .all(session, most)
    .map(({ prompt }) => prompt)

/** Ids of the latest turns of all, newest first. */
export const latestTurnIds = (db: Database, scope: Scope, most: number): number[] =>
  rowsIn<{ id: number }>(
    db,
    scope,
    `SELECT id FROM turns WHERE session = ?1 AND id <= ?2 AND (taken_back = 0 OR ?3)
     ORDER BY seq DESC LIMIT ${most}`,
  )
    .sort((a, b) => b.id - a.id)
    .slice(0, most)
    .map(({ id }) => id)

export interface TurnText {
  readonly turn: number
  /** As the views keep them. */
  readonly prompt: string
  readonly answer: string
}

/** The turns of these messages that a human started and did not take back. */
export const spokenTurns = (db: Database, messages: readonly number[]): TurnText[] =>
  db
    .query<TurnText, [string]>(
      `SELECT DISTINCT t.id AS turn, t.prompt, t.answer FROM messages m JOIN turns t ON t.id = m.turn
       WHERE m.id IN (SELECT value FROM json_each(?)) AND ${IS_TURN} AND ${isAtHome("t.origin")}
         AND t.taken_back = 0`,
    )
    .all(JSON.stringify(messages))

interface TurnOfMessage {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  readonly session: string
  readonly time: string | null
  readonly answer: string
  readonly takenBack: number
}

export const turnOfMessage = (db: Database, message: number): TurnOfMessage | null =>
  db
    .query<TurnOfMessage, [number]>(
      `SELECT t.id AS turn, t.handle, t.session, coalesce(m.time, t.started) AS time, t.answer, t.taken_back AS takenBack
       FROM messages m JOIN turns t ON t.id = m.turn WHERE m.id = ?`,
    )
    .get(message)

/** The prompts that these messages follow, as the views keep them. */
export const promptsOf = (db: Database, messages: readonly number[]): Map<number, string> => {
  const rows = db
    .query<{ id: number; prompt: string }, [string]>(
      `SELECT m.id, t.prompt FROM json_each(?) w JOIN messages m ON m.id = w.value JOIN turns t ON t.id = m.turn`,
    )
    .all(JSON.stringify(messages))
  return new Map(rows.map(({ id, prompt }) => [id, prompt]))
}

interface TurnName {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  readonly started: string | null
}

export const turnNames = (db: Database, turns: readonly number[]): Map<number, TurnName> => {
  const rows = db
    .query<TurnName, [string]>(
      "SELECT id AS turn, handle, started FROM turns WHERE id IN (SELECT value FROM json_each(?))",
    )
    .all(JSON.stringify(turns))
  return new Map(rows.map((row) => [row.turn, row]))
}

/** A turn that was found, and the message in it that was. */
export interface FoundRow {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  readonly session: string
  readonly seq: number
  readonly uuid: string | null
  readonly project: string | null
  /** null: Claude Code's. */
  readonly program: string | null
  readonly started: string | null
  readonly prompt: string
  readonly answer: string
  readonly takenBack: number
  readonly promptsOnly: number
  readonly first: number
  /** The message's id; null when the turn was found as a whole. */
  readonly message: number | null
  readonly role: string | null
  readonly kind: string | null
  readonly time: string | null
  readonly offset: number | null
  readonly length: number | null
  readonly copy: string | null
  /** Whose words they are: the message's, or the prompt's. */
  readonly origin: string
}

/** @param found with the ids of turns and messages; more than these is ignored */
export function foundRows(
  db: Database,
  found: readonly { readonly turn: number; readonly message: number | undefined }[],
): Map<number, FoundRow> {
  const rows = db
    .query<FoundRow, [string]>(
      `SELECT t.id AS turn, t.handle, t.session, t.seq, t.uuid, p.path AS project, s.program, t.started, t.prompt, t.answer, t.first, t.taken_back AS takenBack,
         t.via = 'history' AS promptsOnly, m.id AS message, m.role, m.kind, m.time, m.offset, m.length, x.copy,
         coalesce(m.origin, t.origin) AS origin
       FROM json_each(?) w JOIN turns t ON t.id = w.value ->> 'turn' LEFT JOIN messages m ON m.id = w.value ->> 'message'
       LEFT JOIN transcripts x ON x.id = m.transcript LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project`,
    )
    .all(JSON.stringify(found))
  return new Map(rows.map((row) => [row.turn, row]))
}

export interface TurnOfLine
  extends Pick<
    FoundRow,
    "turn" | "handle" | "session" | "seq" | "project" | "prompt" | "takenBack" | "time"
  > {
  readonly cold: number
}

/** The turn of the message with one of these keys (identity.ts). */
export const turnOfLine = (
  db: Database,
  session: string,
  { key, original, alias }: { key: bigint; original?: bigint | undefined; alias?: bigint | undefined },
): TurnOfLine | undefined =>
  db
    .query<TurnOfLine, [bigint, bigint | null, string, bigint | null]>(
      `SELECT t.id AS turn, t.handle, t.session, t.seq, p.path AS project, t.prompt, t.taken_back AS takenBack, t.cold,
           m.time
         FROM (SELECT turn, time FROM messages WHERE key IN (?, ?)
               UNION ALL SELECT turn, time FROM messages WHERE session = ? AND alias = ? LIMIT 1) m
         JOIN turns t ON t.id = m.turn LEFT JOIN sessions s ON s.id = t.session
         LEFT JOIN projects p ON p.id = s.project`,
    )
    .get(key, original ?? null, session, alias ?? null) ?? undefined

/** The turn that a place in a file beside a transcript belongs to. */
export const turnOfFile = (
  db: Database,
  session: string,
  copy: string,
  offset: number,
): TurnOfLine | undefined =>
  db
    .query<TurnOfLine, [string, string, number]>(
      `SELECT t.id AS turn, t.handle, t.session, t.seq, p.path AS project, t.prompt, t.taken_back AS takenBack, t.cold,
           m.time
         FROM turns t JOIN messages m ON m.turn = t.id JOIN transcripts x ON x.id = m.transcript
         LEFT JOIN sessions s ON s.id = t.session LEFT JOIN projects p ON p.id = s.project
         WHERE (t.session = ?1 OR t.session > ?1 || '/' AND t.session < ?1 || '0')
           AND x.copy = ?2 AND m.offset <= ?3 ORDER BY m.offset DESC LIMIT 1`,
    )
    .get(session, copy, offset) ?? undefined

/** Handles of the sessions' turns and their subagents', without prefix. */
export const handlesOf = (db: Database, sessions: readonly string[]): string[] =>
  db
    .query<{ handle: string }, [string]>(
      `SELECT handle FROM turns WHERE session IN (SELECT value FROM json_each(?1))
    OR session IN (SELECT id FROM sessions WHERE parent IN (SELECT value FROM json_each(?1)))`,
    )
    .all(JSON.stringify(sessions))
    .map(({ handle }) => handle)

/** Handle of the turn with this prompt, without its prefix. */
export const handleOfPrompt = (db: Database, session: string, prompt: string): string | undefined =>
  db
    .query<{ handle: string }, [string, string]>("SELECT handle FROM turns WHERE session = ? AND prompt = ?")
    .get(session, prompt)?.handle

/** Id of the session's first turn that begins behind an offset of a transcript. */
export const firstTurnBehind = (
  db: Database,
  session: string,
  transcript: number,
  offset: number,
): number | undefined =>
  db
    .query<{ id: number | null }, [string, number, number]>(
      "SELECT min(id) AS id FROM turns WHERE session = ? AND transcript = ? AND first > ?",
    )
    .get(session, transcript, offset)?.id ?? undefined

/* What counts as a turn, in one place: conditions on rows `t` of `turns`, and what is counted and shown by them. */

/** The same in a session's own list, where a subagent's tasks are its turns, and so are kept notes. */
const IS_LISTED = "t.via <> 'none'"

/** A command that only Claude Code executed, such as `/model`: nothing was said or done for it. */
export const IS_EMPTY = "(t.via = 'command' AND t.tools = 0 AND t.answer = '')"

/** Turns `t` that session `s` shares with those it is a fork of: up to the last one that it has a copy of. */
const SHARED_TURNS =
  "lineage l JOIN turns t ON t.session = l.parent AND t.id <= l.turn WHERE l.child = s.id AND l.kind = 'fork'"

/** How many of session `s` are another's, whose conversation it continues. */
export const SHARED_COUNT = `(SELECT count(*) FROM ${SHARED_TURNS} AND ${IS_LISTED})`

/** How many turns the conversation of session `s` has. */
export const TURN_COUNT = `((SELECT count(*) FROM turns t WHERE t.session = s.id AND ${IS_LISTED}) + ${SHARED_COUNT})`

/**
 * With what session `s` began: the first prompt that something was done for, a command as it was typed. Until there is
 * one, the first command.
 */
export const FIRST_PROMPT = `coalesce(
  (SELECT t.prompt FROM turns t WHERE t.session = s.id AND ${IS_LISTED} AND NOT ${IS_EMPTY} ORDER BY t.seq LIMIT 1),
  (SELECT t.prompt FROM turns t WHERE t.session = s.id AND ${IS_LISTED} ORDER BY t.seq LIMIT 1),
  (SELECT t.prompt FROM ${SHARED_TURNS} AND ${IS_LISTED} AND NOT ${IS_EMPTY} ORDER BY t.id LIMIT 1))`

/* Where turns lie in transcripts: for whoever reads those from end to end, and wants the turn of each line. */

/** A transcript as far as the views have followed it. */
interface FollowedCopy {
  readonly id: number
  /** Below `vault/`. */
  readonly copy: string
  readonly copyId: string
  /** Bytes of the transcript. */
  readonly indexed: number
}

/** A session's transcripts and those of its subagents, without the files beside them. */
export const followedCopies = (db: Database, session: string): FollowedCopy[] =>
  db
    .query<FollowedCopy, { session: string }>(
      `SELECT id, copy, copy_id AS copyId, indexed FROM transcripts
       WHERE session = :session OR session > :session || '/' AND session < :session || '0' ORDER BY id`,
    )
    .all({ session })
    .filter(({ copy }) => !isBesideCopy(copy))

export interface TurnPlace {
  readonly handle: string
  /** Offsets of its first line, and behind its last. */
  readonly first: number
  readonly last: number
}

/** In the order of the transcript. */
export const turnPlaces = (db: Database, transcript: number): TurnPlace[] =>
  db
    .query<TurnPlace, [number]>("SELECT handle, first, last FROM turns WHERE transcript = ? ORDER BY first")
    .all(transcript)

/** The handle of the turn that a message with this key belongs to, whatever transcript had it first. */
export const handleByKey = (db: Database, key: bigint): string | undefined =>
  db
    .query<{ handle: string }, [bigint]>(
      "SELECT t.handle FROM messages m JOIN turns t ON t.id = m.turn WHERE m.key = ?",
    )
    .get(key)?.handle

/* What decides which turns are cold (restore/worth/tiers.ts), and which are. */

export interface AgedRow {
  readonly turn: number
  /** Without its prefix. */
  readonly handle: string
  /** ISO 8601. */
  readonly ended: string | null
  /** Of its lines in the transcript. */
  readonly bytes: number
  readonly tools: number
  /** 1 when it touched any. */
  readonly files: number
  readonly cold: number
  /** 1 for what the model wants kept. */
  readonly isNote: number
  /** 1 when Claude Code compacted the session in it. */
  readonly hasSummary: number
}

const AGE_COLUMNS = `t.id AS turn, t.handle, t.ended, t.last - t.first AS bytes, t.tools, t.cold,
  t.session GLOB '${NOTES_SESSIONS}' AS isNote, EXISTS (SELECT 1 FROM files f WHERE f.turn = t.id) AS files,
  EXISTS (SELECT 1 FROM boundaries b WHERE b.session = t.session AND b.transcript = t.transcript
    AND b.offset >= t.first AND b.offset < t.last) AS hasSummary`

export const agedTurns = (db: Database): AgedRow[] =>
  db.query<AgedRow, []>(`SELECT ${AGE_COLUMNS} FROM turns t`).all()

/** @returns undefined if there is no such turn */
export const agedTurn = (db: Database, turn: number): AgedRow | undefined =>
  db.query<AgedRow, [number]>(`SELECT ${AGE_COLUMNS} FROM turns t WHERE t.id = ?`).get(turn) ?? undefined

/** Bytes of all turns' lines, without looking at each: at least as many. */
export const archivedSize = (db: Database): number =>
  db.query<{ bytes: number }, []>("SELECT coalesce(sum(archived), 0) AS bytes FROM transcripts").get()!.bytes

/** Views of an earlier version, which are read as they are while nobody can bring them up to date, have none. */
export const hasCold = (db: Database): boolean =>
  tryTo(() => db.query("SELECT 1 FROM turns WHERE cold = 1 LIMIT 1").get() !== null) ?? false

/** Copies that have cold turns, and the files beside them. */
export const copiesWithCold = (db: Database): Set<string> =>
  new Set(
    db
      .query<{ copy: string }, []>(
        `SELECT DISTINCT c.copy FROM turns t JOIN transcripts c ON c.id = t.transcript WHERE t.cold = 1
         UNION SELECT c.copy FROM transcripts c WHERE c.path NOT LIKE '%.jsonl' AND EXISTS (
           SELECT 1 FROM turns t WHERE t.session = c.session AND t.cold = 1)`,
      )
      .all()
      .map(({ copy }) => copy),
  )
