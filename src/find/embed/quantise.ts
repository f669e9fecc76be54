/** Stores vectors as signed bytes: a quarter of the size, and a processor multiplies sixteen at a time. Pure. */

interface Quantised<Data> {
  readonly data: Data
  /** The value that 1 stands for. */
  readonly scale: number
}

const MOST = 127
/**
 * The query is kept more precisely: there is only one, and the products still fit into 32 bits (32767 · 127 · 384 <
 * 2³¹).
 */
const MOST_IN_QUERY = 32_767

export const quantise = (vector: Float32Array): Quantised<Int8Array> =>
  quantised(vector, MOST, new Int8Array(vector.length))

export const quantiseQuery = (vector: Float32Array): Quantised<Int16Array> =>
  quantised(vector, MOST_IN_QUERY, new Int16Array(vector.length))

function quantised<Data extends Int8Array | Int16Array>(
  vector: Float32Array,
  most: number,
  data: Data,
): Quantised<Data> {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const scale = largest / most
  if (scale > 0) for (let n = 0; n < vector.length; n++) data[n] = Math.round(vector[n]! / scale)
  return { data, scale }
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
