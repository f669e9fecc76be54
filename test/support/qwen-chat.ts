/** A session of Qwen Code on disk, as 0.24 writes one. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

export interface QwenOptions {
  /** Qwen Code's folder. */
  readonly folder: string
  readonly session: string
  readonly cwd: string
  /** Of a subagent's. */
  readonly agent?: string
}

export class QwenChat {
  readonly path: string
  readonly lines: string[] = []
  readonly #options: QwenOptions
  #last: string | null = null
  #calls = 0

  constructor(options: QwenOptions) {
    this.#options = options
    const { folder, session, cwd, agent } = options
    const below = agent === undefined ? `chats/${session}.jsonl` : `subagents/${session}/agent-${agent}.jsonl`
    this.path = join(folder, "projects", cwd.replace(/[^A-Za-z0-9]/g, "-"), below)
  }

  line(type: string, fields: Record<string, unknown>): this {
    const { session, cwd, agent } = this.#options
    const n = this.lines.length
    const uuid = `${session.slice(0, -4)}${(n + (agent === undefined ? 0 : 5000)).toString().padStart(4, "0")}`
    const line = {
      uuid,
      parentUuid: this.#last,
      sessionId: session,
      timestamp: new Date(Date.UTC(2026, 6, 7, 9, 0, n)).toISOString(),
      type,
      ...(agent === undefined
        ? { provenance: type === "user" ? "real_user" : type === "assistant" ? "assistant_output" : type }
        : { agentId: agent, isSidechain: true }),
      cwd,
      version: "0.24.4",
      gitBranch: "main",
      ...fields,
    }
    this.#last = uuid
    this.lines.push(`${JSON.stringify(line)}\n`)
    return this
  }

  user(texts: readonly string[], more: Record<string, unknown> = {}): this {
    return this.line("user", { message: { role: "user", parts: texts.map((text) => ({ text })) }, ...more })
  }

  model(parts: readonly object[], tokens = { prompt: 1000, cached: 400, output: 20 }): this {
    return this.line("assistant", {
      model: "qwen3-coder",
      message: { role: "model", parts },
      usageMetadata: {
        promptTokenCount: tokens.prompt,
        candidatesTokenCount: tokens.output,
        thoughtsTokenCount: 5,
        totalTokenCount: tokens.prompt + tokens.output,
        cachedContentTokenCount: tokens.cached,
      },
    })
  }

  answer(text: string): this {
    return this.model([{ text: "Let me think of it.", thought: true }, { text }])
  }

  call(name: string, args: object, response: object, result: object = { status: "success" }): this {
    const id = `call_${this.#calls++}`
    this.model([{ functionCall: { id, name, args } }])
    return this.line("tool_result", {
      message: { role: "user", parts: [{ functionResponse: { id, name, response } }] },
      toolCallResult: { callId: id, ...result },
    })
  }

  system(subtype: string, systemPayload: object): this {
    return this.line("system", { subtype, systemPayload })
  }

  shell(command: string, output: string, code: number): this {
    const told = `Command: ${command}\nDirectory: (root)\nOutput: ${output}\nError: (none)\nExit Code: ${code}\nSignal: (none)\nProcess Group PGID: (none)`
    const status = code === 0 ? "success" : "error"
    return this.call("run_shell_command", { command }, code === 0 ? { output: told } : { error: told }, {
      status,
      resultDisplay: { type: "shell_result", exitCode: code, output },
    })
  }

  compaction(summary: string, triggerReason = "token_limit"): this {
    return this.system("chat_compression", {
      info: { originalTokenCount: 190000, newTokenCount: 800, compressionStatus: 1, triggerReason },
      compressedHistory: [
        {
          role: "user",
          parts: [{ text: `${summary}\n\nResume the prior task using the summary above. Continue.` }],
        },
        { role: "model", parts: [{ text: "Got it. Thanks for the additional context!" }] },
      ],
    })
  }

  /** @param from number of lines that are there already */
  flush(from = 0): this {
    mkdirSync(dirname(this.path), { recursive: true })
    appendFileSync(this.path, this.lines.slice(from).join(""))
    return this
  }
}

/** A session with something of everything. */
export function fullChat(options: QwenOptions): QwenChat {
  const { cwd } = options
  return new QwenChat(options)
    .user(["Why does the kiln overheat in summer?"])
    .system("attribution_snapshot", { snapshot: { fileStates: {} } })
    .system("ui_telemetry", { uiEvent: { "event.name": "qwen-code.api_response", model: "qwen3-coder" } })
    .call("read_file", { file_path: `${cwd}/kiln.ts` }, { output: "const valve = 1\n" })
    .call(
      "edit",
      { file_path: `${cwd}/kiln.ts`, old_string: "valve = 1", new_string: "valve = 2" },
      { output: "The file has been updated." },
    )
    .shell("npm test", "1 failed: valve", 1)
    .compaction("<state_snapshot>The valve was mended.</state_snapshot>")
    .answer("The valve of the kiln was stuck.")
    .user(["<system-reminder>\nZeppelins are ready.\n</system-reminder>\n\n", "Paint it ultramarine."])
    .shell("npm test", "all passed", 0)
    .answer("Painted.")
}
