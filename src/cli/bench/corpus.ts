/**
 * A seeded generator of transcripts in Claude Code's real format. The same options always give the same bytes, on any
 * machine. Nothing here reads a clock or a random source.
 *
 * It imitates 38 MB of published Claude Code sessions, mostly from 2.1.204 – 2.1.233. Taken from them:
 * - one content block per line, `message.id` and usage repeated over the lines of one message, the uuid/parentUuid
 *   chain, tool results along with `toolUseResult` (which repeats everything);
 * - sizes, as quantile tables: lines per turn (median 13, p90 100), prompts (135 characters, occasionally a pasted
 *   log), thinking (mostly empty, with a signature of 1.3 KB base64), tool inputs (300 characters);
 * - how often each tool is called (Bash 54 %, Edit 18 %, Read 11 %, Write 5 %);
 * - the lines in between: file-history-snapshot, mode, last-prompt, ai-title, attachments, queue-operations,
 *   stop_hook_summary, turn_duration, and a compaction whenever the window is full;
 * - the zstd level 3 ratio: in the originals 3.4 – 9.3 for whole files (median 6.5), 2.4 – 4.6 in pieces of 20 KB.
 *
 * Differences: the output of reads and commands is larger (median 0.9 KB; over all tools 0.34 KB as in the originals,
 * but on average 2.1 KB instead of 1.4), with a few results of 100 – 400 KB (originals: at most 70), so that per-byte
 * costs are not understated. Prose is meaningless words from a small vocabulary. One project, one branch, no subagents,
 * no malformed lines, English only.
 */

import { closeSync, openSync, writeSync } from "node:fs"
import { chained } from "../../claude/fake/transcript.ts"
import { capital, makeCall, Project } from "./corpus-project.ts"
import { Dice, quantiles } from "./seeded-random.ts"

export interface CorpusSize {
  readonly lines: number
  readonly bytes: number
  /** Prompts of a human, which a compaction's summary is not. */
  readonly turns: number
  /** For continuing the session; see `CorpusOptions.after`. */
  readonly lastUuid: string | undefined
}

/** Returns the uuid of the last record it yielded. */
function* limited(options: CorpusOptions): Generator<ChainLine, string | undefined> {
  const session = new CorpusSession(options)
  let bytes = 0
  let turns = 0
  let lastUuid: string | undefined
  for (const line of session.lines()) {
    if (line.prompt && turns === options.turns) break
    if (line.prompt) turns++
    yield line
    lastUuid = line.uuid ?? lastUuid
    bytes += Buffer.byteLength(line.text)
    if (bytes >= options.bytes) break
  }
  return lastUuid
}

/** The lines of a transcript, each with its newline. */
export function* generateTranscript(options: CorpusOptions): Generator<string> {
  for (const line of limited(options)) yield line.text
}

/** Streams a transcript to a new file. Uses only a few megabytes of memory, whatever the size. */
export function writeTranscript(path: string, options: CorpusOptions): CorpusSize {
  return write(path, "w", options)
}

/** Continues a transcript at its end; pass `after` and a different seed. */
export function appendTranscript(path: string, options: CorpusOptions): CorpusSize {
  return write(path, "a", options)
}

function write(path: string, mode: "w" | "a", options: CorpusOptions): CorpusSize {
  const file = openSync(path, mode, 0o600)
  let lines = 0
  let bytes = 0
  let turns = 0
  let pending: string[] = []
  let pendingChars = 0
  const flush = () => {
    const block = Buffer.from(pending.join(""))
    for (let done = 0; done < block.length; ) done += writeSync(file, block, done)
    bytes += block.length
    pending = []
    pendingChars = 0
  }
  try {
    const generator = limited(options)
    let next = generator.next()
    for (; next.done !== true; next = generator.next()) {
      lines++
      if (next.value.prompt) turns++
      pending.push(next.value.text)
      pendingChars += next.value.text.length
      if (pendingChars > 1_000_000) flush()
    }
    flush()
    return { lines, bytes, turns, lastUuid: next.value }
  } finally {
    closeSync(file)
  }
}

/* Generates one session, turn by turn; corpus.ts says what it imitates. */

