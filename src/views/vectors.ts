/** Stores vectors of what was said, one row per turn and embedder. Only find/embed/ knows what they mean. */
import { codeOf } from "../base/errors.ts"
import { existsSync } from "../base/fs.ts"
import { HANDLE_PREFIX } from "../record/our-marks.ts"
import { type Database, openFile } from "./database.ts"
import { IS_TURN } from "./queries/turns.ts"

/** Vector of a piece of a message's text. */
export interface MessageVector {
  readonly message: number
  /** Value of the integer 1. */
  readonly scale: number
  readonly data: Int8Array
}

/** Bytes before a vector's numbers: its message's id and its scale, 32 bits each, little endian. */
export const VECTOR_HEAD = 8

/** Packs vectors one after the other, so that a scan can copy them in one go. */
export function packVectors(vectors: readonly MessageVector[], dimension: number): Uint8Array {
  const width = VECTOR_HEAD + dimension
  const packed = new Uint8Array(width * vectors.length)
  const view = new DataView(packed.buffer)
  for (const [n, { message, scale, data }] of vectors.entries()) {
    view.setUint32(n * width, message, true)
    view.setFloat32(n * width + 4, scale, true)
    packed.set(new Uint8Array(data.buffer, data.byteOffset, dimension), n * width + VECTOR_HEAD)
  }
  return packed
}

/** Largest scale of a vector of length 1: its largest number is at most 1, stored as 127; a bit more for rounding. */
const MOST_SCALE = 1.001 / 127

/** Whether we can have written a scale. If a disk has damaged it, the vector means nothing. */
export const isScale = (scale: number): boolean => scale >= 0 && scale <= MOST_SCALE

/** Whether a row consists of whole vectors of its dimension. */
export const isWholeRow = ({ dimension, vectors }: Pick<TurnVectors, "dimension" | "vectors">): boolean =>
  dimension > 0 && vectors.length % (VECTOR_HEAD + dimension) === 0

/** @param packed of a whole row */
export function* unpackVectors(packed: Uint8Array, dimension: number): Generator<MessageVector> {
  const view = new DataView(packed.buffer, packed.byteOffset, packed.byteLength)
  for (let at = 0; at < packed.length; at += VECTOR_HEAD + dimension) {
    const data = new Int8Array(packed.buffer, packed.byteOffset + at + VECTOR_HEAD, dimension)
    yield { message: view.getUint32(at, true), scale: view.getFloat32(at + 4, true), data }
  }
}

/** The vectors of one turn. */
export interface TurnVectors {
  readonly turn: number
  readonly embedder: string
  readonly dimension: number
  /** `last` of the turn at the time of embedding. */
  readonly last: number
  /** Packed. */
  readonly vectors: Uint8Array
}

export interface DueTurn {
  readonly id: number
  readonly last: number
}

/** Hot turns without vectors of this embedder, or with more text than was embedded; newest first. */
export function dueTurns(db: Database, embedder: string, below: number, limit: number): DueTurn[] {
  return db
    .query<DueTurn, [string, number, number]>(
      `SELECT t.id, t.last FROM turns t LEFT JOIN vectors v ON v.turn = t.id AND v.embedder = ?1
       WHERE t.id < ?2 AND t.cold = 0 AND v.last IS NOT t.last ORDER BY t.id DESC LIMIT ?3`,
    )
    .all(embedder, below, limit)
}

/** Replaces the turns' vectors of the same embedder. Skips turns that are gone by now. */
export function putVectors(db: Database, rows: readonly TurnVectors[]): void {
  db.transaction(() => {
    for (const row of rows) put(db, row)
  }).immediate()
}

function put(db: Database, { turn, embedder, dimension, last, vectors }: TurnVectors): void {
  db.query<unknown, (string | number | Uint8Array)[]>(
    `INSERT OR REPLACE INTO vectors (turn, embedder, dimension, last, vectors)
     SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM turns WHERE id = ?1)`,
  ).run(turn, embedder, dimension, last, vectors)
}

/**
 * Deletes vectors that we cannot have written, so that they are made again.
 *
 * @param dimension of the embedder's vectors
 */
