/** Rows of messages: where their lines are in the vault, and what a search ranks. */
import type { Part } from "../../record/types.ts"
import type { Database } from "../database.ts"
import type { Condition } from "./scope.ts"
import { IS_EMPTY } from "./turns.ts"

/** Where a line is in the vault. */
export interface LinePlace {
  readonly copy: string
  readonly offset: number
  readonly length: number
}

export interface MessageRow extends LinePlace {
  readonly id: number
  readonly role: string
  readonly sidechain: number
  readonly time: string | null
}

/** A turn's messages in transcript order. */
export function messagesOf(db: Database, turn: number): MessageRow[] {
  return db
    .query<MessageRow, [number]>(
      `SELECT m.id, m.offset, m.length, m.role, m.sidechain, m.time, t.copy
       FROM messages m JOIN transcripts t ON t.id = m.transcript WHERE m.turn = ? ORDER BY m.transcript, m.offset`,
    )
    .all(turn)
}

/** Ids of a turn's messages. */
export const idsOfTurn = (db: Database, turn: number): number[] =>
  db
    .query<{ id: number }, [number]>("SELECT id FROM messages WHERE turn = ?")
    .all(turn)
    .map(({ id }) => id)

/** Where a message's line is, and who said it in which session. */
export interface MessagePlace extends LinePlace {
  readonly id: number
  readonly role: string
  readonly session: string
}

export const placesOf = (db: Database, messages: readonly number[]): MessagePlace[] =>
  db
    .query<MessagePlace, [string]>(
      `SELECT m.id, t.copy, m.offset, m.length, m.role, m.session
       FROM json_each(?) w JOIN messages m ON m.id = w.value JOIN transcripts t ON t.id = m.transcript`,
    )
    .all(JSON.stringify(messages))

/** An upper limit of the number of messages. */
export const population = (db: Database): number =>
  db.query<{ id: number | null }, []>("SELECT max(id) AS id FROM messages").get()?.id ?? 0

export interface RankRow {
  readonly id: number
  readonly turn: number
  readonly session: string
  /** Bytes of its line. */
  readonly length: number
  readonly kind: string
}

export interface TimedRow extends RankRow {
  readonly time: string | null
}

/**
 * By ascending id.
 *
 * @param isTimed whether the time is wanted
 */
export const rankRows = (db: Database, ids: readonly number[], isTimed: boolean): TimedRow[] =>
  db
    .query<TimedRow, [string]>(
      // Every column costs time on every row.
      `SELECT m.id, m.turn, m.session, m.length, m.kind, ${isTimed ? "m.time" : "NULL"} AS time
       FROM json_each(?) w CROSS JOIN messages m ON m.id = w.value`,
    )
    .all(`[${new Uint32Array(ids).sort().join()}]`)

export type LatestRow = Pick<TimedRow, "id" | "turn" | "session" | "time">

/** `/compact` and the like leave nothing to show. */
const SAYS_SOMETHING = `NOT ${IS_EMPTY}`

/**
 * The latest message of each turn in these sessions.
 *
 * @param expression in FTS5's language; undefined: every message
 */
export function latestMessages(
  db: Database,
  sessions: readonly string[],
  expression: string | undefined,
  condition: Condition = { sql: "TRUE", values: [] },
): LatestRow[] {
  const [from, match] =
    expression === undefined
      ? ["turns t CROSS JOIN messages m ON m.turn = t.id WHERE TRUE", []]
      : [
          "words CROSS JOIN messages m ON m.id = words.rowid CROSS JOIN turns t ON t.id = m.turn WHERE words MATCH ?",
          [expression],
        ]
  const owner = expression === undefined ? "t" : "m"
  return db
    .query<LatestRow, string[]>(
      // With max(), SQLite takes the other columns from the row that has the maximum.
      `SELECT m.id, m.turn, m.session, max(coalesce(m.time, '')) AS time FROM ${from}
       AND ${SAYS_SOMETHING} AND ${owner}.session IN (SELECT value FROM json_each(?)) AND ${condition.sql} GROUP BY m.turn`,
    )
    .all(...match, JSON.stringify(sessions), ...condition.values)
}

/** For each turn, the id of its last message with an answer. */
export function lastAnswers(db: Database, turns: readonly number[]): Map<number, number> {
  const found = db
    .query<{ turn: number; id: number | null }, [string]>(
      `SELECT w.value AS turn,
         (SELECT id FROM messages WHERE turn = w.value AND kind = 'answer' AND sidechain = 0 ORDER BY id DESC LIMIT 1) AS id
       FROM json_each(?) w`,
    )
    .all(`[${turns.join()}]`)
  return new Map(found.flatMap(({ turn, id }) => (id === null ? [] : [[turn, id] as const])))
}

/** Kinds of the turn's last messages, latest first: answer, call, result, failure. */
export const lastKinds = (db: Database, handle: string, most: number): string[] =>
  db
    .query<{ kind: string }, [string]>(
      `SELECT kind FROM messages
       WHERE turn = (SELECT id FROM turns WHERE handle = ?) AND sidechain = 0 AND kind IN ('answer', 'call', 'result', 'failure')
       ORDER BY id DESC LIMIT ${most}`,
    )
    .all(handle)
    .map(({ kind }) => kind)

interface AnswerPlace extends LinePlace {
  readonly id: number
  /** Of its turn, without the prefix. */
  readonly handle: string
}

/** What the model said in these turns before their last answers, latest first, in lines of less than `longest` bytes. */
export const answersOnTheWay = (
  db: Database,
  handles: readonly string[],
  longest: number,
  most: number,
): AnswerPlace[] =>
  db
    .query<AnswerPlace, [string]>(
      `SELECT m.id, t.handle, c.copy, m.offset, m.length
       FROM json_each(?) w JOIN turns t ON t.handle = w.value
         JOIN messages m ON m.turn = t.id JOIN transcripts c ON c.id = m.transcript
       WHERE m.kind = 'answer' AND m.sidechain = 0 AND m.origin = 'assistant' AND m.length < ${longest}
         AND m.id < (SELECT max(id) FROM messages WHERE turn = t.id AND kind = 'answer' AND sidechain = 0)
       ORDER BY m.id DESC LIMIT ${most}`,
    )
    .all(JSON.stringify(handles))

/** Where Claude Code's own lines after a message of a turn are in its transcript, which may be gone. */
export const claudeLinesAfter = (
  db: Database,
  turn: number,
  message: number,
  most: number,
): { readonly path: string; readonly offset: number; readonly length: number }[] =>
  db
    .query<{ path: string; offset: number; length: number }, [number, number]>(
      `SELECT t.path, m.offset, m.length FROM messages m JOIN transcripts t ON t.id = m.transcript
       WHERE m.turn = ? AND m.id > ? AND m.role = 'host' AND m.sidechain = 0 ORDER BY m.id LIMIT ${most}`,
    )
    .all(turn, message)

/**
 * The tool of a result, which names only its call.
 *
 * @returns undefined if the call is unknown or names no tool
 */
export function toolNameOf(db: Database, session: string, id: string): string | undefined {
  const row = db
    .query<{ name: string }, [string, string]>("SELECT name FROM tool_calls WHERE session = ? AND id = ?")
    .get(session, id)
  return row?.name || undefined
}

/** Tools called or answering in a message. */
export const toolsIn = (db: Database, session: string, parts: readonly Part[]): string[] =>
  parts.flatMap((part) => {
    if (part.kind === "toolUse") return [part.name]
    return part.kind === "toolResult" ? (toolNameOf(db, session, part.id) ?? []) : []
  })