// In characters, unless noted otherwise.
const PROMPT = quantiles("0 6, 0.25 64, 0.5 135, 0.75 332, 0.92 1200, 0.99 9000, 1 30000")
const ANSWER = quantiles("0 30, 0.25 79, 0.5 125, 0.75 222, 0.9 1007, 0.99 3950, 1 9000")
const SIGNATURE = quantiles("0 268, 0.25 656, 0.5 1276, 0.75 2704, 0.9 6272, 1 20000")
/** API messages in a turn before the answer. */
const STEPS = quantiles("0 0, 0.25 1, 0.5 4, 0.75 12, 0.9 32, 0.99 105, 1 160")

const MODELS = ["claude-sonnet-5", "claude-opus-4-8", "claude-sonnet-4-6"]

/** Tokens at which Claude Code compacts a window of 200,000. */
const COMPACT_AT_TOKENS = 167_000
const CHARS_PER_TOKEN = 3.5

class CorpusSession {
  readonly #dice: Dice
  readonly #project: Project
  readonly #options: CorpusOptions
  readonly #model: string
  readonly #chain: Chain
  readonly #beside: Beside
  #contextTokens = 17_000
  #promptId = ""

  constructor(options: CorpusOptions) {
    this.#dice = new Dice(options.seed)
    this.#options = options
    this.#project = new Project(this.#dice, options.cwd)
    this.#model = this.#dice.pick(MODELS)
    this.#chain = new Chain(this.#dice, options)
    this.#beside = new Beside(this.#dice, this.#project, this.#chain, options.sessionId)
  }

  /** Yields lines as they are generated, so a caller may stop at any of them. */
  *lines(): Generator<ChainLine> {
    if (this.#options.after === undefined) this.#beside.opening()
    yield* this.#chain.drain()
    for (;;) {
      if (this.#options.style === "talk") {
        this.#prompt(this.#dice.between(12, 80))
        this.#textMessage(this.#dice.between(40, 220), "end_turn")
        yield* this.#chain.drain()
        continue
      }
      if (this.#contextTokens > COMPACT_AT_TOKENS) this.#compaction()
      if (this.#dice.chance(0.08)) this.#beside.queued()
      this.#prompt(this.#dice.sample(PROMPT))
      yield* this.#chain.drain()
      const steps = this.#dice.sample(STEPS)
      for (let i = 0; i < steps; i++) {
        this.#step()
        yield* this.#chain.drain()
        if (this.#contextTokens > COMPACT_AT_TOKENS) {
          this.#compaction()
          yield* this.#chain.drain()
        }
      }
      this.#textMessage(this.#dice.sample(ANSWER) + 120, "end_turn")
      this.#beside.closing(steps)
      yield* this.#chain.drain()
    }
  }

  #prompt(length: number): void {
    const d = this.#dice
    const talk = this.#options.style === "talk"
    const size = Math.min(length, this.#chain.room)
    // A long prompt is a short one plus a paste.
    const text =
      size < 900
        ? this.#project.prose(size)
        : `${this.#project.prose(240)}\n\n${this.#project.output(size - 242)}`
    this.#promptId = d.uuid()
    if (!talk) this.#beside.snapshot(d.uuid())
    this.#contextTokens += text.length / CHARS_PER_TOKEN
    this.#chain.add(
      {
        promptId: this.#promptId,
        type: "user",
        message: { role: "user", content: text },
        permissionMode: "default",
        origin: { kind: "human" },
        promptSource: "typed",
      },
      d.between(5_000, 400_000),
      true,
    )
    if (!talk) this.#beside.prompted()
  }

  #usage(output: number): Record<string, unknown> {
    const cached = Math.floor(this.#contextTokens)
    const fresh = this.#dice.between(80, 3_000)
    return {
      input_tokens: this.#dice.between(1, 12),
      cache_creation_input_tokens: fresh,
      cache_read_input_tokens: cached,
      output_tokens: output,
      server_tool_use: { web_search_requests: 0, web_fetch_requests: 0 },
      service_tier: "standard",
      cache_creation: { ephemeral_1h_input_tokens: fresh, ephemeral_5m_input_tokens: 0 },
      inference_geo: "not_available",
      speed: "standard",
    }
  }

  /** One line per block, as Claude Code writes a message. */
  #message(blocks: readonly Record<string, unknown>[], stopReason: string): string[] {
    const id = this.#dice.id("msg")
    const requestId = this.#dice.id("req")
    let chars = 0
    for (const block of blocks) chars += JSON.stringify(block).length
    const usage = this.#usage(Math.floor(chars / CHARS_PER_TOKEN))
    this.#contextTokens += chars / CHARS_PER_TOKEN
    return blocks.map((block) =>
      this.#chain.add(
        {
          message: {
            model: this.#model,
            id,
            type: "message",
            role: "assistant",
            content: [block],
            stop_reason: stopReason,
            stop_sequence: null,
            stop_details: null,
            usage,
            diagnostics: null,
          },
          requestId,
          type: "assistant",
        },
        this.#dice.between(200, 9_000),
      ),
    )
  }

