/** Splits what a peer writes into lines. Whatever it writes, no more than one line is kept in memory. */
import { linesIn } from "../../base/byte-lines.ts"
import { parseJson } from "../../base/json-files.ts"

/** Maximum length of a line, in bytes; a request to us takes a few thousand. */
export const LONGEST_REQUEST = 1 << 20

/** A line without its line break. Of one that was too long only the request's id is kept, if it has one. */
export type PeerLine = string | { readonly id: RequestId | undefined }

/** @yields every terminated line, and a last one without a line break */
export async function* peerLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<PeerLine> {
  let pieces: Uint8Array[] = []
  let length = 0
  let finder: IdFinder | undefined
  const add = (piece: Uint8Array): void => {
    length += piece.length
    pieces.push(piece)
    if (length <= LONGEST_REQUEST) return
    finder ??= new IdFinder()
    for (const one of pieces) finder.read(one)
    pieces = []
  }
  const take = (): PeerLine => {
    const line = finder ? { id: finder.id } : Buffer.concat(pieces).toString("utf8").replace(/\r$/, "")
    pieces = []
    length = 0
    finder = undefined
    return line
  }
  for await (const chunk of chunks) {
    for (const [from, to] of linesIn(chunk)) {
      const isWhole = to < chunk.length
      add(isWhole ? chunk.subarray(from, to) : chunk.slice(from))
      if (isWhole) yield take()
    }
  }
  if (length > 0) yield take()
}

type RequestId = string | number

const QUOTE = 0x22
const ESCAPE = 0x5c
const [COLON, COMMA] = [0x3a, 0x2c]
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/** Bytes of a key or of an id; a longer one is none. */
const LONGEST = 256

/**
 * Finds the id of a request that is too long to be kept: the value of the key `id` of the outermost object, wherever it
 * stands. Reads each byte once and keeps only the key or value that it is in.
 */
export class IdFinder {
  #id: RequestId | undefined
  #depth = 0
  #isString = false
  #isEscaped = false
  #isValue = false
  /** Whether the key that was read last is the one. */
  #isWanted = false
  /** The key or value of the outermost object that is being read. */
  #bytes: number[] = []

  get id(): RequestId | undefined {
    return this.#id
  }

  read(bytes: Uint8Array): void {
    for (let n = 0; n < bytes.length; n++) this.#take(bytes[n]!)
  }

  #take(byte: number): void {
    if (this.#isString) {
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === ESCAPE) this.#isEscaped = true
      else if (byte === QUOTE) this.#isString = false
      this.#keep(byte)
    } else if (byte === QUOTE) {
      this.#isString = true
      this.#keep(byte)
    } else if (OPENING.has(byte)) {
      this.#depth++
      if (this.#depth > 1) this.#keep(byte)
    } else if (CLOSING.has(byte)) {
      if (this.#depth === 1) this.#end()
      this.#depth--
    } else if (this.#depth === 1 && byte === COLON) {
      this.#isWanted = this.#told() === "id"
      this.#isValue = true
    } else if (this.#depth === 1 && byte === COMMA) this.#end()
    else this.#keep(byte)
  }

  #keep(byte: number): void {
    if (this.#bytes.length <= LONGEST && this.#depth >= 1) this.#bytes.push(byte)
  }

  #end(): void {
    const value = this.#told()
    if (this.#isValue && this.#isWanted && (typeof value === "string" || typeof value === "number"))
      this.#id = value
    this.#isValue = false
    this.#isWanted = false
  }

  #told(): unknown {
    const text = this.#bytes.length > LONGEST ? "" : Buffer.from(this.#bytes).toString("utf8")
    this.#bytes = []
    return parseJson(text)
  }
}
