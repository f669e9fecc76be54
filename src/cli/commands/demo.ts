/** `ctxbridge demo`: plays a session with a compaction and shows what comes back. Touches nothing of the user's. */

import { appendFileSync, mkdirSync } from "node:fs"
import { EXIT } from "../../base/errors.ts"
import { dirname, join } from "../../base/path.ts"
import { runChild } from "../../base/processes.ts"
import { endProcessesIn, newFolder, type TemporaryFolder, temporaryFolder } from "../../base/temporary.ts"
import { bytes, count, shellWord } from "../../base/text.ts"
import { contextIn, FakeTranscript, type HookName, hookPayload } from "../../claude/fake/transcript.ts"
import { transcriptsFolder } from "../../claude/places.ts"
import { isolatedEnvironment, loadSettings, type PathsAndPolicy } from "../../config/load.ts"
import { sweepDue } from "../../job/due-work.ts"
import { ownCommand } from "../../job/spawn.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import type { Receipt } from "../../restore/receipt.ts"
import { receiptsOf } from "../../restore/session-receipts.ts"
import { CopyReaders } from "../../vault/reader.ts"
import { type VerifyReport, verify } from "../../vault/verify-vault.ts"
import type { Database } from "../../views/database.ts"
import { openCurrent } from "../../views/open-current.ts"
import { type Totals, totals } from "../../views/queries/totals.ts"
import { findTurns } from "../../views/queries/turns.ts"
import { readTurn, turnOf } from "../../views/turn.ts"
import { type Command, flag } from "../command.ts"
import { renderReceipt } from "../render-receipts.ts"
import { type Screen, screenOf, wrapped } from "../screen.ts"
import { type ShowPath, shortPath } from "../shown-path.ts"
import { safe } from "../style.ts"

