/** A session of Gemini CLI on disk, as 0.61 writes one. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

export interface GeminiOptions {
  /** The folder in which it takes its own for. */
  readonly home: string
  readonly session: string
  readonly cwd: string
  /** Of a subagent's: its own id. */
  readonly agent?: string
}

export class GeminiChat {
  readonly path: string
  readonly lines: string[] = []
  /** All messages so far, as a list of them has them. */
  readonly messages: Record<string, unknown>[] = []
  readonly #options: GeminiOptions
  #made = 0

  constructor(options: GeminiOptions) {
    this.#options = options
    const { home, session, cwd, agent } = options
    const name =
      agent === undefined
        ? `session-2026-08-09T10-11-${session.slice(0, 8)}.jsonl`
        : `${session}/${agent}.jsonl`
    this.path = join(home, ".gemini", "tmp", "kiln", "chats", name)
    this.head(agent === undefined ? { kind: "main" } : { kind: "subagent", directories: [cwd] })
    if (agent === undefined) this.#context()
  }

  get #time(): string {
    return new Date(Date.UTC(2026, 7, 9, 10, 11, this.#made)).toISOString()
  }

  line(fields: Record<string, unknown>): this {
    this.lines.push(`${JSON.stringify(fields)}\n`)
    return this
  }

  head(more: Record<string, unknown>): this {
    const { session, agent } = this.#options
    const time = this.#time
    return this.line({
      sessionId: agent ?? session,
      projectHash: "f00d",
      startTime: time,
      lastUpdated: time,
      ...more,
    })
  }

  #context(): void {
    const text = `<session_context>\nThis is the Gemini CLI. Zeppelins are ready.\n- **Workspace Directories:**\n  - ${this.#options.cwd}\n- **Directory Structure:**\n</session_context>`
    this.messages.push({ id: "d049", timestamp: this.#time, type: "user", content: [{ text }] })
    this.set({ messages: this.messages })
  }

  set(fields: Record<string, unknown>): this {
    return this.line({ $set: { ...fields, lastUpdated: this.#time } })
  }

  /** @returns its id */
  message(type: string, fields: Record<string, unknown>): string {
    const { session, agent = session } = this.#options
    const id = `${agent.slice(0, -4)}${(this.#made++).toString().padStart(4, "0")}`
    const message = { id, timestamp: this.#time, type, ...fields }
    this.messages.push(message)
    this.line(message)
    return id
  }

  user(texts: readonly string[], more: Record<string, unknown> = {}): this {
    this.message("user", { content: texts.map((text) => ({ text })), ...more })
    return this.set({})
  }

  #model(content: string, thoughts: readonly object[] = []): void {
    this.message("gemini", {
      content,
      thoughts,
      tokens: { input: 1000, output: 20, cached: 400, thoughts: 5, tool: 0, total: 1025 },
      model: "gemini-3-pro",
    })
  }

  answer(text: string): this {
    this.#model(text, [{ subject: "Cause", description: "the valve", timestamp: this.#time }])
    return this.set({})
  }

  /** The message is written again once the call has ended, and the result once more by itself. */
  call(name: string, args: object, response: object, more: object = {}): this {
    this.#model("I look.")
    const message = this.messages.at(-1)!
    const id = `${name}__${message["id"]}`
    const result = [{ functionResponse: { id, name, response } }]
    const done = { ...message, toolCalls: [{ id, name, args, result, status: "success", ...more }] }
    this.messages[this.messages.length - 1] = done
    this.line(done)
    this.message("user", { content: result })
    return this.set({})
  }

  shell(command: string, output: string, code: number): this {
    const status = code === 0 ? "" : `Exit Code: ${code}\n`
    const text = `<untrusted_context>\nOutput: ${output}\n${status}Process Group PGID: 7\n</untrusted_context>`
    return this.call("run_shell_command", { command }, { output: text })
  }

  /** What it continues with: the messages that it has kept have new ids. */
  compaction(summary: string): this {
    const kept = this.messages.slice(1).map((one, n) => ({ ...one, id: `kept-${n}` }))
    const snapshot = {
      id: `snapshot-${this.#made}`,
      timestamp: this.#time,
      type: "user",
      content: [{ text: summary }],
    }
    return this.set({ messages: [this.messages[0], snapshot, ...kept] })
  }

  /** It writes its beginning and all messages again, with other times. */
  resumed(): this {
    const messages = this.messages.map((one) => ({ ...one, timestamp: "2026-08-10T00:00:00.000Z" }))
    return this.head({ kind: "main" }).set({ messages })
  }

  /** @param from number of lines that are there already */
  flush(from = 0): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.lines.slice(from).join(""))
    return this
  }
}

/** A session with something of everything. */
export function fullChat(options: GeminiOptions): GeminiChat {
  const { cwd } = options
  return new GeminiChat(options)
    .user(["Why does the kiln overheat in autumn?"])
    .call("read_file", { file_path: `${cwd}/kiln.ts` }, { output: "const valve = 1\n" })
    .call(
      "replace",
      { file_path: `${cwd}/kiln.ts`, old_string: "valve = 1", new_string: "valve = 2" },
      { output: "Successfully modified file." },
    )
    .shell("npm test", "1 failed: valve", 1)
    .compaction("<state_snapshot>The valve was mended.</state_snapshot>")
    .answer("The valve of the kiln was stuck.")
    .resumed()
    .user(["Paint it ultramarine."])
    .shell("npm test", "all passed", 0)
    .answer("Painted.")
}
