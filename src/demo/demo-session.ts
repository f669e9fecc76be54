/**
 * A small synthetic session in the host's format: a constraint, a decision, todos, edits, a failing and a successful
 * command, and an automatic compaction that swallows a prompt. Pure: the same start gives the same bytes.
 */
import { HostTranscript } from "../claude/fake/transcript.ts"

interface DemoTurn {
  readonly prompt: string
  /** Lines of the transcript, including newlines. */
  readonly text: string
}

export interface DemoSession {
  readonly id: string
  readonly cwd: string
  readonly turns: readonly DemoTurn[]
  /** Typed just before the compaction, so the host has not written it yet. */
  readonly pending: string
  readonly compaction: { readonly summary: string; readonly text: string }
}

/** Parts of the session that must come back. */
export const FACTS = {
  constraint: "Never store an IP address in plain text.",
  decision:
    "I decided on a token bucket instead of a fixed window, because a window lets bursts through at its edge.",
  todo: "Fix the sixth request that passes",
  file: "src/rate-limit.ts",
  failing: "npm test -- rate-limit",
  error: "AssertionError: expected 5 requests to pass, got 6",
  good: "npx tsc --noEmit",
} as const

/** This version of the host loses a prompt that comes just before an automatic compaction. */
const VERSION = "2.1.112"
const MODEL = "claude-sonnet-4-6"

const SUMMARY = `This session is being continued from a previous conversation that ran out of context.

Summary:
The user asked for rate limiting on the login endpoint of a link shortener. A limiter was written and wired in, and
tests were added. One of the tests does not pass yet. The type check is clean.`

const RATE_LIMIT = `import { createHmac } from "node:crypto"

export function allow(buckets, address, key, now) {
  const name = createHmac("sha256", key).update(address).digest("hex")
  const bucket = buckets.get(name) ?? { tokens: 5, at: now }
  if (bucket.tokens < 0) return false
  buckets.set(name, { ...bucket, tokens: bucket.tokens - 1 })
  return true
}
`

/** @param start time of the first line, in ms since the epoch */
export function demoSession(id: string, cwd: string, start: number): DemoSession {
  const log = new Log(id, cwd, start)
  return {
    id,
    cwd,
    turns: [limiter(log, cwd), tests(log, cwd), typeCheck(log)],
    pending:
      "Find out why the sixth request passes. The public function stays as it is; there is a log in /tmp/requests.txt.",
    compaction: { summary: SUMMARY, text: log.compaction(SUMMARY) },
  }
}

function limiter(log: Log, cwd: string): DemoTurn {
  const prompt = `Add rate limiting to the login endpoint: five tries a minute. ${FACTS.constraint}`
  log.prompt(prompt)
  log.thinking("An address must not be stored, but a keyed hash of it can serve as the bucket's name.")
  log.say(FACTS.decision)
  log.call(
    "TodoWrite",
    {
      todos: [
        { content: "Write the limiter", status: "in_progress", activeForm: "Writing the limiter" },
        { content: FACTS.todo, status: "pending", activeForm: "Fixing the sixth request" },
      ],
    },
    "Todos have been modified successfully.",
  )
  log.call(
    "Write",
    { file_path: `${cwd}/${FACTS.file}`, content: RATE_LIMIT },
    `File created successfully at: ${cwd}/${FACTS.file}`,
  )
  log.call(
    "Edit",
    {
      file_path: `${cwd}/src/server.ts`,
      old_string: "router.post('/login', login)",
      new_string: "router.post('/login', limited(login))",
    },
    `The file ${cwd}/src/server.ts has been updated.`,
  )
  log.say("The limiter is in place and wired into the login route.")
  return { prompt, text: log.take() }
}

function tests(log: Log, cwd: string): DemoTurn {
  const prompt = "Now tests for it, please."
  log.prompt(prompt)
  log.call(
    "Write",
    {
      file_path: `${cwd}/test/rate-limit.test.ts`,
      content: "test('the sixth try is refused', () => expect(passed(6)).toBe(5))\n",
    },
    `File created successfully at: ${cwd}/test/rate-limit.test.ts`,
  )
  log.call(
    "Bash",
    { command: FACTS.failing, description: "Run the new tests" },
    `Exit code 1\n${FACTS.error}\n    at test/rate-limit.test.ts:1:57`,
    true,
  )
  log.call(
    "TodoWrite",
    {
      todos: [
        { content: "Write the limiter", status: "completed", activeForm: "Writing the limiter" },
        { content: FACTS.todo, status: "in_progress", activeForm: "Fixing the sixth request" },
      ],
    },
    "Todos have been modified successfully.",
  )
  log.say("Five tries should pass and six do: a bucket with no token left still lets one through.")
  return { prompt, text: log.take() }
}

function typeCheck(log: Log): DemoTurn {
  const prompt = "Does the type check pass, at least?"
  log.prompt(prompt)
  log.call("Bash", { command: FACTS.good, description: "Check the types" }, "")
  log.say("Yes, the type check finds nothing.")
  return { prompt, text: log.take() }
}

/** The demo's transcript, one record after the other. */
class Log {
  readonly #transcript: HostTranscript
  #tokens = 18_000

  constructor(id: string, cwd: string, start: number) {
    this.#transcript = new HostTranscript({ session: id, cwd, version: VERSION, start })
  }

  /** Returns what was written since the last call. */
  take = (): string => this.#transcript.take()

  prompt(text: string): void {
    this.#transcript.user(text)
  }

  say(text: string): void {
    this.#assistant({ type: "text", text }, "end_turn")
  }

  thinking(thinking: string): void {
    this.#assistant({ type: "thinking", thinking, signature: "c3ludGhldGlj" }, null)
  }

  call(name: string, input: Record<string, unknown>, content: string, isError = false): void {
    const id = `toolu_demo${this.#number()}`
    this.#assistant({ type: "tool_use", id, name, input }, "tool_use")
    const result = { type: "tool_result", tool_use_id: id, content, ...(isError ? { is_error: true } : {}) }
    const toolUseResult = isError ? `Error: ${content}` : { stdout: content, stderr: "", interrupted: false }
    this.#transcript.user([result], { toolUseResult })
  }

  compaction(summary: string): string {
    this.#transcript.boundary("auto", this.#tokens)
    this.#transcript.user(summary, { isVisibleInTranscriptOnly: true, isCompactSummary: true })
    return this.take()
  }

  #number = (): string => String(this.#transcript.lines).padStart(4, "0")

  #assistant(block: Record<string, unknown>, stop_reason: string | null): void {
    const usage = {
      input_tokens: 4,
      cache_creation_input_tokens: 396,
      cache_read_input_tokens: this.#tokens,
      output_tokens: 60,
    }
    this.#tokens += 400
    const message = { id: `msg_demo${this.#number()}`, model: MODEL, stop_reason, stop_sequence: null, usage }
    this.#transcript.block(block, { requestId: `req_demo${this.#transcript.lines}` }, message)
  }
}
