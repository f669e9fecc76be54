/** A session of Codex on disk, in either of the two forms in which its versions write one. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

export interface RolloutOptions {
  readonly mode: "legacy" | "paginated"
  /** Codex' folder. */
  readonly folder: string
  readonly id: string
  readonly cwd: string
  readonly meta?: Record<string, unknown>
  readonly version?: string
}

/** What Codex tells the model of where it is. */
export const ENVIRONMENT = "<environment_context>\n  <cwd>/p</cwd>\n</environment_context>"

export class CodexRollout {
  readonly path: string
  readonly lines: string[] = []
  readonly #options: RolloutOptions
  #ordinal = 0
  #total = 0
  #call = 0

  constructor(options: RolloutOptions) {
    this.#options = options
    const { folder, id, cwd, mode, meta = {}, version = mode === "legacy" ? "0.130.0" : "0.169.0" } = options
    this.path = join(folder, "sessions/2026/05/04", `rollout-2026-05-04T10-00-00-${id}.jsonl`)
    this.line("session_meta", {
      id,
      timestamp: "2026-05-04T10:00:00.000Z",
      cwd,
      originator: "codex-tui",
      cli_version: version,
      source: "cli",
      ...(mode === "paginated" && { history_mode: mode, session_id: id }),
      base_instructions: { text: "You are a coding agent. Never mention the word zeppelin." },
      git: { branch: "main" },
      ...meta,
    })
  }

  get #isPaginated(): boolean {
    return this.#options.mode === "paginated"
  }

  line(type: string, payload: Record<string, unknown>, more: Record<string, unknown> = {}): this {
    const ms = Date.UTC(2026, 4, 4, 10, 0, this.#ordinal)
    const timestamp = new Date(ms).toISOString()
    const ordinal = this.#isPaginated ? { ordinal: this.#ordinal } : {}
    this.#ordinal++
    this.lines.push(`${JSON.stringify({ timestamp, ...ordinal, type, payload, ...more })}\n`)
    return this
  }

  /** An item of the conversation; newer versions give it an id. */
  item(payload: Record<string, unknown>, more: Record<string, unknown> = {}): this {
    const id = `msg_${this.#options.id}-${this.#ordinal}`
    return this.line("response_item", this.#isPaginated ? { id, ...payload } : payload, more)
  }

  message(role: string, text: string, kind: string, more: Record<string, unknown> = {}): this {
    const type = role === "assistant" ? "output_text" : "input_text"
    const kinds = this.#isPaginated
      ? { internal_chat_message_metadata_passthrough: { content_item_kinds: [kind] } }
      : {}
    return this.item({ type: "message", role, content: [{ type, text }], ...kinds }, more)
  }

  turn(prompt: string, model = "gpt-5.4"): this {
    const { cwd } = this.#options
    this.message(
      "developer",
      "<permissions instructions>Ask first.</permissions instructions>",
      "permissions",
    )
    this.message("user", ENVIRONMENT, "environments.environment_context")
    this.line("turn_context", { cwd, model, approval_policy: "never" })
    this.message("user", prompt, "user.text")
    return this.#isPaginated
      ? this.line("event_msg", {
          type: "item_completed",
          item: { type: "UserMessage", content: [{ type: "text", text: prompt }] },
        })
      : this.line("event_msg", { type: "user_message", message: prompt })
  }

  think(text: string): this {
    return this.item({
      type: "reasoning",
      summary: [{ type: "summary_text", text }],
      encrypted_content: "AA",
    })
  }

  answer(text: string): this {
    this.#isPaginated
      ? this.line("event_msg", {
          type: "item_completed",
          item: { type: "AgentMessage", content: [{ type: "Text", text }] },
        })
      : this.line("event_msg", { type: "agent_message", message: text })
    return this.message("assistant", text, "unknown")
  }

  call(name: string, input: unknown, output: unknown, kind = "function"): this {
    const call_id = `call_${this.#options.id.slice(-4)}_${++this.#call}`
    const text = typeof input === "string" ? input : JSON.stringify(input)
    const given = kind === "function" ? { arguments: text } : { input: text }
    this.item({ type: `${kind}_call`, name, call_id, ...given })
    return this.item({ type: `${kind}_call_output`, call_id, output })
  }

  run(cmd: string, output: string, status = 0): this {
    const head = `Chunk ID: 1a2b3c\nWall time: 0.1 seconds\nProcess exited with code ${status}\nOriginal token count: 9\n`
    return this.call("exec_command", { cmd, workdir: this.#options.cwd }, `${head}Output:\n${output}`)
  }

  patch(patch: string, output = '{"output":"Success.","metadata":{"exit_code":0}}'): this {
    return this.call("apply_patch", patch, output, "custom_tool")
  }

  /** Newer versions tell it twice, all of them may repeat it. */
  tokens(input: number, cached: number, output: number): this {
    this.#total += input + output
    const usage = { input_tokens: input, cached_input_tokens: cached, output_tokens: output }
    const total = { total_tokens: this.#total }
    if (this.#isPaginated) this.line("token_usage_record", { usage, thread_token_usage: total })
    const info = { last_token_usage: usage, total_token_usage: total }
    for (let n = 0; n < 2; n++) this.line("event_msg", { type: "token_count", info })
    return this
  }

  compacted(message: string): this {
    if (this.#isPaginated)
      this.message("assistant", message, "unknown", { metadata: { compaction_output: true } })
    this.line("compacted", { message, replacement_history: [{ type: "message", role: "user", content: [] }] })
    return this.line("event_msg", { type: "context_compacted" })
  }

  get text(): string {
    return this.lines.join("")
  }

  /** Writes the lines from `from` to `to`. */
  flush(from = 0, to = this.lines.length): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.lines.slice(from, to).join(""))
    return this
  }
}

/** A session with something of everything. */
export function fullRollout(options: RolloutOptions): CodexRollout {
  return new CodexRollout(options)
    .turn("Why does the kiln overheat? Never touch the boiler.")
    .think("The valve may stick")
    .run("rg -n valve src", "src/valve.ts:3: open()")
    .run("npm test", "1 failing\nError: valve jammed", 1)
    .tokens(1000, 400, 50)
    .patch(
      "*** Begin Patch\n*** Update File: src/valve.ts\n@@\n const limit = 3\n-open()\n+openSlowly()\n*** Add File: src/latch.ts\n+export const latch = 1\n*** End Patch",
    )
    .call(
      "update_plan",
      {
        plan: [
          { step: "Mend the valve", status: "completed" },
          { step: "Test it", status: "in_progress" },
        ],
      },
      "Plan updated",
    )
    .answer("The valve stuck; it opens slowly now.")
    .tokens(2000, 1500, 70)
    .compacted("Handover: the valve was mended.")
    .turn("Now release the kiln.")
    .run("git push", "done")
    .answer("Released.")
}
