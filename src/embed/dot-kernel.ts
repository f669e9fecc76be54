/**
 * Multiplies one vector with many, sixteen numbers at a time, in WebAssembly (dot-kernel.wat): JavaScript alone takes
 * twenty times as long.
 */
import { readFileSync } from "node:fs"
import wasm from "../../dist/kernel/dot.wasm" with { type: "file" }
import { VECTOR_HEAD } from "../archive/vectors.ts"

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

/** @param query its length, a multiple of 16, is that of the vectors */
export function createKernel({ data, scale }: { data: Int16Array; scale: number }): Kernel {
  const width = VECTOR_HEAD + data.length
  const rowsAt = data.length * 2
  const outAt = rowsAt + width * BLOCK
  const memory = new WebAssembly.Memory({ initial: Math.ceil((outAt + BLOCK * 4) / PAGE) })
  const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(wasm)), { host: { memory } })
  const dot = instance.exports["dot"] as (...args: number[]) => void
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
