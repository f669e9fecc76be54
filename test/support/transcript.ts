/** Writes transcripts as the host does: one content block per line, a chain of parents, usage on the model's lines. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"

export interface TranscriptOptions {
  readonly session: string
  readonly cwd: string
  /** The host's version. */
  readonly version: string
  readonly path: string
  /** Id of a subagent, if its lines are to be written. */
  readonly agent?: string
}

/** What is done in a turn before its answer. */
export interface Step {
  readonly tool: string
  readonly input: Record<string, unknown>
  readonly output: string
  readonly isError?: boolean
}

type Fields = Record<string, unknown>

export class Transcript {
  readonly options: TranscriptOptions
  #count = 0
  #parent: string | null = null
  #waiting = ""
  #message = ""

  constructor(options: TranscriptOptions) {
    this.options = options
  }

  get path(): string {
    return this.options.path
  }

  get session(): string {
    return this.options.session
  }

  /** Lines not flushed yet. */
  get text(): string {
    return this.#waiting
  }

  /** uuid of the line that the next one follows. */
  get tip(): string | null {
    return this.#parent
  }

  /** Goes back like the user's `/rewind`: the next line follows an earlier one. */
  backTo(tip: string | null): this {
    this.#parent = tip
    return this
  }

  /** Adds any line as it is. */
  raw(line: string): this {
    this.#waiting += `${line}\n`
    return this
  }

  line(fields: Fields): this {
    const { session, cwd, version, agent } = this.options
    const n = ++this.#count
    const uuid = fields["uuid"] ?? this.#uuid(n)
    const common = {
      parentUuid: this.#parent,
      isSidechain: agent !== undefined,
      userType: "external",
      cwd,
      sessionId: session,
      version,
      gitBranch: "main",
      ...(agent === undefined ? {} : { agentId: agent }),
      uuid,
      timestamp: new Date(Date.UTC(2026, 2, 2, 8) + n * 1000).toISOString(),
    }
    this.#parent = String(uuid)
    return this.raw(JSON.stringify({ ...common, ...fields }))
  }

  user(content: unknown, more: Fields = {}): this {
    return this.line({ type: "user", message: { role: "user", content }, ...more })
  }

  /** Begins a message of the model. Its blocks follow, each on its own line. */
  message(): this {
    this.#message = `msg_${this.#uuid(this.#count).replaceAll("-", "").slice(-24)}`
    return this
  }

  block(block: Fields, more: Fields = {}): this {
    if (this.#message === "") this.message()
    return this.line({
      type: "assistant",
      message: {
        id: this.#message,
        type: "message",
        role: "assistant",
        model: "claude-sonnet-4-6",
        content: [block],
        stop_reason: null,
        usage: {
          input_tokens: 12,
          output_tokens: 40,
          cache_creation_input_tokens: 300,
          cache_read_input_tokens: 20_000,
        },
      },
      ...more,
    })
  }

  think(thinking: string): this {
    return this.block({ type: "thinking", thinking, signature: "c2ln" })
  }

  say(text: string): this {
    return this.block({ type: "text", text })
  }

  /** A tool call and its result. */
  step({ tool, input, output, isError = false }: Step): this {
    const id = `toolu_${this.#uuid(this.#count).replaceAll("-", "").slice(-24)}`
    this.block({ type: "tool_use", id, name: tool, input })
    this.user([{ type: "tool_result", tool_use_id: id, content: output, is_error: isError }], {
      toolUseResult: output,
    })
    return this.message()
  }

  /** A prompt, the steps taken for it, and the answer. */
  turn(prompt: string, steps: readonly Step[] = [], answer = `Answer to: ${prompt.slice(0, 80)}`): this {
    this.user(prompt).message()
    for (const step of steps) this.step(step)
    return answer === "" ? this : this.say(answer)
  }

  boundary(trigger = "auto", preTokens = 155_000): this {
    const logicalParentUuid = this.#parent
    this.#parent = null
    return this.line({
      type: "system",
      subtype: "compact_boundary",
      content: "Conversation compacted",
      isMeta: false,
      logicalParentUuid,
      compactMetadata: { trigger, preTokens },
    })
  }

  summary(text: string): this {
    const lead = "This session is being continued from a previous conversation that ran out of context.\n"
    return this.user(lead + text, { isCompactSummary: true, isVisibleInTranscriptOnly: true })
  }

  /** Appends to the file in one write, as the host does. */
  flush(): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.#waiting)
    this.#waiting = ""
    return this
  }

  /** Drops the lines not flushed yet. */
  discard(): void {
    this.#waiting = ""
  }

  /** Always the same for a session, and different in every other. */
  #uuid(n: number): string {
    const { session, agent = "" } = this.options
    const hex = Bun.hash.xxHash64(`${session} ${agent}`, 0n).toString(16).padStart(16, "0")
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(9, 12)}-8${hex.slice(12, 15)}-${String(n).padStart(12, "0")}`
  }
}
