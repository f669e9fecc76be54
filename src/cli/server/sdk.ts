/** The only file that imports the Model Context Protocol's SDK: serves our tools over a stream of lines. */
import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  Server,
  type Tool as ToolListing,
} from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { parseJson } from "../../base/json-files.ts"
import { LONGEST_REQUEST, type PeerLine } from "./peer-lines.ts"
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
  /** What the host tells the model about the server. */
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
