/**
 * A stand-in for a model on the loopback interface, as GitHub's Copilot CLI asks one of another provider: the API of
 * chat completions. What it says is decided by a function of the request alone, so that a repeated request gets the same
 * answer and nothing depends on timing.
 */

export interface ChatMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: readonly unknown[]
}

export interface ChatRequest {
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
}

export interface ChatReply {
  readonly text?: string
  readonly think?: string
  readonly calls?: readonly { readonly name: string; readonly input: unknown }[]
  /** Size of the context that the reply reports. */
  readonly tokens?: number
  /** ms that it takes: Copilot's transcript is about a second late. */
  readonly takes?: number
}

export interface ChatModel {
  readonly url: string
  readonly requests: readonly ChatRequest[]
  stop(): void
}

export const SUMMARY = "The parser is being written."

/** In the parts that Copilot asks for. */
const SUMMARY_PARTS = [
  "overview",
  "history",
  "work_done",
  "technical_details",
  "important_files",
  "next_steps",
]
const wholeSummary = [
  ...SUMMARY_PARTS.map((part) => `<${part}>${part === "overview" ? SUMMARY : "-"}</${part}>`),
  "<checkpoint_title>parser</checkpoint_title>",
].join("\n")

/** Of each prompt's tokens. */
const CACHED = 500

export const textOf = (message: ChatMessage | undefined): string =>
  typeof message?.content === "string" ? message.content : JSON.stringify(message?.content ?? "")

/** Whether it asks for a summary of the conversation. */
export const asksForSummary = ({ messages }: ChatRequest): boolean =>
  textOf(messages.at(-1)).startsWith("Please create a detailed summary of the conversation")

export function startChatModel(answer: (request: ChatRequest) => ChatReply): ChatModel {
  const requests: ChatRequest[] = []
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      if (request.method !== "POST") return Response.json({})
      const body = (await request.json()) as ChatRequest
      requests.push(body)
      const reply: ChatReply = asksForSummary(body) ? { text: wholeSummary } : answer(body)
      if (reply.takes !== undefined) await Bun.sleep(reply.takes)
      return new Response(eventsOf(reply, requests.length), {
        headers: { "content-type": "text/event-stream" },
      })
    },
  })
  return { url: `http://127.0.0.1:${server.port}/v1`, requests, stop: () => void server.stop(true) }
}

function eventsOf({ text, think, calls = [], tokens = 2000 }: ChatReply, n: number): string {
  const event = (delta: object, finish: string | null, more: object = {}): string => {
    const choices = [{ index: 0, delta, finish_reason: finish }]
    const chunk = { id: `c${n}`, object: "chat.completion.chunk", created: 1, model: "m1", choices, ...more }
    return `data: ${JSON.stringify(chunk)}\n\n`
  }
  const usage = {
    prompt_tokens: tokens,
    prompt_tokens_details: { cached_tokens: CACHED },
    completion_tokens: 20,
    total_tokens: tokens + 20,
  }
  const tools = calls.map(({ name, input }, index) => ({
    index,
    id: `call_${n}_${index}`,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }))
  const said = {
    role: "assistant",
    content: text ?? null,
    ...(think && { reasoning_content: think }),
    ...(tools.length > 0 && { tool_calls: tools }),
  }
  const end = event({}, tools.length > 0 ? "tool_calls" : "stop", { usage })
  return `${event(said, null)}${end}data: [DONE]\n\n`
}
