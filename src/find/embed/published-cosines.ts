/** Checks that the installed model computes what its authors say it does. Pure. */
import { MINILM } from "./model-manifest.ts"

/** From the documentation of sentence-transformers, computed there with all-MiniLM-L6-v2 in 32-bit floats. */
export const SENTENCES = [
  "The weather is lovely today.",
  "It's so sunny outside!",
  "He drove to the stadium.",
] as const

const PAIRS = [
  { of: [0, 1], expected: 0.666 },
  { of: [0, 2], expected: 0.1046 },
  { of: [1, 2], expected: 0.1411 },
] as const

/** How far 8-bit weights may shift a cosine. Wrong tokens or wrong pooling shift it further. */
const TOLERANCE = 0.05

export interface Compared {
  readonly a: string
  readonly b: string
  readonly cosine: number
  /** Null when no value has been published for this model. */
  readonly expected: number | null
  readonly ok: boolean
}

/**
 * @param model id of the model
 * @param vectors of SENTENCES
 */
export function compareGolden(model: string, vectors: readonly Float32Array[]): Compared[] {
  return PAIRS.map(({ of: [a, b], expected }) => {
    const cosine = Math.round(dot(vectors[a]!, vectors[b]!) * 10_000) / 10_000
    const known = model === MINILM.id
    return {
      a: SENTENCES[a],
      b: SENTENCES[b],
      cosine,
      expected: known ? expected : null,
      ok: Number.isFinite(cosine) && (!known || Math.abs(cosine - expected) <= TOLERANCE),
    }
  })
}

/** For vectors of length 1, this is the cosine. */
export function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let n = 0; n < a.length; n++) sum += a[n]! * b[n]!
  return sum
}
