/**
 * Search by meaning: finds the messages whose vectors are nearest to a query's. Loads no model; embedder.ts makes the
 * query vector.
 */

import { readFileSync } from "node:fs"
import wasm from "../../../dist/kernel/dot.wasm" with { type: "file" }
import type { Database } from "../../views/database.ts"
import { scanVectors } from "../../views/queries/word-matches.ts"
import { isScale, VECTOR_HEAD } from "../../views/vectors.ts"
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
  /** The cosine that is not yet enough; undefined: any is. */
  readonly floor?: number | undefined
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
  const best = new Best(filter.limit, filter.floor)
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
  for (const { turn, vectors } of scanVectors(db, {
    ...filter,
    embedder: query.embedder,
    dimension: query.values.length,
  })) {
    // Damaged; the background job will recreate it.
    if (vectors.length % width !== 0) continue
    const total = vectors.length / width
    for (let from = 0; from < total; ) {
      if (held === BLOCK) scan()
      const count = Math.min(BLOCK - held, total - from)
      const some = count === total ? vectors : vectors.subarray(from * width, (from + count) * width)
      kernel.rows.set(some, held * width)
      turns.fill(turn, held, held + count)
      held += count
      from += count
    }
  }
  scan()
  return best.sorted()
}

/** The best hits so far, one per message. */
class Best {
  readonly #limit: number
  readonly #hits = new Map<number, SemanticHit>()
  /** Scores must be above this. */
  least: number

  constructor(limit: number, floor = Number.NEGATIVE_INFINITY) {
    this.#limit = limit
    this.least = floor
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

/*
 * Multiplies one vector with many, sixteen numbers at a time, in WebAssembly (dot-kernel.wat): JavaScript alone takes
 * twenty times as long.
 */

/** Rows held at a time: 3 MB, so memory use does not depend on the number of vectors. */
export const BLOCK = 8192

interface Kernel {
  /** Where the caller puts up to BLOCK vectors, packed. */
  readonly rows: Uint8Array
  readonly width: number
  /** Cosines of the query with the first `count` vectors; valid until the next call. */
  scores(count: number): Float32Array
  message(n: number): number
  /** The value that 1 stands for in the nth vector. */
  scale(n: number): number
}

const PAGE = 65_536

/** Kept for the next query of the process: 3 MB anew from the system take a fifth of a scan. */
let made: { readonly length: number; readonly memory: WebAssembly.Memory; readonly dot: Dot } | undefined

type Dot = (...args: number[]) => void

/** @param length of the vectors */
function instanceFor(length: number, bytes: number) {
  if (made?.length !== length) {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / PAGE) })
    const module = new WebAssembly.Module(readFileSync(wasm))
    const { exports } = new WebAssembly.Instance(module, { host: { memory } })
    made = { length, memory, dot: exports["dot"] as Dot }
  }
  return made
}

/** One at a time: the next one has the same memory. @param query its length, a multiple of 16, is that of the vectors */
export function createKernel({ data, scale }: { data: Int16Array; scale: number }): Kernel {
  const width = VECTOR_HEAD + data.length
  const rowsAt = data.length * 2
  const outAt = rowsAt + width * BLOCK
  const { memory, dot } = instanceFor(data.length, outAt + BLOCK * 4)
  new Int16Array(memory.buffer, 0, data.length).set(data)
  const step = width / 4
  const ids = new Uint32Array(memory.buffer, rowsAt, step * BLOCK)
  const scales = new Float32Array(memory.buffer, rowsAt, step * BLOCK)
  const products = new Int32Array(memory.buffer, outAt, BLOCK)
  const scores = new Float32Array(BLOCK)
  return {
    rows: new Uint8Array(memory.buffer, rowsAt, width * BLOCK),
    width,
    scores(count) {
      dot(0, rowsAt, count, outAt, data.length)
      for (let n = 0; n < count; n++) scores[n] = products[n]! * scales[n * step + 1]! * scale
      return scores.subarray(0, count)
    },
    message: (n) => ids[n * step]!,
    scale: (n) => scales[n * step + 1]!,
  }
}
