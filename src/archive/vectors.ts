/** Vectors of what was said, one row for each turn and embedder. What they mean is known in embed/ only. */
import { existsSync } from "node:fs"
import { codeOf } from "../util/errors.ts"
import { type Database, openFile } from "./database.ts"

/** The vectors of one turn: as many scales as messages, and `dimension` numbers for each. */
export interface TurnVectors {
  readonly turn: number
  readonly embedder: string
  readonly dimension: number
  /** `last` of the turn whose text was embedded. */
  readonly last: number
  /** Ids, each once for each piece of its text. */
  readonly messages: Uint32Array
  readonly scales: Float32Array
  readonly data: Int8Array
}

export interface DueTurn {
  readonly id: number
  readonly last: number
}

/** Turns without vectors of this embedder, or with more text than those were made of; the newest first. */
export function dueTurns(db: Database, embedder: string, below: number, limit: number): DueTurn[] {
  return db
    .query<DueTurn, [string, number, number]>(
      `SELECT t.id, t.last FROM turns t LEFT JOIN vectors v ON v.turn = t.id AND v.embedder = ?1
       WHERE t.id < ?2 AND v.last IS NOT t.last ORDER BY t.id DESC LIMIT ?3`,
    )
    .all(embedder, below, limit)
}

/** Replaces what the turns had of the same embedder. Turns that are gone by now are left out. */
export function putVectors(db: Database, rows: readonly TurnVectors[]): void {
  db.transaction(() => {
    for (const row of rows) put(db, row)
  }).immediate()
}

function put(db: Database, row: TurnVectors): void {
  const { turn, embedder, dimension, last, messages, scales, data } = row
  db.query<unknown, (string | number | Uint8Array)[]>(
    `INSERT OR REPLACE INTO vectors (turn, embedder, dimension, last, messages, scales, data)
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE EXISTS (SELECT 1 FROM turns WHERE id = ?1)`,
  ).run(turn, embedder, dimension, last, bytesOf(messages), bytesOf(scales), bytesOf(data))
}

/** Those of other embedders, when all turns have this one's. */
export function dropOtherVectors(db: Database, embedder: string): void {
  const has = db.query<object, [string]>("SELECT 1 FROM vectors WHERE embedder <> ? LIMIT 1").get(embedder)
  if (has === null) return
  db.transaction(() => {
    db.query<unknown, [string]>("DELETE FROM vectors WHERE embedder <> ?").run(embedder)
  }).immediate()
}

export interface VectorTotals {
  readonly turns: number
  /** Turns whose vectors are up to date. */
  readonly embedded: number
}

export function vectorTotals(db: Database, embedder: string): VectorTotals {
  return db
    .query<VectorTotals, [string]>(
      `SELECT (SELECT count(*) FROM turns) AS turns,
         (SELECT count(*) FROM vectors v JOIN turns t ON t.id = v.turn AND t.last = v.last WHERE v.embedder = ?)
           AS embedded`,
    )
    .get(embedder)!
}

/**
 * Brings the vectors of the former views into new ones, where messages have other ids but the same keys. What cannot
 * be read, or belongs to messages that are gone, is left to the background job, which makes it again.
 *
 * @param path of the former database
 */
export function carryVectors(path: string, to: Database): void {
  if (!existsSync(path)) return
  let old: Database | undefined
  try {
    old = openFile(path, { wait: 0, readonly: true })
    const from = old
    to.transaction(() => {
      for (const row of from.query<VectorRow, []>(ALL).iterate()) {
        const moved = movedTo(row, from, to)
        if (moved !== undefined) put(to, moved)
      }
    }).immediate()
  } catch (error) {
    // Damaged, in use, or from before there were vectors: none of it keeps the views from being made anew.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
  } finally {
    old?.close()
  }
}

interface VectorRow {
  readonly turn: number
  readonly embedder: string
  readonly dimension: number
  readonly last: number
  readonly messages: Uint8Array
  readonly scales: Uint8Array
  readonly data: Uint8Array
}

const ALL = "SELECT turn, embedder, dimension, last, messages, scales, data FROM vectors"

function movedTo(row: VectorRow, from: Database, to: Database): TurnVectors | undefined {
  const ids = new Map<number, number>()
  let turn: number | undefined
  const keys = from
    .query<{ id: number; key: string }, [number]>(
      "SELECT id, CAST(key AS TEXT) AS key FROM messages WHERE turn = ? ORDER BY id",
    )
    .all(row.turn)
  for (const { id, key } of keys) {
    const found = to
      .query<{ id: number; turn: number }, [string]>(
        "SELECT id, turn FROM messages WHERE key = CAST(? AS INTEGER)",
      )
      .get(key)
    // Other turns than before: another version of ctxbridge reads them otherwise.
    if (found === null || (turn !== undefined && turn !== found.turn)) return undefined
    turn = found.turn
    ids.set(id, found.id)
  }
  const messages = wordsOf(row.messages)
  if (turn === undefined || !messages.every((id) => ids.has(id))) return undefined
  return {
    ...row,
    turn,
    messages: messages.map((id) => ids.get(id)!),
    scales: floatsOf(row.scales),
    data: new Int8Array(row.data.buffer, row.data.byteOffset, row.data.length),
  }
}

const bytesOf = (values: Uint32Array | Float32Array | Int8Array): Uint8Array =>
  new Uint8Array(values.buffer, values.byteOffset, values.byteLength)

/** SQLite's bytes, which may begin anywhere, as numbers. */
export const wordsOf = (bytes: Uint8Array): Uint32Array => new Uint32Array(bytes.slice().buffer)

export const floatsOf = (bytes: Uint8Array): Float32Array => new Float32Array(bytes.slice().buffer)
