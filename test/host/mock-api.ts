/**
 * A stand-in for the Messages API on the loopback interface, so that the real clients can be driven without a
 * network, an account or a model.
 *
 * The "model" follows plans: `plan("some words", [step, …])` says what to do when the last prompt contains these
 * words, one step per request. Which step is due is read off the request itself (how often the assistant has
 * spoken since the prompt), so a retried request gets the same answer and nothing depends on timing.
 */

import { misplacedThought, signed } from "./bound-thoughts.ts"

export interface Step {
  readonly text?: string
  readonly think?: string
  readonly tool?: { readonly name: string | readonly string[]; readonly input: Record<string, unknown> }
  /** Size of the context in tokens that the reply reports; an estimate from the request when absent. */
  readonly tokens?: number
}

export const say = (text: string, tokens?: number): Step =>
  tokens === undefined ? { text } : { text, tokens }
export const write = (path: string, content: string): Step => ({
  tool: { name: "Write", input: { file_path: path, content } },
})
export const read = (path: string): Step => ({ tool: { name: "Read", input: { file_path: path } } })
export const bash = (command: string, tokens?: number): Step => ({
  tool: { name: "Bash", input: { command, description: "Run a command" } },
  ...(tokens === undefined ? {} : { tokens }),
})
/** The tool was renamed between versions: whichever the client offers is called. */
export const delegate = (prompt: string): Step => ({
  tool: {
    name: ["Agent", "Task"],
    input: { description: "Look around", prompt, subagent_type: "general-purpose" },
  },
})

export type Kind = "main" | "compact" | "aux" | "other"

export interface Block {
  readonly type: string
  readonly text?: string
  readonly [key: string]: unknown
}
export interface Message {
  readonly role: string
  readonly content: string | readonly Block[]
}
export interface Body {
  readonly model?: string
  readonly stream?: boolean
  readonly max_tokens?: number
  readonly system?: unknown
  readonly tools?: readonly { readonly name: string }[]
  readonly thinking?: { readonly type: string }
  readonly messages?: readonly Message[]
}

export interface Recorded {
  readonly n: number
  readonly at: number
  readonly kind: Kind
  readonly path: string
  /** The plan that answered, if one matched. */
  readonly plan: string | undefined
  /** The beta features that it asks for. */
  readonly betas: readonly string[]
  readonly body: Body
  /** Every text the model would see in the conversation, in order; without the system prompt and tools. */
  readonly text: string
  /** Why it was refused. */
  readonly refused?: string
}

export interface Mock {
  readonly url: string
  readonly requests: readonly Recorded[]
  plan(words: string, steps: readonly Step[]): void
  stop(): void
}

/** Of the mock's thoughts, unless it is strict. */
export const SIGNATURE = "c2lnbmF0dXJl"

/** The words with which every version asks for a summary. */
const SUMMARY_REQUEST = /your task is to create a (?:detailed |structured )?[^.]{0,80}summary of/i

/** In the system prompt of `ctxbridge summarize`. */
const OUR_REQUEST = "You write notes about coding sessions"

/** What Claude Code or a hook has put around a prompt: never the prompt itself. */
const WRAPPED = /<(system-reminder|local-command-[a-z]+|command-[a-z]+)>[\s\S]*?<\/\1>/g

/** The summary the mock gives: it holds no path and no command, as real ones mostly do not. */
export const SUMMARY = "1. Primary Request and Intent:\n   The user is having a parser written and tested."

function blocks(message: Message): readonly Block[] {
  return typeof message.content === "string" ? [{ type: "text", text: message.content }] : message.content
}

/** Text of a block, tool results included: hook context may be appended inside one. */
function blockText(block: Block): string {
  if (block.type === "text") return block.text ?? ""
  if (block.type !== "tool_result") return ""
  const content = block["content"] as string | readonly Block[] | undefined
  return typeof content === "string" ? content : (content ?? []).map(blockText).join("\n")
}

