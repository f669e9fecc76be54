/** Rows of vectors, for a search by meaning. */
import type { Database } from "../database.ts"

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
