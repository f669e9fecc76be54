/**
 * A stand-in for the chat API on the loopback interface, so that the real opencode can be driven without a network, an
 * account or a model. It answers by plans, as the stand-in for Claude Code's model does (mock-api.ts).
 */

export interface OpencodeStep {
  readonly text?: string
  /** A call of one of opencode's tools. */
  readonly call?: { readonly name: string; readonly input: Record<string, unknown> }
  /** Tokens in the context that the answer tells. */
  readonly tokens?: number
}

export const reply = (text: string): OpencodeStep => ({ text })
export const bash = (command: string, tokens?: number): OpencodeStep => ({
  call: { name: "bash", input: { command, description: "runs it" } },
  ...(tokens && { tokens }),
})

interface ChatMessage {
  readonly role: string
  readonly content: unknown
}

export interface OpencodeRequest {
  /** `title` and `summary`: what opencode asks by itself. */
  readonly kind: "talk" | "title" | "summary"
  /** Every text of it, in order. */
  readonly text: string
  readonly tools: readonly string[]
}

export const OPENCODE_SUMMARY = "HANDOVER: the survey is under way; the kiln log was read."
const FEW_TOKENS = 2000

const textOf = ({ content }: ChatMessage): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
      ? content.map((one: { text?: string }) => one.text ?? "").join("\n")
      : ""

export class OpencodeModel {
  readonly requests: OpencodeRequest[] = []
  readonly #plans: (readonly [words: string, steps: readonly OpencodeStep[]])[] = []
  #calls = 0
  readonly #server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.#answer(request) })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  /** What is said when the last of the user's words contain these, one step per request. */
  plan(words: string, steps: readonly OpencodeStep[]): void {
    this.#plans.unshift([words, steps])
  }

  stop(): void {
    void this.#server.stop(true)
  }

  talk(): OpencodeRequest[] {
    return this.requests.filter(({ kind }) => kind === "talk")
  }

  async #answer(request: Request): Promise<Response> {
    const { messages = [], tools = [] } = (await request.json()) as {
      messages?: ChatMessage[]
      tools?: { function: { name: string } }[]
    }
    const system = textOf(messages[0] ?? { role: "", content: "" })
    const isTalk = tools.length > 0
    const kind = isTalk ? "talk" : /title generator/i.test(system) ? "title" : "summary"
    this.requests.push({
      kind,
      text: messages.map(textOf).join("\n"),
      tools: tools.map((tool) => tool.function.name),
    })
    if (kind !== "talk") return this.#said({ text: kind === "title" ? "A kiln" : OPENCODE_SUMMARY })
    const said = messages.findLastIndex(
      ({ role, content }) =>
        role === "user" && this.#plans.some(([words]) => textOf({ role, content }).includes(words)),
    )
    const words = said < 0 ? "" : textOf(messages[said]!)
    const steps = this.#plans.find(([wanted]) => words.includes(wanted))?.[1] ?? []
    const done = messages.slice(said + 1).filter(({ role }) => role === "tool").length
    return this.#said(steps[done] ?? { text: "Nothing is planned." })
  }

  #said({ text = "", call, tokens = FEW_TOKENS }: OpencodeStep): Response {
    const calls = call && [
      {
        index: 0,
        id: `call_${++this.#calls}`,
        type: "function",
        function: { name: call.name, arguments: JSON.stringify(call.input) },
      },
    ]
    const usage = { prompt_tokens: tokens, completion_tokens: 20, total_tokens: tokens + 20 }
    const chunk = (delta: object, finish: string | null, more: object = {}): string =>
      `data: ${JSON.stringify({
        id: "c",
        object: "chat.completion.chunk",
        created: 1,
        model: "m1",
        choices: [{ index: 0, delta, finish_reason: finish }],
        ...more,
      })}\n\n`
    const body =
      chunk({ role: "assistant", content: text, ...(calls && { tool_calls: calls }) }, null) +
      chunk({}, calls ? "tool_calls" : "stop", { usage }) +
      "data: [DONE]\n\n"
    return new Response(body, { headers: { "content-type": "text/event-stream" } })
  }
}