export function dropDamagedVectors(db: Database, embedder: string, dimension: number): void {
  const rows = db.query<Pick<TurnVectors, "turn" | "dimension" | "vectors">, [string]>(
    "SELECT turn, dimension, vectors FROM vectors WHERE embedder = ?",
  )
  const damaged: number[] = []
  for (const row of rows.iterate(embedder)) {
    if (row.dimension !== dimension || !isWholeRow(row) || !hasScales(row)) damaged.push(row.turn)
  }
  if (damaged.length === 0) return
  db.transaction(() => {
    db.query<unknown, [string, string]>(
      "DELETE FROM vectors WHERE embedder = ? AND turn IN (SELECT value FROM json_each(?))",
    ).run(embedder, JSON.stringify(damaged))
  }).immediate()
}

function hasScales({ dimension, vectors }: Pick<TurnVectors, "dimension" | "vectors">): boolean {
  const view = new DataView(vectors.buffer, vectors.byteOffset, vectors.byteLength)
  for (let at = 4; at < vectors.length; at += VECTOR_HEAD + dimension) {
    if (!isScale(view.getFloat32(at, true))) return false
  }
  return true
}

/** Deletes other embedders' vectors. Call once all turns have vectors of this one. */
export function dropOtherVectors(db: Database, embedder: string): void {
  const has = db.query<object, [string]>("SELECT 1 FROM vectors WHERE embedder <> ? LIMIT 1").get(embedder)
  if (has === null) return
  db.transaction(() => {
    db.query<unknown, [string]>("DELETE FROM vectors WHERE embedder <> ?").run(embedder)
  }).immediate()
}

export interface ComparedVectors extends Pick<TurnVectors, "turn" | "dimension" | "vectors"> {
  readonly isLatest: number
}

/** The vectors of a turn and of some others, as far as the same embedder made them and it is not `but`. */
export const vectorsBeside = (
  db: Database,
  handle: string,
  but: string,
  turns: readonly number[],
): ComparedVectors[] =>
  db
    .query<ComparedVectors, [string, string, string]>(
      `SELECT o.turn, o.turn = v.turn AS isLatest, o.dimension, o.vectors
       FROM turns t JOIN vectors v ON v.turn = t.id JOIN vectors o ON o.embedder = v.embedder
       WHERE t.handle = ?1 AND v.embedder <> ?2
         AND (o.turn = v.turn OR o.turn IN (SELECT value FROM json_each(?3)))`,
    )
    .all(handle, but, JSON.stringify(turns))

export interface VectorTotals {
  /** Hot ones. */
  readonly turns: number
  /** Turns whose vectors are up to date. */
  readonly embedded: number
}

export function vectorTotals(db: Database, embedder: string): VectorTotals {
  return db
    .query<VectorTotals, [string]>(
      `SELECT (SELECT count(*) FROM turns t WHERE cold = 0 AND ${IS_TURN}) AS turns,
         (SELECT count(*) FROM vectors v JOIN turns t ON t.id = v.turn AND t.last = v.last
           WHERE v.embedder = ? AND ${IS_TURN}) AS embedded`,
    )
    .get(embedder)!
}

/**
 * How many turns a search by meaning can find: those without words and those that have grown since count, too. Costs a
 * fifth of `vectorTotals`, which reads each row.
 */
export const vectorsMade = (db: Database, embedder: string): VectorTotals =>
  db
    .query<VectorTotals, [string]>(
      // Counting all by an index, and those few apart, takes a tenth of reading each turn.
      `SELECT (SELECT count(*) FROM turns) - (SELECT count(*) FROM turns WHERE cold = 1) AS turns,
         (SELECT count(*) FROM vectors WHERE embedder = ?) AS embedded`,
    )
    .get(embedder)!

/**
 * Moves vectors from the former views into new ones, where messages have other ids but the same keys. What cannot be
 * read, or belongs to messages that are gone, is left to the background job.
 *
 * @param path of the former database
 */
export function carryVectors(path: string, to: Database): void {
  if (!existsSync(path)) return
  let old: Database | undefined
  try {
    old = openFile(path, "read")
    const from = old
    to.transaction(() => {
      const rows = from.query<TurnVectors, []>(`SELECT ${COLUMNS} FROM vectors`)
      for (const row of rows.iterate()) putMoved(to, { row, keys: keysOf(from, row) })
    }).immediate()
  } catch (error) {
    // Damaged, in use, or older than vectors: none of these must stop the rebuild.
    if (!codeOf(error).startsWith("SQLITE_")) throw error
  } finally {
    old?.close()
  }
}