export function conversationText(body: Body): string {
  return (body.messages ?? [])
    .filter((message) => message.role !== "assistant")
    .flatMap((message) => blocks(message).map(blockText))
    .join("\n")
}

function promptText(message: Message): string {
  return blocks(message)
    .map((block) => (block.type === "text" ? (block.text ?? "") : ""))
    .join("\n")
    .replace(WRAPPED, "")
    .trim()
}

function kindOf(body: Body): Kind {
  const last = body.messages?.findLast((message) => message.role === "user")
  if (last === undefined) return "other"
  if (SUMMARY_REQUEST.test(promptText(last))) return "compact"
  if (JSON.stringify(body.system ?? "").includes(OUR_REQUEST)) return "main"
  return body.max_tokens === 1 || !body.tools?.length ? "aux" : "main"
}

interface Reply {
  readonly content: readonly Record<string, unknown>[]
  readonly stop: "end_turn" | "tool_use"
  readonly tokens: number | undefined
}

const ANSWER_TOKENS = 20

const promptTokens = ({ messages = [] }: Body): number => Math.ceil(JSON.stringify(messages).length / 4)

/** What the API says of a request and its answer, for a step that says nothing else. */
export const countedTokens = (body: Body): number => promptTokens(body) + ANSWER_TOKENS

interface Manner {
  /** Refuses a thought that is sent after something else than what led to it (./bound-thoughts.ts). */
  readonly strict?: boolean
  /** Why a conversation is refused; undefined if it is not. */
  readonly refuses?: (messages: readonly Message[]) => string | undefined
}

export function startMock({
  strict = false,
  refuses = strict ? misplacedThought : () => undefined,
}: Manner = {}): Mock {
  const plans = new Map<string, readonly Step[]>()
  const requests: Recorded[] = []

  /** The plan of the last prompt and the number of its steps already done. */
  function locate(body: Body): { words: string | undefined; done: number } {
    const messages = body.messages ?? []
    for (let i = messages.length - 1; i >= 0; i--) {
      const message = messages[i]!
      if (message.role !== "user") continue
      const text = promptText(message)
      const words = [...plans.keys()]
        .filter((key) => text.includes(key))
        .sort((a, b) => b.length - a.length)[0]
      if (words !== undefined) {
        return { words, done: messages.slice(i + 1).filter((m) => m.role === "assistant").length }
      }
      const isToolResult = blocks(message).some((block) => block.type === "tool_result")
      if (text !== "" && !isToolResult) break
    }
    return { words: undefined, done: 0 }
  }

  function answer(n: number, body: Body, kind: Kind, words: string | undefined, done: number): Reply {
    const speak = (text: string, tokens?: number): Reply => ({
      content: [{ type: "text", text }],
      stop: "end_turn",
      tokens,
    })
    if (kind === "compact") {
      return speak(`<analysis>\nThinking it over.\n</analysis>\n\n<summary>\n${SUMMARY}\n</summary>`)
    }
    if (kind === "aux") return speak('{"isNewTopic": false, "title": "Parser work"}')
    const step = words === undefined ? undefined : plans.get(words)?.[done]
    if (step === undefined) return speak(`Acknowledged, request ${n}.`)
    const content: Record<string, unknown>[] = []
    // A block the client did not ask for would be an invalid response.
    if (step.think !== undefined && body.thinking !== undefined && body.thinking.type !== "disabled") {
      content.push({
        type: "thinking",
        thinking: step.think,
        signature: strict ? signed(body.messages ?? []) : SIGNATURE,
      })
    }
    if (step.tool === undefined) {
      return {
        content: [...content, { type: "text", text: step.text ?? "Done." }],
        stop: "end_turn",
        tokens: step.tokens,
      }
    }
    const offered = (body.tools ?? []).map((tool) => tool.name)
    const names = typeof step.tool.name === "string" ? [step.tool.name] : step.tool.name
    const name = names.find((candidate) => offered.includes(candidate)) ?? names[0]!
    content.push({ type: "text", text: step.text ?? `Calling ${name}.` })
    content.push({
      type: "tool_use",
      id: `toolu_${String(n).padStart(20, "0")}`,
      name,
      input: step.tool.input,
    })
    return { content, stop: "tool_use", tokens: step.tokens }
  }

  function message(n: number, body: Body, reply: Reply) {
    const total = reply.tokens ?? promptTokens(body)
    return {
      id: `msg_${String(n).padStart(20, "0")}`,
      type: "message",
      role: "assistant",
      model: body.model,
      content: reply.content,
      stop_reason: reply.stop,
      stop_sequence: null,
      usage: {
        input_tokens: Math.min(total, 500),
        cache_read_input_tokens: Math.max(0, total - 500),
        cache_creation_input_tokens: 0,
        output_tokens: ANSWER_TOKENS,
        service_tier: "standard",
      },
    }
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url)
      const raw = await request.text()
      if (request.method !== "POST" || !pathname.startsWith("/v1/messages")) {
        // Reachability probes want any answer; everything else is not part of the play.
        return request.method === "HEAD" || pathname === "/" ? new Response("") : notFound()
      }
      const body = JSON.parse(raw) as Body
      if (pathname.endsWith("/count_tokens"))
        return Response.json({ input_tokens: Math.ceil(raw.length / 4) })
      const n = requests.length
      const kind = kindOf(body)
      const { words, done } = kind === "main" ? locate(body) : { words: undefined, done: 0 }
      const refused = refuses(body.messages ?? [])
      requests.push({
        n,
        at: Date.now(),
        kind,
        path: pathname,
        plan: words,
        betas: (request.headers.get("anthropic-beta") ?? "").split(",").filter((one) => one !== ""),
        body,
        text: conversationText(body),
        ...(refused !== undefined && { refused }),
      })
      if (refused !== undefined) return badRequest(refused)
      const reply = message(n, body, answer(n, body, kind, words, done))
      return body.stream ? eventStream(reply) : Response.json(reply)
    },
  })

  return {
    url: `http://127.0.0.1:${server.port}`,
    requests,
    plan: (words, steps) => void plans.set(words, steps),
    stop: () => void server.stop(true),
  }
}

