/** One vector for a whole turn, made from those of its messages, for copies of the turn elsewhere. */
import type { Database } from "./database.ts"
import { HANDLE_PREFIX } from "./handle-prefix.ts"
import { isScale, isWholeRow, type TurnVectors, unpackVectors } from "./vectors.ts"

/** Handles of the turns with up-to-date vectors of an embedder. */
export const embeddedHandles = (db: Database, embedder: string): string[] =>
  db
    .query<{ handle: string }, [string]>(
      `SELECT t.handle FROM vectors v JOIN turns t ON t.id = v.turn AND t.last = v.last
       WHERE v.embedder = ? AND length(v.vectors) > 0`,
    )
    .all(embedder)
    .map(({ handle }) => HANDLE_PREFIX + handle)

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
