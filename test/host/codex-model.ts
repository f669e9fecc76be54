/**
 * A stand-in for the Responses API on the loopback interface, so that the real Codex can be driven without a network, an
 * account or a model. It answers by plans, as the stand-in for Claude Code's model does (mock-api.ts).
 */

export interface CodexStep {
  readonly text?: string
  /** A call of one of Codex' tools. */
  readonly call?: {
    readonly name: string
    readonly input: Record<string, unknown>
    readonly namespace?: string
  }
  /** Tokens in the context that the answer tells. */
  readonly tokens?: number
}

export const answer = (text: string, tokens?: number): CodexStep => ({ text, ...(tokens && { tokens }) })
export const exec = (cmd: string, tokens?: number): CodexStep => ({
  call: { name: "exec_command", input: { cmd } },
  ...(tokens && { tokens }),
})

export interface CodexItem {
  readonly type: string
  readonly role?: string
  readonly content?: readonly { readonly text?: string }[]
  readonly [key: string]: unknown
}

export interface CodexRequest {
  readonly isCompaction: boolean
  readonly input: readonly CodexItem[]
  readonly tools: readonly string[]
  /** Every text of its messages, in order. */
  readonly texts: readonly string[]
}

export const CODEX_SUMMARY = "HANDOFF: the survey is under way; the kiln log was read."
/** In what Codex says to have a conversation summed up. */
const ASKS_SUMMARY = /CONTEXT CHECKPOINT COMPACTION|handoff summary for another/i
const FEW_TOKENS = 2000

const textsOf = (item: CodexItem): string[] =>
  (Array.isArray(item.content) ? item.content : []).flatMap(({ text }) => text ?? [])

export class CodexModel {
  readonly requests: CodexRequest[] = []
  readonly #plans: (readonly [words: string, steps: readonly CodexStep[]])[] = []
  readonly #server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.#answer(request) })

  get url(): string {
    return `http://127.0.0.1:${this.#server.port}/v1`
  }

  /** What is said when the last prompt contains these words, one step per request. */
  plan(words: string, steps: readonly CodexStep[]): void {
    this.#plans.unshift([words, steps])
  }

  stop(): void {
    this.#server.stop(true)
  }

  async #answer(request: Request): Promise<Response> {
    if (request.method !== "POST") return Response.json({ data: [], models: [] })
    const body = (await request.json()) as { input: CodexItem[]; tools?: { name?: string; type: string }[] }
    const texts = body.input.flatMap(textsOf)
    const isCompaction = ASKS_SUMMARY.test(texts.at(-1) ?? "")
    const tools = (body.tools ?? []).map(({ name, type }) => name ?? type)
    this.requests.push({ isCompaction, input: body.input, tools, texts })
    const n = this.requests.length
    const step = isCompaction ? answer(CODEX_SUMMARY) : this.#stepFor(body.input)
    const id = `answer-of-the-stand-in-${n}`
    const item =
      step.call === undefined
        ? { type: "message", role: "assistant", id, content: [{ type: "output_text", text: step.text }] }
        : {
            type: "function_call",
            id,
            call_id: `call_${n}`,
            name: step.call.name,
            ...(step.call.namespace && { namespace: step.call.namespace }),
            arguments: JSON.stringify(step.call.input),
          }
    const total = step.tokens ?? FEW_TOKENS
    const usage = {
      input_tokens: total - 50,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: total,
    }
    const events = [
      { type: "response.created", response: { id: `resp_${n}` } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id: `resp_${n}`, usage } },
    ]
    const stream = events.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join("")
    return new Response(stream, { headers: { "content-type": "text/event-stream" } })
  }

  /** Of the plan of the last prompt that has one: after as many outputs of calls as have come since. */
  #stepFor(input: readonly CodexItem[]): CodexStep {
    const isPrompt = (item: CodexItem): boolean => item.role === "user" && this.#planFor(item) !== undefined
    const at = input.findLastIndex(isPrompt)
    const steps = at < 0 ? undefined : this.#planFor(input[at]!)
    const done = input.slice(at + 1).filter(({ type }) => type === "function_call_output").length
    // A compaction drops the calls: the last step follows.
    const isCompacted = input.some((item) => textsOf(item).some((text) => text.includes(CODEX_SUMMARY)))
    return steps?.[isCompacted ? steps.length - 1 : Math.min(done, steps.length - 1)] ?? answer("Yes.")
  }

  #planFor(item: CodexItem): readonly CodexStep[] | undefined {
    const text = textsOf(item).join("\n")
    return this.#plans.find(([words]) => text.includes(words))?.[1]
  }
}
