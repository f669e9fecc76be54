/** A session of GitHub's Copilot CLI on disk. */
import { appendFileSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"

export interface EventsOptions {
  /** Copilot's folder. */
  readonly folder: string
  readonly id: string
  readonly cwd: string
}

type Data = Record<string, unknown>

/** Names which model an event is a subagent's of. */
interface Place {
  readonly agentId?: string
}

export class CopilotEvents {
  readonly path: string
  readonly lines: string[] = []
  readonly #options: EventsOptions
  #count = 0
  #calls = 0
  #requests = 0

  constructor(options: EventsOptions) {
    this.#options = options
    const { folder, id, cwd } = options
    this.path = join(folder, "session-state", id, "events.jsonl")
    this.event("session.start", {
      sessionId: id,
      version: 1,
      producer: "copilot-agent",
      copilotVersion: "1.0.102",
      selectedModel: "gpt-5.4",
      context: { cwd, branch: "main" },
    })
  }

  event(type: string, data: Data, place: Place = {}): this {
    const n = this.#count++
    const uuid = (at: number): string => `${this.#options.id.slice(0, -4)}${`${1000 + at}`}`
    const timestamp = new Date(Date.UTC(2026, 4, 4, 10, 0, n)).toISOString()
    const line = { type, data, ...place, id: uuid(n), timestamp, parentId: n === 0 ? null : uuid(n - 1) }
    this.lines.push(`${JSON.stringify(line)}\n`)
    return this
  }

  prompt(content: string, more: Data = {}, place: Place = {}): this {
    const transformedContent = `<current_datetime>2026-05-04</current_datetime>\n\n${content}\n\n<system_reminder>\nMind the zeppelin.\n</system_reminder>`
    return this.event("user.message", { content, transformedContent, delivery: "idle", ...more }, place)
      .event("system.message", { role: "system", content: "Never mention the word zeppelin." }, place)
      .event("assistant.turn_start", { turnId: "0" }, place)
  }

  answer(content: string, more: Data = {}, place: Place = {}): this {
    return this.event("assistant.message", { content, toolRequests: [], ...more }, place)
  }

  call(name: string, input: unknown, end: Data, more: Data = {}, place: Place = {}): this {
    const toolCallId = `call_${this.#options.id.slice(-4)}_${++this.#calls}`
    this.answer("", { toolRequests: [{ toolCallId, name, arguments: input, ...more }] }, place)
    this.event("tool.execution_start", { toolCallId, toolName: name, arguments: input }, place)
    return this.event("tool.execution_complete", { toolCallId, success: true, ...end }, place)
  }

  run(command: string, output: string, exitCode = 0): this {
    const content = `${output}\n<shellId: 0 completed with exit code ${exitCode}>`
    return this.call("bash", { command, mode: "sync" }, { shellExecution: { exitCode }, result: { content } })
  }

  tokens(inputTokens: number, cacheReadTokens: number, outputTokens: number, place: Place = {}): this {
    const accounting = { sourceSessionId: this.#options.id, sequence: ++this.#requests }
    const usage = { model: "gpt-5.4", inputTokens, cacheReadTokens, outputTokens, accounting }
    return this.event("session.usage_record", { usage }, place)
  }

  compacted(summaryContent: string, more: Data = {}): this {
    return this.event("session.compaction_start", { trigger: "threshold" }).event(
      "session.compaction_complete",
      {
        success: true,
        outcome: "applied",
        summaryContent,
        preCompactionTokens: 100_000,
        postCompactionTokens: 9000,
        trigger: "threshold",
        ...more,
      },
    )
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
export function fullEvents(options: EventsOptions): CopilotEvents {
  const { cwd } = options
  const subagent = { agentId: "0a1b2c3d-0000-4000-8000-0000000000aa" }
  return new CopilotEvents(options)
    .prompt("Why does the kiln overheat? Never touch the boiler.")
    .tokens(1000, 400, 50)
    .answer("Looking.", { reasoningText: "The valve may stick" })
    .run("rg -n valve src", "src/valve.ts:3: open()")
    .run("npm test", "1 failing\nError: valve jammed", 1)
    .call(
      "edit",
      { path: `${cwd}/valve.ts`, old_str: "open()", new_str: "openSlowly()" },
      { result: { content: "Updated." } },
    )
    .call("create", { path: `${cwd}/latch.ts`, file_text: "one\ntwo\n" }, { result: { content: "Created." } })
    .call(
      "edit",
      { path: `${cwd}/none.ts`, old_str: "x", new_str: "y" },
      { success: false, error: { message: "No match found" } },
    )
    .prompt("Explore the shed", { source: `agent-${options.id}` }, subagent)
    .answer("The shed holds a lever.", {}, subagent)
    .tokens(300, 0, 10, subagent)
    .answer("The valve stuck; it opens slowly now.")
    .tokens(2000, 1500, 70)
    .compacted("<overview>The valve was mended.</overview>")
    .prompt("Now release the kiln.")
    .run("git push", "done")
    .answer("Released.")
    .event("session.shutdown", { shutdownType: "routine", modelMetrics: { "gpt-5.4": { usage: {} } } })
}
