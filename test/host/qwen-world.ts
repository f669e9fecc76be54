/** A place of its own for the real Qwen Code: home, project, archive, and its model on the loopback. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fromNpm } from "./from-npm.ts"
import { createPlaces, installIn, toItsEnd } from "./world.ts"

const PACKAGE = "@qwen-code/qwen-code"
/** It needs Node 22. */
const NODE = `node-${process.platform}-${process.arch}`

export interface QwenClient {
  readonly version: string
  readonly node: string
  readonly script: string
}

/** For a suite that is there whether it can run or not. */
export async function qwenFor(
  version: string,
): Promise<{ readonly client: QwenClient; readonly missing: string | undefined }> {
  const found = await fromNpm(`${PACKAGE}@${version}`, `qwen-${version}`)
  const node = "missing" in found ? found : await fromNpm(`${NODE}@22.23.5`, `${NODE}-22`)
  const missing = "missing" in found ? found.missing : "missing" in node ? node.missing : undefined
  if (missing !== undefined) console.warn(`skipped: Qwen Code ${version}: ${missing}`)
  const client = {
    version,
    node: "missing" in node ? "" : join(node.modules, NODE, "bin", "node"),
    script: "missing" in found ? "" : join(found.modules, PACKAGE, "cli.js"),
  }
  return { client, missing }
}

interface ChatMessage {
  readonly role: string
  readonly content: unknown
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly unknown[]
}

export interface ChatReply {
  readonly text?: string
  readonly call?: { readonly name: string; readonly input: object }
  /** Of the prompt. */
  readonly tokens?: number
}

const SOME_TIME = 700
/** Tokens at which Qwen Code compacts. */
export const QWEN_FULL = 190_000
export const QWEN_SUMMARY = "The embers glow."

export const saidIn = ({ messages }: ChatRequest): string =>
  messages
    .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content ?? "")))
    .join("\n")

export const asksForSummary = ({ tools = [] }: ChatRequest): boolean => tools.length === 0

interface QwenWorld {
  readonly root: string
  readonly home: string
  readonly cwd: string
  readonly store: string
  /** The copy of our binary that the hooks call; a test may delete it. */
  readonly binary: string
  readonly env: Record<string, string>
  readonly requests: readonly ChatRequest[]
  readonly run: (...args: string[]) => Promise<{ code: number; stdout: string; stderr: string }>
  readonly transcripts: () => string[]
  dispose(): void
}

export function createQwenWorld(client: QwenClient, answer: (request: ChatRequest) => ChatReply): QwenWorld {
  const places = createPlaces("qwen", [dirname(client.node)])
  const { root, home, cwd, store, binary } = places
  const requests: ChatRequest[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.method !== "POST") return Response.json({})
      const body = (await request.json()) as ChatRequest
      requests.push(body)
      // No model is as fast as not to leave the transcript time to say what was before.
      await Bun.sleep(SOME_TIME)
      const summary = { text: `<state_snapshot>${QWEN_SUMMARY}</state_snapshot>`, tokens: QWEN_FULL + 400 }
      return new Response(eventsOf(asksForSummary(body) ? summary : answer(body), requests.length), {
        headers: { "content-type": "text/event-stream" },
      })
    },
  })
  const env = {
    ...places.env,
    OPENAI_API_KEY: "no-key-of-anyone",
    OPENAI_BASE_URL: `http://127.0.0.1:${server.port}/v1`,
    OPENAI_MODEL: "m1",
    QWEN_CODE_NO_RELAUNCH: "1",
  }
  const run = async (...args: string[]) => {
    return await toItsEnd([client.node, client.script, "--approval-mode", "yolo", ...args], { env, cwd })
  }
  const transcripts = (): string[] =>
    readdirSync(join(home, ".qwen/projects"), { recursive: true, encoding: "utf8" })
      .filter((name) => /\/(?:chats|subagents\/[^/]+)\/[^/]+\.jsonl$/.test(name))
      .map((name) => join(home, ".qwen/projects", name))
  const dispose = (): void => {
    void server.stop(true)
    places.dispose()
  }
  return { root, home, cwd, store, binary, env, requests, run, transcripts, dispose }
}

/** Registers as a user would. */
export const installInQwen = (world: QwenWorld): void => installIn(world, "qwen")

function eventsOf({ text, call, tokens = 2000 }: ChatReply, n: number): string {
  const event = (delta: object, finish: string | null, more: object = {}): string => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { id: `c${n}`, object: "chat.completion.chunk", created: 1, model: "m1", choices, ...more }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
  const calls = call && [
    {
      index: 0,
      id: `call_${n}`,
      type: "function",
      function: { name: call.name, arguments: JSON.stringify(call.input) },
    },
  ]
  const said = {
    role: "assistant",
    ...(text !== undefined && { content: text }),
    ...(calls && { tool_calls: calls }),
  }
  const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 }
  return `${event(said, null)}${event({}, calls ? "tool_calls" : "stop", { usage })}data: [DONE]\n\n`
}

/** Lines of a transcript. */
export const linesOf = (path: string): Record<string, unknown>[] =>
  readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