  #textMessage(length: number, stopReason: string): void {
    const text = this.#project.prose(Math.min(length, this.#chain.room))
    this.#message([{ type: "text", text }], stopReason)
  }

  /** An API message with tool calls, and the lines that answer it. */
  #step(): void {
    const d = this.#dice
    const blocks: Record<string, unknown>[] = []
    if (d.chance(0.24)) {
      const thinking = d.chance(0.15)
        ? this.#project.prose(Math.min(d.between(60, 1_500), this.#chain.room))
        : ""
      const signature = d.base64(Math.min(d.sample(SIGNATURE), this.#chain.room))
      blocks.push({ type: "thinking", thinking, signature })
    }
    if (d.chance(0.5)) {
      blocks.push({ type: "text", text: this.#project.prose(Math.min(d.sample(ANSWER), this.#chain.room)) })
    }
    const calls = Array.from({ length: d.chance(0.85) ? 1 : d.between(2, 4) }, () =>
      makeCall(d, this.#project, this.#chain.room, this.#options.largestResult ?? Infinity),
    )
    for (const call of calls)
      blocks.push({ type: "tool_use", id: call.id, name: call.name, input: call.input })
    const uuids = this.#message(blocks, "tool_use")
    calls.forEach((call, i) => {
      const source = uuids[blocks.length - calls.length + i]
      this.#contextTokens +=
        (typeof call.content === "string" ? call.content.length : 5_000) / CHARS_PER_TOKEN
      const result = { tool_use_id: call.id, type: "tool_result", content: call.content }
      this.#chain.add(
        {
          promptId: this.#promptId,
          type: "user",
          message: { role: "user", content: [call.failed ? { ...result, is_error: true } : result] },
          toolUseResult: call.failed ? `Error: ${String(call.content)}` : call.detail,
          sourceToolAssistantUUID: source,
        },
        d.between(30, 20_000),
      )
      if (call.name === "Edit" && d.chance(0.35)) {
        this.#beside.edited(String(call.input.file_path))
      }
    })
    if (d.chance(0.09)) this.#beside.reminder()
  }

  #compaction(): void {
    const d = this.#dice
    const preTokens = Math.floor(this.#contextTokens)
    const postTokens = d.between(14_000, 22_000)
    const before = this.#chain.parent
    this.#chain.parent = null
    this.#chain.add(
      {
        logicalParentUuid: before,
        type: "system",
        subtype: "compact_boundary",
        content: "Conversation compacted",
        level: "info",
        compactMetadata: { trigger: "auto", preTokens, postTokens, durationMs: d.between(40_000, 150_000) },
      },
      90_000,
    )
    const summary = this.#project.prose(Math.min(d.between(6_000, 18_000), this.#chain.room))
    this.#chain.add(
      {
        promptId: this.#promptId,
        type: "user",
        message: {
          role: "user",
          content: `This session is being continued from a previous conversation that ran out of context.\n\nSummary:\n${summary}`,
        },
        isVisibleInTranscriptOnly: true,
        isCompactSummary: true,
      },
      10,
    )
    this.#contextTokens = postTokens
  }
}