const COLUMNS = "turn, embedder, dimension, last, vectors"

/** Vectors of a turn, with what names its messages in any views. */
interface HeldVectors {
  readonly row: TurnVectors
  readonly keys: readonly MessageKey[]
}

interface MessageKey {
  readonly id: number
  readonly key: string
}

const keysOf = (db: Database, { turn }: TurnVectors): MessageKey[] =>
  db
    .query<MessageKey, [number]>(
      "SELECT id, CAST(key AS TEXT) AS key FROM messages WHERE turn = ? ORDER BY id",
    )
    .all(turn)

/** The vectors of sessions whose rows are about to be made anew. */
export const heldVectors = (db: Database, sessions: readonly string[]): HeldVectors[] =>
  db
    .query<TurnVectors, [string]>(
      `SELECT ${COLUMNS} FROM vectors WHERE turn IN
         (SELECT id FROM turns WHERE session IN (SELECT value FROM json_each(?)))`,
    )
    .all(JSON.stringify(sessions))
    .map((row) => ({ row, keys: keysOf(db, row) }))

/** Gives the vectors to the turns that have their messages now. Call inside a transaction. */
export function putHeldVectors(db: Database, held: readonly HeldVectors[]): void {
  for (const one of held) putMoved(db, one)
}

function putMoved(to: Database, held: HeldVectors): void {
  const moved = movedTo(to, held)
  if (moved !== undefined) put(to, moved)
}

function movedTo(to: Database, { row, keys }: HeldVectors): TurnVectors | undefined {
  if (!isWholeRow(row)) return undefined
  const ids = new Map<number, number>()
  let turn: number | undefined
  for (const { id, key } of keys) {
    const found = to
      .query<{ id: number; turn: number }, [string]>(
        "SELECT id, turn FROM messages WHERE key = CAST(? AS INTEGER)",
      )
      .get(key)
    // The turns differ, because another version of ctxbridge read them differently.
    if (found === null || (turn !== undefined && turn !== found.turn)) return undefined
    turn = found.turn
    ids.set(id, found.id)
  }
  if (turn === undefined) return undefined
  const vectors = row.vectors.slice()
  const view = new DataView(vectors.buffer)
  for (let at = 0; at < vectors.length; at += VECTOR_HEAD + row.dimension) {
    const id = ids.get(view.getUint32(at, true))
    if (id === undefined) return undefined
    view.setUint32(at, id, true)
  }
  return { ...row, turn, vectors }
}

/* One vector for a whole turn, made from those of its messages, for copies of the turn elsewhere. */

/** Of these turns, those with up-to-date vectors of an embedder; handles with `ctx:`. */
export const embeddedAmong = (db: Database, handles: Iterable<string>, embedder: string): string[] =>
  db
    .query<{ handle: string }, [string, number, string]>(
      `SELECT w.value AS handle FROM json_each(?) w CROSS JOIN turns t ON t.handle = substr(w.value, ?)
         CROSS JOIN vectors v ON v.turn = t.id AND v.last = t.last
       WHERE v.embedder = ? AND length(v.vectors) > 0`,
    )
    .all(JSON.stringify([...handles]), HANDLE_PREFIX.length + 1, embedder)
    .map(({ handle }) => handle)

/**
 * The mean of the turn's vectors, of length 1, with four digits.
 *
 * @param handle with `ctx:`
 * @returns undefined if there are none, or none that we can have written
 */
export function meanVector(db: Database, handle: string, embedder: string): number[] | undefined {
  const row = db
    .query<Pick<TurnVectors, "dimension" | "vectors">, [string, string]>(
      `SELECT v.dimension, v.vectors FROM turns t JOIN vectors v ON v.turn = t.id AND v.last = t.last
       WHERE t.handle = ? AND v.embedder = ?`,
    )
    .get(handle.slice(HANDLE_PREFIX.length), embedder)
  if (row === null || !isWholeRow(row)) return undefined
  const sum = new Float64Array(row.dimension)
  for (const { scale, data } of unpackVectors(row.vectors, row.dimension)) {
    if (!isScale(scale)) return undefined
    for (let n = 0; n < data.length; n++) sum[n]! += data[n]! * scale
  }
  const length = Math.hypot(...sum)
  return length > 0 ? Array.from(sum, (value) => Math.round((value / length) * 10_000) / 10_000) : undefined
}
