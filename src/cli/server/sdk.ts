/** The only file that imports the Model Context Protocol's SDK: serves our tools over a stream of lines. */

import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  Server,
  type Tool as ToolListing,
} from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { parseJson } from "../../base/json-files.ts"
import { linesIn } from "../../record/lines-with.ts"
import type { Answer } from "./tool.ts"

export interface Listing {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: object
  readonly annotations: Readonly<Record<string, boolean | string>>
  readonly _meta?: Readonly<Record<string, unknown>>
}

export interface CallResult extends Answer {
  readonly isError: boolean
}

export interface Service {
  readonly name: string
  readonly version: string
  /** What Claude Code tells the model about the server. */
  readonly instructions: string
  readonly tools: readonly Listing[]
  /** @param args as the peer sent them; undefined when it sent none */
  call(name: string, args: unknown): Promise<CallResult>
}

/** Error codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INVALID_PARAMS = -32602

/**
 * We never ask the user for input, so there are no answers to validate. Creating the SDK's own validator would slow
 * down the start.
 */
const NO_FORMS = {
  getValidator: () => () => ({ valid: false as const, data: undefined, errorMessage: "not supported" }),
}

/**
 * Answers until the peer has written its last line.
 *
 * @param write takes one line, including its line break
 */
export async function serve(
  service: Service,
  lines: AsyncIterable<PeerLine>,
  write: (line: string) => void,
): Promise<void> {
  const wire = new Wire(write)
  const running = new Set<Promise<unknown>>()
  const call: Service["call"] = (name, args) => {
    const one = service.call(name, args)
    running.add(one)
    return one.finally(() => running.delete(one))
  }
  const peer = serveStdio(() => serverOf({ ...service, call }), { transport: wire })
  for await (const line of lines) wire.take(line)
  // Handlers begin, and what they have finished is written, within a turn of the event loop.
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
  for (await turn(); running.size > 0; await turn()) await Promise.allSettled(running)
  await peer.close()
}

function serverOf(service: Service): Server {
  const server = new Server(
    { name: service.name, version: service.version },
    { capabilities: { tools: {} }, instructions: service.instructions, jsonSchemaValidator: NO_FORMS },
  )
  server.setRequestHandler("tools/list", () => ({ tools: [...service.tools] as ToolListing[] }))
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { text, isError } = await service.call(params.name, params.arguments)
    return { content: [{ type: "text", text }], isError }
  })
  return server
}

/** Replaces the SDK's transport, which silently drops what it cannot parse and stops at a line that is too long. */
class Wire {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #write: (line: string) => void

  constructor(write: (line: string) => void) {
    this.#write = write
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    this.#write(`${JSON.stringify(legible(message))}\n`)
  }

  async close(): Promise<void> {
    this.onclose?.()
  }

  take(line: PeerLine): void {
    if (typeof line !== "string") {
      const code = line.id === undefined ? PARSE_ERROR : INVALID_REQUEST
      this.#refuse(line.id ?? null, code, `a line of more than ${LONGEST_REQUEST} bytes`)
      return
    }
    if (line.trim() === "") return
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      this.#refuse(null, PARSE_ERROR, "not JSON")
      return
    }
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(value)
    } catch {
      this.#refuse(idOf(value), INVALID_REQUEST, "not a message of JSON-RPC 2.0")
      return
    }
    this.onmessage?.(message)
  }

  #refuse(id: string | number | null, code: number, message: string): void {
    this.#write(`${JSON.stringify({ jsonrpc: "2.0", id, error: { code, message } })}\n`)
  }
}

/** Shortens errors about invalid parameters: the SDK sends its validator's full output. */
function legible(message: JSONRPCMessage): JSONRPCMessage {
  if (!("error" in message) || message.error.code !== INVALID_PARAMS) return message
  const issues = parseJson(message.error.message.replace(/^[^[]*/, ""))
  if (!Array.isArray(issues)) return message
  const told = issues.map(({ path, message: problem }: Issue) => `${path.join(".")}: ${problem}`)
  return { ...message, error: { ...message.error, message: told.join("; ") } }
}

interface Issue {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** The id in a request that is invalid or that we refuse, so that its sender does not wait for an answer. */
function idOf(value: unknown): string | number | null {
  const id = typeof value === "object" && value !== null ? (value as { id?: unknown }).id : undefined
  return typeof id === "string" || typeof id === "number" ? id : null
}

/* Splits what a peer writes into lines. Whatever it writes, no more than one line is kept in memory. */

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