/* What Claude Code writes beside a conversation: states, hooks, queued prompts, backups of files, figures of a turn. */

class Beside {
  readonly #dice: Dice
  readonly #project: Project
  readonly #chain: Chain
  readonly #sessionId: string

  constructor(dice: Dice, project: Project, chain: Chain, sessionId: string) {
    this.#dice = dice
    this.#project = project
    this.#chain = chain
    this.#sessionId = sessionId
  }

  /** Before a session's first prompt. */
  opening(): void {
    const sessionId = this.#sessionId
    this.#chain.loose({ type: "mode", mode: "normal", sessionId })
    this.#chain.loose({ type: "permission-mode", permissionMode: "default", sessionId })
    const content = this.#project.prose(Math.min(700, this.#chain.room))
    this.#hook("SessionStart:startup", "session-start", content, [20, 300])
    const skills = Array.from({ length: 12 }, () => `- ${this.#project.name()}: ${this.#project.prose(90)}`)
    if (this.#chain.room > 4_000)
      this.#chain.attachment({ type: "skill_listing", content: skills.join("\n"), isInitial: true })
  }

  queued(): void {
    const sessionId = this.#sessionId
    const content = this.#project.prose(this.#dice.between(20, 260))
    this.#chain.loose({
      type: "queue-operation",
      operation: "enqueue",
      timestamp: this.#chain.now(900),
      sessionId,
      content,
    })
    this.#chain.loose({
      type: "queue-operation",
      operation: "dequeue",
      timestamp: this.#chain.now(4_000),
      sessionId,
    })
  }

  /** Before a prompt. */
  snapshot(messageId: string): void {
    const d = this.#dice
    const timestamp = this.#chain.now(1)
    const trackedFileBackups: Record<string, unknown> = {}
    const count = d.between(0, 8)
    for (let i = 0; i < count && this.#chain.room > 2_000; i++) {
      const path = this.#project.files[i]!.path.slice(this.#project.root.length + 1)
      const version = d.between(1, 9)
      trackedFileBackups[path] = {
        backupFileName: `${d.hex(16)}@v${version}`,
        version,
        backupTime: timestamp,
      }
    }
    const snapshot = { messageId, trackedFileBackups, timestamp }
    this.#chain.loose({ type: "file-history-snapshot", messageId, snapshot, isSnapshotUpdate: false })
  }

  /** Behind a prompt, at times. */
  prompted(): void {
    const d = this.#dice
    if (d.chance(0.5)) {
      const stdout = d.chance(0.3) ? this.#project.prose(300) : ""
      this.#hook("UserPromptSubmit", "prompt-submit", stdout, [10, 200])
    }
    if (d.chance(0.3)) {
      const aiTitle = capital(this.#project.phrase(6))
      this.#chain.loose({ type: "ai-title", aiTitle, sessionId: this.#sessionId })
    }
  }

  #hook(hookName: string, file: string, stdout: string, [least, most]: readonly [number, number]): void {
    this.#chain.attachment({
      type: "hook_success",
      hookName,
      toolUseID: this.#dice.uuid(),
      hookEvent: hookName.split(":")[0],
      content: stdout,
      stdout,
      stderr: "",
      exitCode: 0,
      command: `~/.claude/hooks/${file}`,
      durationMs: this.#dice.between(least, most),
    })
  }

  /** Behind an edit's answer. */
  edited(path: string): void {
    const backupFileName = `${this.#dice.hex(16)}@v2`
    const backup = { backupFileName, version: 2, backupTime: this.#chain.now(1) }
    this.#chain.loose({
      type: "file-history-delta",
      messageId: this.#chain.parent,
      trackedFileBackups: { [path]: backup },
    })
  }

  /** Of the open tasks. */
  reminder(): void {
    const d = this.#dice
    const content = Array.from({ length: d.between(0, 4) }, (_, i) => ({
      id: String(i + 1),
      subject: this.#project.phrase(6),
      status: d.pick(["pending", "in_progress", "completed"]),
      blocks: [],
      blockedBy: [],
    }))
    this.#chain.attachment({ type: "task_reminder", content, itemCount: content.length })
  }

  /** At the end of a turn. @param steps API messages with tools */
  closing(steps: number): void {
    const d = this.#dice
    const sessionId = this.#sessionId
    this.#chain.add(
      {
        type: "system",
        subtype: "stop_hook_summary",
        hookCount: 1,
        hookInfos: [{ command: "~/.claude/hooks/stop", durationMs: d.between(10, 300) }],
        hookErrors: [],
        preventedContinuation: false,
        stopReason: "",
        hasOutput: false,
        level: "suggestion",
      },
      20,
    )
    this.#chain.add(
      {
        type: "system",
        subtype: "turn_duration",
        durationMs: d.between(2_000, 900_000),
        messageCount: steps * 2 + 2,
        isMeta: false,
      },
      2,
    )
    const lastPrompt = this.#project.prose(d.between(20, 180))
    this.#chain.loose({ type: "last-prompt", lastPrompt, leafUuid: this.#chain.parent, sessionId })
    this.#chain.loose({ type: "mode", mode: "normal", sessionId })
  }
}

