/** A place of its own for the real Gemini CLI: home, project, archive, and its model on the loopback. */
import { mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fromNpm } from "./from-npm.ts"
import { createPlaces, toItsEnd } from "./world.ts"

const PACKAGE = "@google/gemini-cli"

export interface GeminiClient {
  readonly node: string
  readonly script: string
}

/** For a suite that is there whether it can run or not. */
export async function geminiFor(
  version: string,
): Promise<{ readonly client: GeminiClient; readonly missing: string | undefined }> {
  const found = await fromNpm(`${PACKAGE}@${version}`, `gemini-${version}`)
  const node = Bun.which("node")
  const missing = "missing" in found ? found.missing : node === null ? "there is no Node" : undefined
  if (missing !== undefined) console.warn(`skipped: Gemini CLI ${version}: ${missing}`)
  const script = "missing" in found ? "" : join(found.modules, PACKAGE, "bundle", "gemini.js")
  return { client: { node: node ?? "", script }, missing }
}

export interface GeminiRequest {
  readonly contents: readonly { readonly parts: readonly object[] }[]
  readonly tools?: readonly { readonly functionDeclarations?: readonly { readonly name: string }[] }[]
  readonly generationConfig?: { readonly responseMimeType?: string }
}

export interface GeminiReply {
  readonly text?: string
  /** Of its shell. */
  readonly command?: string
  /** Of another tool. */
  readonly call?: { readonly name: string; readonly args: object }
  /** Of the prompt. */
  readonly tokens?: number
}

/** Tokens at which Gemini CLI compacts. */
export const GEMINI_FULL = 900_000
export const GEMINI_SUMMARY = "The embers glow."

/** No model is as fast as not to leave the transcript time to say what was before. */
const SOME_TIME = 300

export const saidTo = ({ contents }: GeminiRequest): string =>
  contents.flatMap(({ parts }) => parts.map((part) => JSON.stringify(part))).join("\n")

const lastOf = ({ contents }: GeminiRequest): string => JSON.stringify(contents.at(-1))

/** What it asks of a model besides the conversation: for a summary, and which model is to answer. */
export const isAside = (request: GeminiRequest): boolean =>
  request.generationConfig?.responseMimeType === "application/json" || asksForSummary(request)

const asksForSummary = (request: GeminiRequest): boolean =>
  /Generate a new <state_snapshot>|Critically evaluate the <state_snapshot>/.test(lastOf(request))

export function createGeminiWorld(client: GeminiClient, answer: (request: GeminiRequest) => GeminiReply) {
  const places = createPlaces("gemini", [dirname(client.node)])
  const requests: GeminiRequest[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.method !== "POST") return Response.json({})
      if (request.url.includes("countTokens")) return Response.json({ totalTokens: 500 })
      const body = (await request.json()) as GeminiRequest
      requests.push(body)
      await Bun.sleep(SOME_TIME)
      const made = madeOf(replyTo(body, answer), requests.length)
      return request.url.includes("stream")
        ? new Response(`data: ${JSON.stringify(made)}\r\n\r\n`, {
            headers: { "content-type": "text/event-stream" },
          })
        : Response.json(made)
    },
  })
  const folder = join(places.home, ".gemini")
  const settings = join(folder, "settings.json")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(settings, '{\n  "security": { "auth": { "selectedType": "gemini-api-key" } }\n}\n', {
    mode: 0o600,
  })
  const env = {
    ...places.env,
    GEMINI_API_KEY: "no-key-of-anyone",
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${server.port}`,
    GEMINI_TELEMETRY_ENABLED: "false",
    GEMINI_CLI_NO_RELAUNCH: "1",
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  }
  const run = (...args: string[]) =>
    toItsEnd([client.node, client.script, "--approval-mode", "yolo", ...args], { env, cwd: places.cwd })
  const transcripts = (): string[] =>
    readdirSync(join(folder, "tmp"), { recursive: true, encoding: "utf8" })
      .filter((name) => /\/chats\/session-[^/]+\.jsonl$/.test(name))
      .map((name) => join(folder, "tmp", name))
      .sort()
  const dispose = (): void => {
    void server.stop(true)
    places.dispose()
  }
  return { ...places, env, settings, requests, run, transcripts, dispose }
}

function replyTo(request: GeminiRequest, answer: (request: GeminiRequest) => GeminiReply): GeminiReply {
  if (asksForSummary(request)) return { text: `<state_snapshot>${GEMINI_SUMMARY}</state_snapshot>` }
  return isAside(request) ? { text: '{"reasoning":"x","model_choice":"flash"}' } : answer(request)
}

function madeOf({ text, command, call, tokens = 1500 }: GeminiReply, n: number) {
  const shell = { name: "run_shell_command", args: { command, description: "work" } }
  const called = command === undefined ? call : shell
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...(called === undefined ? [] : [{ functionCall: called }]),
  ]
  return {
    candidates: [{ content: { role: "model", parts }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: tokens, candidatesTokenCount: 20, totalTokenCount: tokens + 20 },
    modelVersion: "gemini-2.5-pro",
    responseId: `r${n}`,
  }
}
