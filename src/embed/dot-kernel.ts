/**
 * Multiplies one vector with many, sixteen numbers at a time: a WebAssembly function of about 200 bytes, assembled here
 * because the build has no compiler for it. JavaScript alone takes twenty times as long.
 */

import { VECTOR_HEAD } from "../archive/vectors.ts"

/** Rows held at a time: 3 MB, so memory use does not depend on the number of vectors. */
export const BLOCK = 8192

const I32 = 0x7f
const V128 = 0x7b

/** WebAssembly's binary format writes numbers 7 bits at a time. */
function leb(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 128) return [...bytes, rest]
    bytes.push((rest & 127) | 128)
  }
}

const list = (items: readonly (readonly number[])[]): number[] => [...leb(items.length), ...items.flat()]
const section = (id: number, content: readonly number[]): number[] => [id, ...leb(content.length), ...content]
const text = (word: string): number[] => [...leb(word.length), ...Buffer.from(word)]

const simd = (code: number, ...rest: number[]): number[] => [0xfd, ...leb(code), ...rest]
const get = (local: number): number[] => [0x20, local]
const set = (local: number): number[] => [0x21, local]
const constant = (value: number): number[] => [0x41, ...leb(value)]
const ADD = [0x6a]
const SUBTRACT = [0x6b]
const IS_LESS = [0x49]
const IS_ZERO = [0x45]
const END = [0x0b]
const BLOCK_START = [0x02, 0x40]
const LOOP_START = [0x03, 0x40]
const branch = (depth: number): number[] => [0x0c, depth]
const branchIf = (depth: number): number[] => [0x0d, depth]
const STORE = [0x36, 2, 0]
/** Alignment 1, since rows follow each other directly. */
const load = (offset: number): number[] => simd(0x00, 0, offset)
const NOTHING = simd(0x0c, ...new Array<number>(16).fill(0))
const EXTEND_LOW = simd(0x87)
const EXTEND_HIGH = simd(0x88)
/** Eight products of 16-bit numbers, added in pairs. */
const DOT = simd(0xba)
const ADD_LANES = simd(0xae)
const lane = (n: number): number[] => simd(0x1b, n)

// Locals: five parameters, two pointers, three vectors. `query` has 16 bits per number, rows have 8.
const [QUERY, ROW, COUNT, OUT, WIDTH, AT, STOP, LOW, HIGH, BYTES] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const

const accumulate = (sum: number, extend: readonly number[], offset: number): number[] => [
  ...[...get(sum), ...get(BYTES), ...extend, ...get(AT), ...load(offset), ...DOT, ...ADD_LANES, ...set(sum)],
]

const CODE = [
  ...BLOCK_START,
  ...LOOP_START,
  ...[...get(COUNT), ...IS_ZERO, ...branchIf(1)],
  ...[...get(QUERY), ...set(AT)],
  ...[...get(ROW), ...constant(VECTOR_HEAD), ...ADD, ...set(ROW)],
  ...[...get(ROW), ...get(WIDTH), ...ADD, ...set(STOP)],
  ...[...NOTHING, ...set(LOW), ...NOTHING, ...set(HIGH)],
  ...LOOP_START,
  ...[...get(ROW), ...load(0), ...set(BYTES)],
  ...accumulate(LOW, EXTEND_LOW, 0),
  ...accumulate(HIGH, EXTEND_HIGH, 16),
  ...[...get(AT), ...constant(32), ...ADD, ...set(AT)],
  ...[...get(ROW), ...constant(16), ...ADD, ...set(ROW)],
  ...[...get(ROW), ...get(STOP), ...IS_LESS, ...branchIf(0)],
  ...END,
  ...[...get(LOW), ...get(HIGH), ...ADD_LANES, ...set(LOW)],
  ...[...get(OUT), ...get(LOW), ...lane(0), ...get(LOW), ...lane(1), ...ADD],
  ...[...get(LOW), ...lane(2), ...ADD, ...get(LOW), ...lane(3), ...ADD, ...STORE],
  ...[...get(OUT), ...constant(4), ...ADD, ...set(OUT)],
  ...[...get(COUNT), ...constant(1), ...SUBTRACT, ...set(COUNT)],
  ...branch(0),
  ...END,
  ...END,
  ...END,
]

const FUNCTION = [
  ...list([
    [2, I32],
    [3, V128],
  ]),
  ...CODE,
]
const MODULE = Uint8Array.from([
  ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  ...section(1, list([[0x60, ...list([[I32], [I32], [I32], [I32], [I32]]), ...list([])]])),
  ...section(2, list([[...text("host"), ...text("memory"), 2, 0, 1]])),
  ...section(3, list([[0]])),
  ...section(7, list([[...text("dot"), 0, 0]])),
  ...section(10, list([[...leb(FUNCTION.length), ...FUNCTION]])),
])

export interface Kernel {
  /** Where the caller puts up to BLOCK vectors, packed. */
  readonly rows: Uint8Array
  /** Bytes per vector. */
  readonly width: number
  /** Cosines of the query with the first `count` vectors; valid until the next call. */
  scores(count: number): Float32Array
  /** The message of the nth vector. */
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
  const instance = new WebAssembly.Instance(new WebAssembly.Module(MODULE), { host: { memory } })
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
