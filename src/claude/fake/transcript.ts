/**
 * Writes transcripts as Claude Code does: one content block per line, a chain of parents, usage on the model's lines.
 * The same calls always give the same bytes. Pure.
 */
import { tryTo } from "../../base/files.ts"
import { ACTION_HOOKS, HOOKS } from "../hooks.ts"

interface FakeSession {
  readonly session: string
  readonly cwd: string
  /** Claude Code's version. */
  readonly version: string
  /** Id of a subagent, if its lines are to be written. */
  readonly agent?: string
}

export interface TranscriptOptions extends FakeSession {
  /** In ms since the epoch; each line is a second later than the one before. */
  readonly start?: number
}

/** The place of a record in the chain. */
interface Link {
  readonly parent: string | null
  readonly uuid: string
  readonly timestamp: string
}

type Fields = Readonly<Record<string, unknown>>

/**
 * A record with what Claude Code adds to every one of the chain.
 *
 * @param layout `before`: ahead of the record's own fields, which count; `around`: as versions from 2.1.200 on do it
 */
export function chained(
  { session, cwd, version, agent }: FakeSession,
  { parent, uuid, timestamp }: Link,
  fields: Fields,
  layout: "before" | "around" = "before",
): Fields {
  const head = { parentUuid: parent, isSidechain: agent !== undefined }
  const place = { cwd, sessionId: session, version, gitBranch: "main" }
  if (layout === "around") {
    return { ...head, ...fields, uuid, timestamp, userType: "external", entrypoint: "cli", ...place }
  }
  const own = agent === undefined ? {} : { agentId: agent }
  return { ...head, userType: "external", ...place, ...own, uuid, timestamp, ...fields }
}

/** What is done in a turn before its answer. */
export interface Step {
  readonly tool: string
  readonly input: Fields
  readonly output: string
  readonly isError?: boolean
  /** What Claude Code notes of the result beside its text; left out: the text again. */
  readonly told?: unknown
}

const START = Date.UTC(2026, 2, 2, 8)
const SECOND = 1000

const USAGE = {
  input_tokens: 12,
  output_tokens: 40,
  cache_creation_input_tokens: 300,
  cache_read_input_tokens: 20_000,
}

export class FakeTranscript {
  readonly options: TranscriptOptions
  #lines = 0
  #parent: string | null = null
  #waiting = ""
  #message = ""

  constructor(options: TranscriptOptions) {
    this.options = options
  }

  get session(): string {
    return this.options.session
  }

  /** What was written and not taken yet. */
  get text(): string {
    return this.#waiting
  }

  take(): string {
    const text = this.#waiting
    this.#waiting = ""
    return text
  }

  /** How many lines of the chain were written. */
  get lines(): number {
    return this.#lines
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
    const { start = START } = this.options
    const n = ++this.#lines
    const uuid = String(fields["uuid"] ?? this.#uuid(n))
    const timestamp = new Date(start + n * SECOND).toISOString()
    const record = chained(this.options, { parent: this.#parent, uuid, timestamp }, fields)
    this.#parent = uuid
    return this.raw(JSON.stringify(record))
  }

  user(content: unknown, more: Fields = {}): this {
    return this.line({ type: "user", message: { role: "user", content }, ...more })
  }

  /** Begins a message of the model. Its blocks follow, each on its own line. */
  message(): this {
    this.#message = `msg_${this.#name(this.#lines)}`
    return this
  }

  /** @param message what differs in the message, @param more and in its record */
  block(block: Fields, more: Fields = {}, message: Fields = {}): this {
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
        usage: USAGE,
        ...message,
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
  step({ tool, input, output, isError = false, told = output }: Step): this {
    const id = `toolu_${this.#name(this.#lines)}`
    this.block({ type: "tool_use", id, name: tool, input })
    const result = { type: "tool_result", tool_use_id: id, content: output, is_error: isError }
    return this.user([result], { toolUseResult: told }).message()
  }

  /** A prompt, the steps taken for it, and the answer. */
  turn(prompt: string, steps: readonly Step[] = [], answer = `Answer to: ${prompt.slice(0, 80)}`): this {
    this.user(prompt).message()
    for (const step of steps) this.step(step)
    return answer === "" ? this : this.say(answer)
  }

  /** Where the conversation was compacted: the next line begins a new chain. */
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

  /** Always the same for a session, and different in every other. */
  #uuid(n: number): string {
    const { session, agent = "" } = this.options
    const hex = Bun.hash.xxHash64(`${session} ${agent}`, 0n).toString(16).padStart(16, "0")
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(9, 12)}-8${hex.slice(12, 15)}-${String(n).padStart(12, "0")}`
  }

  #name = (n: number): string => this.#uuid(n).replaceAll("-", "").slice(-24)
}

/* What Claude Code gives a hook on its standard input, and what it takes from its output. */

/** Our name of an event, as hook commands have it. */
export type HookName = (typeof CALLED)[keyof typeof CALLED]

const CALLED = { ...HOOKS, ...ACTION_HOOKS }

interface HookedSession {
  readonly session: string
  /** Absolute path; undefined: Claude Code names none. */
  readonly transcript: string | undefined
  readonly cwd: string
}

/** @param fields what the event has besides, or has otherwise */
export function hookPayload(event: HookName, of: HookedSession, fields: object = {}): string {
  const hook_event_name = (Object.keys(CALLED) as (keyof typeof CALLED)[]).find(
    (name) => CALLED[name] === event,
  )
  const { session: session_id, transcript: transcript_path, cwd } = of
  return JSON.stringify({ session_id, transcript_path, cwd, hook_event_name, ...fields })
}

/** The text that Claude Code would give to the model; undefined if a hook's output is no such reply. */
export function contextIn(stdout: string): string | undefined {
  const given = tryTo(() => JSON.parse(stdout).hookSpecificOutput.additionalContext)
  return typeof given === "string" ? given : undefined
}
