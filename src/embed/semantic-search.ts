/**
 * Search by meaning: finds the messages whose vectors are nearest to a query's. Loads no model; query.ts makes the
 * query vector.
 */
import type { Database } from "../archive/database.ts"
import { isScale } from "../archive/vectors.ts"
import { BLOCK, createKernel } from "./dot-kernel.ts"
import { quantiseQuery } from "./quantise.ts"

export interface QueryVector {
  /** Only vectors made by the same embedder are compared with it. */
  readonly embedder: string
  readonly values: Float32Array
}

interface SemanticFilter {
  /** Path of a project; undefined: all. */
  readonly project?: string | undefined
  /** Includes the session's subagents; undefined: all. */
  readonly session?: string | undefined
  readonly limit: number
}

interface SemanticHit {
  readonly message: number
  readonly turn: number
  /** Cosine: 1 for the same direction, 0 for unrelated ones. */
  readonly score: number
}

/** The highest cosine that rounding can produce. Anything higher comes from a damaged vector. */
const MOST_SCORE = 1.05

/** The nearest messages, best first. A message with several pieces counts by its nearest piece. */
export function semanticSearch(db: Database, query: QueryVector, filter: SemanticFilter): SemanticHit[] {
  const quantised = quantiseQuery(query.values)
  if (quantised.scale === 0 || filter.limit < 1) return []
  const kernel = createKernel(quantised)
  const { width } = kernel
  const best = new Best(filter.limit)
  const turns = new Uint32Array(BLOCK)
  let held = 0
  const scan = (): void => {
    const scores = kernel.scores(held)
    for (let n = 0; n < held; n++) {
      const score = scores[n]!
      if (score > best.least && score <= MOST_SCORE && isScale(kernel.scale(n)))
        best.add(kernel.message(n), turns[n]!, score)
    }
    held = 0
  }
  for (const { turn, vectors } of rowsOf(db, query, filter)) {
    // Damaged; the background job will recreate it.
    if (vectors.length % width !== 0) continue
    const total = vectors.length / width
    for (let from = 0; from < total; ) {
      if (held === BLOCK) scan()
      const count = Math.min(BLOCK - held, total - from)
      kernel.rows.set(vectors.subarray(from * width, (from + count) * width), held * width)
      turns.fill(turn, held, held + count)
      held += count
      from += count
    }
  }
  scan()
  return best.sorted()
}

interface VectorRow {
  readonly turn: number
  readonly vectors: Uint8Array
}

/** The filter is part of the query, so what it leaves out costs nothing and takes no place among the nearest. */
function rowsOf(
  db: Database,
  { embedder, values }: QueryVector,
  { project, session }: SemanticFilter,
): Iterable<VectorRow> {
  const dimension = values.length
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

/** The best hits so far, one per message. */
class Best {
  readonly #limit: number
  readonly #hits = new Map<number, SemanticHit>()
  /** Scores must be above this. */
  least = Number.NEGATIVE_INFINITY

  constructor(limit: number) {
    this.#limit = limit
  }

  add(message: number, turn: number, score: number): void {
    const known = this.#hits.get(message)
    if (known !== undefined && known.score >= score) return
    this.#hits.set(message, { message, turn, score })
    // Sorted only occasionally: sorting on every call would cost more than the products.
    if (this.#hits.size >= this.#limit * 2 + 64) this.#cut()
  }

  sorted(): SemanticHit[] {
    const hits = [...this.#hits.values()].sort((a, b) => b.score - a.score || a.message - b.message)
    return hits.slice(0, this.#limit)
  }

  #cut(): void {
    const kept = this.sorted()
    this.#hits.clear()
    for (const hit of kept) this.#hits.set(hit.message, hit)
    this.least = kept.at(-1)!.score
  }
}