function notFound(): Response {
  return Response.json(
    { type: "error", error: { type: "not_found_error", message: "not in the mock" } },
    { status: 404 },
  )
}

function badRequest(message: string): Response {
  const error = { type: "invalid_request_error", message }
  return Response.json({ type: "error", error }, { status: 400 })
}

type WireMessage = {
  readonly content: readonly Record<string, unknown>[]
  readonly usage: Record<string, unknown>
  readonly stop_reason: string
}

function eventStream<T extends WireMessage>(message: T): Response {
  const { content, usage, stop_reason, ...head } = message
  const lines: string[] = []
  const emit = (type: string, fields: object) =>
    lines.push(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`)
  emit("message_start", {
    message: { ...head, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
  })
  content.forEach((block, index) => {
    const { empty, deltas } = opened(block)
    emit("content_block_start", { index, content_block: empty })
    for (const delta of deltas) emit("content_block_delta", { index, delta })
    emit("content_block_stop", { index })
  })
  emit("message_delta", { delta: { stop_reason, stop_sequence: null }, usage })
  emit("message_stop", {})
  return new Response(lines.join(""), {
    headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
  })
}

/** A block as it starts on the wire, and the deltas that fill it. */
function opened(block: Record<string, unknown>): { empty: object; deltas: object[] } {
  switch (block["type"]) {
    case "thinking":
      return {
        empty: { type: "thinking", thinking: "", signature: "" },
        deltas: [
          { type: "thinking_delta", thinking: block["thinking"] },
          { type: "signature_delta", signature: block["signature"] },
        ],
      }
    case "tool_use":
      return {
        empty: { ...block, input: {} },
        deltas: [{ type: "input_json_delta", partial_json: JSON.stringify(block["input"]) }],
      }
    default:
      return { empty: { type: "text", text: "" }, deltas: [{ type: "text_delta", text: block["text"] }] }
  }
}
