/** The server as Claude Code runs it: the compiled binary, connected through its pipes. */
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { binary, type RunOptions, run } from "./binary.ts"

export interface Called {
  readonly text: string
  readonly isError: boolean
}

/** A session with the SDK's own client. */
export class Peer {
  readonly client: Client
  readonly transport: StdioClientTransport

  private constructor(client: Client, transport: StdioClientTransport) {
    this.client = client
    this.transport = transport
  }

  /**
   * @param mode `auto`: asks for the newest protocol, as newer versions of Claude Code do; default: begins with
   * `initialize`
   */
  static async connect(
    cwd: string,
    env: Record<string, string>,
    mode: "legacy" | "auto" = "legacy",
  ): Promise<Peer> {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } })
    const transport = new StdioClientTransport({
      command: binary(),
      args: ["mcp"],
      cwd,
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stderr: "pipe",
    })
    await client.connect(transport)
    return new Peer(client, transport)
  }

  async call(name: string, args: Record<string, unknown> = {}): Promise<Called> {
    const result = await this.client.callTool({ name, arguments: args })
    const [block] = result["content"] as { type: string; text: string }[]
    return {
      text: block!.text,
      isError: result["isError"] === true,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close()
  }
}

interface ToldHit {
  readonly handle: string
  /** Where in its turn the match is. */
  readonly line: number | undefined
  /** Time, speaker and the like. */
  readonly about: string
  /** What is quoted of it. */
  readonly texts: readonly string[]
}

/** The hits in what `search` answers. */
export function hitsIn(text: string): ToldHit[] {
  const hits: { handle: string; line: number | undefined; about: string; texts: string[] }[] = []
  for (const row of text.split("\n")) {
    const [, handle, line, rest] = /^(ctx:[0-9a-z]+)(?:@(\d+))? (.*)$/.exec(row) ?? []
    const texts = (row.match(/"(?:[^"\\]|\\.)*"/g) ?? []).map((one) => JSON.parse(one) as string)
    if (handle !== undefined)
      hits.push({ handle, line: line ? Number(line) : undefined, about: rest!, texts })
    else if (row.startsWith("  ")) hits.at(-1)?.texts.push(...texts)
  }
  return hits
}

/** The reply to one of several requests: the server answers each as soon as it can, in any order. */
export const replyTo = (replies: readonly Reply[], id: number): Reply =>
  replies.find((reply) => reply.id === id)!

export const textOf = ({ result }: Reply): string => (result!["content"] as { text: string }[])[0]!.text

export interface Reply {
  readonly jsonrpc: string
  readonly id: string | number | null
  readonly result?: Record<string, unknown>
  readonly error?: { readonly code: number; readonly message: string }
}

/** Writes all lines at once, closes stdin, and reads the replies until the server ends. */
export async function exchange(lines: readonly string[], options: RunOptions) {
  const ran = await run(["mcp"], { ...options, stdin: lines.map((line) => `${line}\n`).join("") })
  const replies = ran.stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Reply)
  return { ...ran, replies }
}

export const request = (id: number | string, method: string, params?: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) })

export const callOf = (id: number | string, name: string, args?: unknown): string =>
  request(id, "tools/call", { name, ...(args === undefined ? {} : { arguments: args }) })

/** What a client of protocol 2026-07-28 sends along with every request, instead of `initialize`. */
export const ENVELOPE = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
}

export const initialize = (id = 0): string =>
  request(id, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  })