export default {
  meta: {
    name: "demo",
    description: "Try it on a made-up session, apart from your archive",
  },
  args: {
    keep: flag("Keep the demo's folder, and say where it is"),
    quiet: flag("Print one line", "q"),
  },
  async run({ args, out }) {
    const keep = args["keep"] === true
    using temporary = keep ? kept() : temporaryFolder("demo", endProcessesIn)
    const folder = temporary.path
    const { receipt, ...report } = await runDemo(folder)
    const showPath = (path: string): string => shortPath(path, { cwd: join(folder, PROJECT), home: folder })
    out.print(args["quiet"] === true ? inShort(report) : render(report, receipt, screenOf(out), showPath))
    if (keep) out.print(`Kept: ${folder}\nLook around: ${lookAround(folder)}`)
    out.json({ ...report, folder: keep ? folder : null })
    return report.ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

/** Folder of the made-up project. */
const PROJECT = "linkbox"

/** A folder that is never removed. */
const kept = (): TemporaryFolder => ({
  path: newFolder("ctxbridge-demo-"),
  [Symbol.dispose]() {},
})

/** Opens a shell in the demo's project, with its own home folder, or `verify` would look for the user's transcripts. */
const lookAround = (folder: string): string => {
  const [project, home, archive] = [join(folder, PROJECT), folder, join(folder, "archive")].map(shellWord)
  return `cd ${project} && HOME=${home} CTXBRIDGE_HOME=${archive} sh`
}

function inShort({ ok, totals, checks }: DemoReport): string[] {
  if (ok) return [`demo: ${count(totals.turns, "turn")} archived, restored after a compaction`]
  return checks.filter((check) => !check.ok).map(({ name }) => `demo: failed: ${safe(name)}`)
}

/** The story in short: what was played, what the compaction did, and what came back. */
function render(
  report: DemoReport,
  receipt: Receipt | undefined,
  screen: Screen,
  showPath: ShowPath,
): string[] {
  const { totals, verify, hooks, checks, ok } = report
  const { style } = screen
  const times = hooks.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const median = times[times.length >> 1] ?? 0
  const failed = checks.filter((check) => !check.ok)
  return [
    `A made-up session, played through the real hooks: ${count(totals.turns, "turn")}, ${count(totals.toolCalls, "tool call")}`,
    ...(receipt === undefined ? [] : renderReceipt(receipt, screen, showPath, "given")),
    ok
      ? style.green(
          `${checks.length} checks passed: ${bytes(verify.totals.bytes)} archived byte for byte; ${count(hooks.length, "hook call")}, median ${median.toFixed(0)} ms`,
        )
      : style.red(`${failed.length} of ${checks.length} checks FAILED:`),
    ...failed.map(({ name }) => style.red(`  ${name}`)),
  ].flatMap((line) => wrapped(line, screen.columns))
}

/* Plays Claude Code: writes the demo's transcript and calls this executable's real hooks, each as its own process. */

interface PlayedHook {
  readonly event: string
  readonly ms: number
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

interface DemoReport {
  readonly ok: boolean
  readonly session: string
  readonly prompts: number
  readonly transcriptBytes: number
  readonly totals: Totals
  readonly verify: Pick<VerifyReport, "ok" | "totals">
  /** What the hook told Claude Code's compaction to keep. */
  readonly instructions: string
  /** The context given back after it. */
  readonly restored: string
  readonly checks: readonly Check[]
  readonly hooks: readonly PlayedHook[]
  readonly ms: number
}

/** How long ago the session began, in ms: its last line is not to be in the future. */
const AGO = 120_000

/** @param folder an empty folder for everything that the demo writes */
async function runDemo(folder: string): Promise<DemoReport & { readonly receipt: Receipt | undefined }> {
  const start = performance.now()
  const env = isolatedEnvironment(folder)
  const { paths } = loadSettings(undefined, env)
  const cwd = join(folder, PROJECT)
  const session = demoSession(crypto.randomUUID(), cwd, Date.now() - AGO)
  const transcript = join(transcriptsFolder(paths.claudeDir), "-linkbox", `${session.id}.jsonl`)
  mkdirSync(cwd, { recursive: true })
  mkdirSync(dirname(transcript), { recursive: true })
  // Claim this hour's sweep of the folder, which would start a job that outlives the demo.
  sweepDue(dirname(transcript), paths.stateHome, Date.now())
  const hooks: PlayedHook[] = []
  const hook: CallHook = async (event, more) => {
    const payload = hookPayload(event, { session: session.id, transcript, cwd }, more)
    hooks.push(await callHook(event, payload, env))
    return hooks.at(-1)!.stdout
  }
  const { instructions, restored } = await play(session, hook, (text) => appendFileSync(transcript, text))
  return {
    ...judge(paths, session, transcript, { instructions, restored, hooks }),
    instructions,
    restored,
    hooks,
    ms: performance.now() - start,
  }
}

type CallHook = (event: HookName, more?: object) => Promise<string>

/** Calls the hooks in Claude Code's order. */
async function play(session: DemoSession, hook: CallHook, write: (text: string) => void) {
  await hook("session-start", { source: "startup" })
  for (const { prompt, text } of session.turns) {
    await hook("user-prompt-submit", { prompt })
    write(text)
    await hook("stop")
  }
  await hook("user-prompt-submit", { prompt: session.pending })
  const instructions = await hook("pre-compact", { trigger: "auto" })
  await hook("subagent-stop", { agent_type: "", last_assistant_message: session.compaction.summary })
  write(session.compaction.text)
  const restored = contextIn(await hook("session-start", { source: "compact" })) ?? ""
  return { instructions, restored }
}

async function callHook(
  event: string,
  stdin: string,
  env: Record<string, string | undefined>,
): Promise<PlayedHook> {
  const {
    ms,
    code: exitCode,
    stdout,
    stderr,
  } = await runChild([...ownCommand(), "hook", event], { stdin, env })
  return { event, ms, exitCode, stdout, stderr }
}

function judge(
  paths: PathsAndPolicy,
  session: DemoSession,
  transcript: string,
  seen: { instructions: string; restored: string; hooks: readonly PlayedHook[] },
) {
  const report = verify({ dataHome: paths.dataHome, home: paths.home, transcripts: [transcript] })
  using db = openCurrent(paths.dataHome, "command")
  const counted = totals(db)
  const list = checks({
    ...seen,
    db,
    dataHome: paths.dataHome,
    session,
    verified: report.ok,
    turns: counted.turns,
  })
  return {
    ok: list.every(({ ok }) => ok),
    session: session.id,
    prompts: session.turns.length,
    transcriptBytes: report.totals.bytes,
    totals: counted,
    verify: { ok: report.ok, totals: report.totals },
    checks: list,
    receipt: receiptsOf(db, paths.dataHome, { session: session.id, limit: 1 })[0],
  }
}

/*
 * A small synthetic session in Claude Code's format: a constraint, a decision, todos, edits, a failing and a successful
 * command, and an automatic compaction that swallows a prompt. Pure: the same start gives the same bytes.
 */

interface DemoTurn {
  readonly prompt: string
  /** Lines of the transcript, including newlines. */
  readonly text: string
}

interface DemoSession {
  readonly id: string
  readonly cwd: string
  readonly turns: readonly DemoTurn[]
  /** Typed just before the compaction, so Claude Code has not written it yet. */
  readonly pending: string
  readonly compaction: { readonly summary: string; readonly text: string }
}

/** Parts of the session that must come back. */
const FACTS = {
  constraint: "Never store an IP address in plain text.",
  decision:
    "I decided on a token bucket instead of a fixed window, because a window lets bursts through at its edge.",
  todo: "Fix the sixth request that passes",
  file: "src/rate-limit.ts",
  failing: "npm test -- rate-limit",
  error: "AssertionError: expected 5 requests to pass, got 6",
  good: "npx tsc --noEmit",
} as const

/** This version of Claude Code loses a prompt that comes just before an automatic compaction. */
const VERSION = "2.1.112"
const MODEL = "claude-sonnet-4-6"

const SUMMARY = `This session is being continued from a previous conversation that ran out of context.

Summary:
The user asked for rate limiting on the login endpoint of a link shortener. A limiter was written, which names its
buckets with createHmac, and wired in. test/rate-limit.test.ts was added and does not pass yet. The type check is clean.`

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
function demoSession(id: string, cwd: string, start: number): DemoSession {
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
  readonly #transcript: FakeTranscript
  #tokens = 18_000

  constructor(id: string, cwd: string, start: number) {
    this.#transcript = new FakeTranscript({ session: id, cwd, version: VERSION, start })
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

/* Checks whether the demo's session really came back. */

interface Check {
  readonly name: string
  readonly ok: boolean
}

interface Seen {
  readonly db: Database
  readonly dataHome: string
  readonly session: DemoSession
  readonly instructions: string
  readonly restored: string
  readonly hooks: readonly { readonly exitCode: number; readonly stderr: string }[]
  readonly verified: boolean
  readonly turns: number
}

function checks(seen: Seen): Check[] {
  const { session, instructions, restored, hooks } = seen
  const summary = session.compaction.summary
  const lost = Object.values(FACTS).filter((fact) => !summary.includes(fact))
  return [
    {
      name: "every hook exited 0 with nothing on stderr",
      ok: hooks.every((h) => h.exitCode === 0 && h.stderr === ""),
    },
    { name: `all ${session.turns.length} turns are archived`, ok: seen.turns === session.turns.length },
    { name: "every byte of the transcript is in the vault", ok: seen.verified },
    {
      name: "the compaction was asked to keep the user's constraint",
      ok: instructions.includes(FACTS.constraint),
    },
    { name: "the summary lost what is checked below", ok: lost.length === Object.keys(FACTS).length },
    { name: "restored: the prompt that the compaction swallowed", ok: restored.includes(session.pending) },
    { name: "restored: the user's constraint, word for word", ok: restored.includes(FACTS.constraint) },
    { name: "restored: the decision and why", ok: restored.includes(FACTS.decision) },
    { name: "restored: the open todo", ok: restored.includes(FACTS.todo) },
    { name: "restored: the file in progress", ok: restored.includes(FACTS.file) },
    {
      name: "restored: the failing command and its exit code",
      ok: hasLine(restored, [FACTS.failing, FACTS.error, "exit 1"]),
    },
    { name: "restored: the last good command", ok: restored.includes(FACTS.good) },
    { name: "a handle in it opens the whole turn", ok: opensTurn(seen) },
  ]
}

const hasLine = (text: string, words: readonly string[]): boolean =>
  text.split("\n").some((line) => words.every((word) => line.includes(word)))

/** Whether the failing command's handle leads to the tool's original output. */
function opensTurn({ restored, db, dataHome }: Seen): boolean {
  const line = restored.split("\n").find((one) => one.includes(FACTS.failing)) ?? ""
  const handle = new RegExp(`${HANDLE_PREFIX}([0-9a-z]+)`).exec(line)?.[1]
  const turn = handle === undefined ? undefined : findTurns(db, handle)[0]
  if (turn === undefined) return false
  using readers = new CopyReaders()
  const { messages } = readTurn(db, dataHome, turnOf(turn), readers)
  return messages.some(({ parts }) =>
    parts.some((p) => p.kind === "toolResult" && p.text.includes(FACTS.error)),
  )
}
