/** Turns a query into a vector. */
import { type Embedder, type EmbedderPlace, openEmbedder } from "./embedder.ts"
import { toLengthOne } from "./quantise.ts"
import type { QueryVector } from "./search.ts"

/** Uses the embedder that made the archive's vectors. Loads the model, which takes 0.1 to 0.4 s. */
export async function queryVector(place: EmbedderPlace, text: string): Promise<QueryVector> {
  return vectorOf(await openEmbedder(place), text)
}

/** For a text longer than one piece, the mean of its pieces. */
export async function vectorOf(embedder: Embedder, text: string): Promise<QueryVector> {
  const values = new Float32Array(embedder.dimension)
  for (const piece of embedder.pieces(text)) {
    for (const [n, value] of (await embedder.embed(piece)).entries()) values[n]! += value
  }
  return { embedder: embedder.id, values: toLengthOne(values) }
}
