/** Stores vectors as signed bytes: a quarter of the size, and a processor multiplies sixteen at a time. Pure. */

interface Quantised {
  readonly data: Int8Array
  /** The value that 1 stands for. */
  readonly scale: number
}

const MOST = 127
/**
 * The query is kept more precisely: there is only one, and the products still fit into 32 bits (32767 · 127 · 384 <
 * 2³¹).
 */
const MOST_IN_QUERY = 32_767

export function quantise(vector: Float32Array): Quantised {
  const scale = largest(vector) / MOST
  const data = new Int8Array(vector.length)
  if (scale > 0) for (let n = 0; n < vector.length; n++) data[n] = Math.round(vector[n]! / scale)
  return { data, scale }
}

export function quantiseQuery(vector: Float32Array): { data: Int16Array; scale: number } {
  const scale = largest(vector) / MOST_IN_QUERY
  const data = new Int16Array(vector.length)
  if (scale > 0) for (let n = 0; n < vector.length; n++) data[n] = Math.round(vector[n]! / scale)
  return { data, scale }
}

function largest(vector: Float32Array): number {
  let most = 0
  for (const value of vector) most = Math.max(most, Math.abs(value))
  return most
}

/** Works in place; a zero vector stays zero. */
export function toLengthOne(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  if (squares === 0) return vector
  const length = Math.sqrt(squares)
  for (let n = 0; n < vector.length; n++) vector[n]! /= length
  return vector
}
