/**
 * Finds the id of a request that is too long to be kept: the value of the key `id` of the outermost object, wherever it
 * stands. Reads each byte once and keeps only the key or value that it is in. Pure.
 */
import { parseJson } from "../util/json-files.ts"

export type RequestId = string | number

const QUOTE = 0x22
const ESCAPE = 0x5c
const [COLON, COMMA] = [0x3a, 0x2c]
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/** Bytes of a key or of an id; a longer one is none. */
const LONGEST = 256

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
