/**
 * Reads what Claude Code writes to stdin, however it does so.
 *
 * Uses poll(2) and read(2), because Bun's stream costs 0.8 ms more and its pending read would keep the process alive.
 */
import { codeOf } from "../base/errors.ts"
import { readSync } from "../base/fs.ts"
import { parseJson } from "../base/json-files.ts"
import { readable } from "../base/libc.ts"

const STDIN = 0
/** ms of silence after which a document that ends in `}` is considered complete. */
const IDLE = 15
const CLOSING_BRACE = 0x7d
const BLOCK = 64 << 10
/** Claude Code sends no payload larger than this. */
const LARGEST = 64 << 20

/**
 * The JSON document on stdin. Reading stops at its end, when it is complete and nothing more comes (some versions of
 * Claude Code never close the pipe), or at the deadline.
 *
 * @param deadline ms of performance.now()
 * @returns undefined if there was no valid document in time
 */
export function readDocument(deadline: number): unknown {
  const { chunks, document } = read(deadline)
  return document ?? parse(chunks)
}

/** The same as raw bytes, for callers that pass them on. */
export const readInput = (deadline: number): Uint8Array => Buffer.concat(read(deadline).chunks)

interface Input {
  readonly chunks: readonly Uint8Array[]
  /** Set if it was recognised before the end of stdin. */
  readonly document?: unknown
}

function read(deadline: number): Input {
  const chunks: Uint8Array[] = []
  let size = 0
  let last = 0
  for (;;) {
    const left = deadline - performance.now()
    if (last === CLOSING_BRACE && !readable(STDIN, Math.min(IDLE, left))) {
      const document = parse(chunks)
      if (document !== undefined) return { chunks, document }
    }
    const chunk = readable(STDIN, left) ? readBlock() : undefined
    if (chunk === "later" && left > 0) continue
    if (chunk === "later" || chunk === undefined || chunk.length === 0) return { chunks }
    chunks.push(chunk)
    size += chunk.length
    if (size > LARGEST) return { chunks: [] }
    last = lastInk(chunk) ?? last
  }
}

/** The next bytes: empty at the end, `later` if another reader was faster, undefined if they cannot be read. */
function readBlock(): Uint8Array | "later" | undefined {
  // Not zeroed: pages that nothing is read into are never touched.
  const block = Buffer.allocUnsafeSlow(BLOCK)
  try {
    return block.subarray(0, readSync(STDIN, block))
  } catch (error) {
    if (codeOf(error) === "EAGAIN") return "later"
    return undefined
  }
}

function lastInk(bytes: Uint8Array): number | undefined {
  for (let n = bytes.length - 1; n >= 0; n--) if (bytes[n]! > 0x20) return bytes[n]
  return undefined
}

const parse = (chunks: readonly Uint8Array[]): unknown => parseJson(Buffer.concat(chunks).toString("utf8"))