/* The lines of a generated session, each with the fields that Claude Code adds and its place in the chain. */

export interface CorpusOptions {
  /** Any integer. Different seeds give different sessions of different projects. */
  readonly seed: number
  /** The transcript ends with the first line that reaches this many bytes, overshooting by less than 16 KB. */
  readonly bytes: number
  readonly sessionId: string
  readonly cwd: string
  /** Claude Code's version, for example "2.1.229". */
  readonly version: string
  /** The transcript ends after this many turns, if that comes first. */
  readonly turns?: number
  /** `work` (default): turns as in the field. `talk`: a prompt and a short answer, about 2 KB a turn. */
  readonly style?: "work" | "talk"
  /** To continue a session: the uuid of its last record. Opening lines are then omitted. */
  readonly after?: string
  /** Maximum length of a tool result, in characters. */
  readonly largestResult?: number
}

interface ChainLine {
  readonly text: string
  readonly uuid: string | undefined
  readonly prompt: boolean
}

/** 2026-03-02 08:00 UTC; sessions begin up to 90 days later, depending on the seed. */
const EPOCH_MS = 1_772_438_400_000

class Chain {
  readonly #dice: Dice
  readonly #options: CorpusOptions
  #ms: number
  #lines: ChainLine[] = []
  /** Uuid of the chain's last line. */
  parent: string | null
  /** Bytes. */
  #written = 0

  constructor(dice: Dice, options: CorpusOptions) {
    this.#dice = dice
    this.#options = options
    this.#ms = EPOCH_MS + dice.between(0, 90 * 86_400_000)
    this.parent = options.after ?? null
  }

  /** Characters that a single field may still have, so that the end is not overshot by much. */
  get room(): number {
    return Math.max(600, Math.floor((this.#options.bytes - this.#written) / 4))
  }

  /** The lines added since the last call. */
  *drain(): Generator<ChainLine> {
    const lines = this.#lines
    this.#lines = []
    yield* lines
  }

  now(stepMs: number): string {
    this.#ms += stepMs
    return new Date(this.#ms).toISOString()
  }

  /** Adds a line outside the chain: no uuid, no parent. */
  loose(record: Record<string, unknown>): void {
    this.#push(JSON.stringify(record), undefined, false)
  }

  #push(json: string, uuid: string | undefined, prompt: boolean): void {
    const text = `${json}\n`
    this.#written += Buffer.byteLength(text)
    this.#lines.push({ text, uuid, prompt })
  }

  /** Adds a line to the chain, with the fields that Claude Code adds to every one. */
  add(fields: Record<string, unknown>, ms: number, prompt = false): string {
    const uuid = this.#dice.uuid()
    const { sessionId, cwd, version } = this.#options
    const link = { parent: this.parent, uuid, timestamp: this.now(ms) }
    const record = chained({ session: sessionId, cwd, version }, link, fields, "around")
    this.#push(JSON.stringify(record), uuid, prompt)
    this.parent = uuid
    return uuid
  }

  attachment(attachment: Record<string, unknown>): void {
    this.add({ attachment, type: "attachment" }, 2)
  }
}
