/** The index of words: which messages match an expression in FTS5's language. */
import type { Database } from "../database.ts"
import type { Condition } from "./scope.ts"

/**
 * Ids, newest first. They come as one JSON text: making a row object for each would take most of a search's time.
 *
 * @param expression undefined: every message
 * @param below only messages with a smaller id
 */
export function newestMatches(
  db: Database,
  expression: string | undefined,
  condition: Condition | undefined,
  limit: number,
  below?: number,
): number[] {
  const { from, id, where, values } = listOf(expression, condition)
  // Only added when needed: comparing each row takes a seventh of the time that a list takes.
  const [older, bound] = below === undefined ? ["", []] : [`AND ${id} < ?`, [below]]
  const { ids } = db
    .query<{ ids: string }, (string | number)[]>(
      `SELECT json_group_array(id) AS ids FROM
         (SELECT ${id} AS id FROM ${from} WHERE ${where} ${older} ORDER BY ${id} DESC LIMIT ?)`,
    )
    .get(...values, ...bound, limit)!
  return JSON.parse(ids)
}

/** Reads the index when it can decide everything, the messages when it can decide nothing, and otherwise both. */
function listOf(expression: string | undefined, condition: Condition | undefined) {
  const { sql, values } = condition ?? { sql: "TRUE", values: [] }
  if (expression === undefined) return { from: "messages m", id: "m.id", where: sql, values }
  const [id, where] = ["words.rowid", "words MATCH ?"]
  if (condition === undefined) return { from: "words", id, where, values: [expression] }
  const from = "words CROSS JOIN messages m ON m.id = words.rowid"
  return { from, id, where: `${where} AND ${sql}`, values: [expression, ...values] }
}

/** In index order: any other order makes the lists take twice as long. */
export const matches = (db: Database, expression: string, limit: number): number[] =>
  db
    .query<{ id: number }, [string, number]>("SELECT rowid AS id FROM words WHERE words MATCH ? LIMIT ?")
    .all(expression, limit)
    .map(({ id }) => id)

/**
 * Which of these messages match. All that match between the first and the last of them are listed: looking each of them
 * up takes a hundred times as long as passing by another one.
 */
export function matchesAmong(db: Database, ids: readonly number[], expression: string): Set<number> {
  const wanted = new Uint32Array(ids).sort()
  if (wanted.length === 0) return new Set()
  const { matching } = db
    .query<{ matching: string }, [string, number, number]>(
      "SELECT json_group_array(rowid) AS matching FROM words WHERE words MATCH ? AND rowid BETWEEN ? AND ?",
    )
    .get(expression, wanted[0]!, wanted.at(-1)!)!
  const all = new Set<number>(JSON.parse(matching))
  return new Set(ids.filter((id) => all.has(id)))
}

/* The words of all messages, as the index has them. */

export interface IndexedWord {
  readonly term: string
  /** How many messages have it. */
  readonly messages: number
}

/**
 * Stems that begin with `beginning`, in order. Each one read costs as much as its list of messages is long, so the caller
 * stops when it has to.
 */
export function* wordsThatBegin(
  db: Database,
  beginning: string,
  [shortest, longest]: readonly [number, number],
): Generator<IndexedWord> {
  try {
    // A temporary table without rows of its own: nothing is written to the archive's file.
    db.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
  } catch {
    // Where not even that is allowed, nothing is corrected.
    return
  }
  yield* db
    .query<IndexedWord, [string, string, number, number]>(
      `SELECT term, doc AS messages FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?`,
    )
    .iterate(beginning, `${beginning}\u{10ffff}`, shortest, longest)
}

/* Rows of vectors, for a search by meaning. */

interface VectorRow {
  readonly turn: number
  readonly vectors: Uint8Array
}

interface VectorsWanted {
  readonly embedder: string
  readonly dimension: number
  /** Path of a project; undefined: all. */
  readonly project?: string | undefined
  /** Includes the session's subagents; undefined: all. */
  readonly session?: string | undefined
}

/** The filter is part of the query, so what it leaves out costs nothing and takes no place among the nearest. */
export function scanVectors(
  db: Database,
  { embedder, dimension, project, session }: VectorsWanted,
): Iterable<VectorRow> {
  const own = "v.embedder = ?1 AND v.dimension = ?2"
  if (project === undefined && session === undefined) {
    return db
      .query<VectorRow, [string, number]>(`SELECT v.turn, v.vectors FROM vectors v WHERE ${own}`)
      .iterate(embedder, dimension)
  }
  return db
    .query<VectorRow, [string, number, string | null, string | null]>(
      // CROSS JOIN keeps SQLite from starting with `vectors`, which would read every vector.
      `SELECT v.turn, v.vectors FROM sessions s LEFT JOIN projects p ON p.id = s.project
         CROSS JOIN turns t ON t.session = s.id CROSS JOIN vectors v ON v.turn = t.id
       WHERE ${own} AND (?3 IS NULL OR p.path = ?3) AND (?4 IS NULL OR s.id = ?4 OR s.parent = ?4)`,
    )
    .iterate(embedder, dimension, project ?? null, session ?? null)
}
