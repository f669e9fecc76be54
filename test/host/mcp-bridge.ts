/**
 * The server behind HTTP, for a test suite that speaks nothing else: a process for each session that begins with
 * `initialize`, and one for each request that says itself which protocol it follows, as 2026-07-28 wants it.
 */
import { ENVELOPE } from "../support/mcp.ts"
import { binaryUnderTest } from "./world.ts"

interface Message {
  readonly id?: string | number | null
  readonly method?: string
  readonly params?: { readonly _meta?: Readonly<Record<string, unknown>> }
  readonly error?: { readonly code: number }
}

const VERSION = "io.modelcontextprotocol/protocolVersion"

const FIRST = { jsonrpc: "2.0", id: "first", method: "tools/list", params: { _meta: ENVELOPE } }

class ServerProcess {
  readonly #child
  readonly #waiting = new Map<unknown, (reply: Message) => void>()

  constructor(env: Readonly<Record<string, string>>, cwd: string) {
    this.#child = Bun.spawn([binaryUnderTest(), "mcp"], { env, cwd, stdin: "pipe", stdout: "pipe" })
    void this.#read()
  }

  async #read(): Promise<void> {
    let rest = ""
    const decoder = new TextDecoder()
    for await (const piece of this.#child.stdout) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n")
      rest = lines.pop()!
      for (const line of lines) {
        const reply = JSON.parse(line) as Message
        this.#waiting.get(reply.id)?.(reply)
        this.#waiting.delete(reply.id)
      }
    }
  }

  /** The reply; undefined for a notification, which gets none. */
  async ask(message: Message): Promise<Message | undefined> {
    const { promise, resolve } = Promise.withResolvers<Message>()
    if (message.id !== undefined) this.#waiting.set(message.id, resolve)
    this.#child.stdin.write(`${JSON.stringify(message)}\n`)
    this.#child.stdin.flush()
    return message.id === undefined ? undefined : promise
  }

  async end(): Promise<void> {
    this.#child.stdin.end()
    await this.#child.exited
  }
}

export class Bridge {
  readonly url: string
  readonly #http
  readonly #servers = new Map<string, ServerProcess>()

  constructor(env: Readonly<Record<string, string>>, cwd: string) {
    const start = (): ServerProcess => new ServerProcess(env, cwd)
    this.#http = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: async (request) => {
        if (request.method !== "POST") return new Response("", { status: 405 })
        const message = (await request.json()) as Message
        const isStateless = message.params?._meta?.[VERSION] !== undefined
        let id = request.headers.get("mcp-session-id") ?? undefined
        if (message.method === "initialize" && !isStateless) {
          id = crypto.randomUUID()
          this.#servers.set(id, start())
        }
        const known = this.#servers.get(id ?? "")
        const server = known ?? start()
        // A pipe has no header that names the protocol: it is the one that an earlier request has named.
        if (known === undefined && !isStateless) await server.ask(FIRST)
        const reply = await server.ask(message)
        if (known === undefined) await server.end()
        if (reply === undefined) return new Response("", { status: 202 })
        const headers = id === undefined ? {} : { "mcp-session-id": id }
        return Response.json(reply, { headers, status: id === undefined ? statusOf(reply) : 200 })
      },
    })
    this.url = `${this.#http.url.href}mcp`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#http.stop(true)
    await Promise.all([...this.#servers.values()].map((one) => one.end()))
  }
}

/** What the protocol has HTTP say of a reply. */
function statusOf({ error }: Message): number {
  if (error === undefined) return 200
  return error.code === -32601 ? 404 : 400
}
