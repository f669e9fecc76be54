/**
 * What a hook costs: the compiled binary against `node -e 0` and an empty compiled Bun program, in the same rounds,
 * with transcripts and archives of several sizes. Milliseconds depend on the machine; the ratios tell about us.
 */

import { copyFileSync, cpSync, existsSync, rmSync, statSync, writeFileSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import { CtxError } from "../../base/errors.ts"
import { dirname, join } from "../../base/path.ts"
import { temporaryFolder } from "../../base/temporary.ts"
import { hookPayload } from "../../claude/fake/transcript.ts"
import { projectOf } from "../../views/project.ts"
import { MOST_REMINDERS, writeReminders } from "../../views/reminders.ts"
import { appendTranscript, writeTranscript } from "./corpus.ts"
import {
  type FirstRead,
  type Ratio,
  type Report,
  type ReportRow,
  type Scenario,
  verdictsOn,
} from "./hook-tables.ts"
import {
  BenchWorld,
  type Case,
  measureCommands,
  peakFloor,
  peakMemory,
  type Result,
  runOnce,
  sessionId,
  type Tracked,
  turnsIn,
} from "./hook-world.ts"

/**
 * Runs everything in a temporary folder (about 1 GB for 150 MB and 100,000 turns), which is removed at the end. The
 * user's own archive and settings are not touched.
 */
export async function benchHooks(options: BenchOptions): Promise<Report> {
  using folder = temporaryFolder("bench")
  const bench = new HookBench(options, folder.path)
  try {
    return await bench.run()
  } finally {
    await bench.quiet()
  }
}

/** What is measured by default. */
type Plan = Omit<BenchOptions, "exe" | "onProgress">

export const FULL_PLAN: Plan = { sizes: [1, 15, 150], archives: [0, 100_000], rounds: 30, firstReadMB: 150 }

export const QUICK_PLAN: Plan = { sizes: [1, 15], archives: [0], rounds: 12 }

/* One run of the hooks' benchmark: what is measured, in which order, and the resulting report. */

interface BenchOptions {
  /** The compiled ctxbridge. */
  readonly exe: string
  /** Sizes of transcripts, in MB (10^6 bytes). */
  readonly sizes: readonly number[]
  /** Numbers of other turns in the archive. */
  readonly archives: readonly number[]
  readonly rounds: number
  /** Size in MB of the transcript that is read for the first time. Undefined: that scenario is skipped. */
  readonly firstReadMB?: number
  /** The user's own environment. If it slows node down, node is measured with and without it, and judged with it. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly onProgress?: (step: string, done: number, total: number) => void
}

const WARMUP = 3
/** How often a transcript is read for the first time, each time into a new archive. */
const FIRST_READS = 3
/** Settings that commonly slow down `node -e 0`: a certificate file alone triples its cost. */
const NODE_SETTINGS = ["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"]
const LITTLE_BYTES = 20_000
/**
 * The rows of a scenario. A restore is a different kind of work, done once per compaction, which takes a minute: it is
 * shown but not judged.
 */
const CALLS = [
  { hook: "user-prompt-submit", news: "nothing", limited: true },
  { hook: "user-prompt-submit", news: "little", limited: true },
  { hook: "stop", news: "nothing", limited: true },
  { hook: "stop", news: "little", limited: true },
  // With `recall.actions`, and as many reminders as there may be, of which none is of what is done.
  { hook: "pre-tool-use", news: "nothing", limited: true },
  { hook: "session-start", source: "startup", news: "nothing", limited: true },
  { hook: "session-start", source: "compact", news: "little", limited: false },
] as const satisfies readonly Call[]

interface Call {
  readonly hook: "user-prompt-submit" | "stop" | "pre-tool-use" | "session-start"
  readonly source?: string
  readonly news: ReportRow["news"]
  /** Whether the limits apply to it. */
  readonly limited: boolean
}

const REMINDERS = new Map(
  Array.from({ length: MOST_REMINDERS }, (_, n) => [
    `run make step-${n}`,
    {
      session: sessionId(n),
      time: n,
      text: "It failed the last 2 times, with an error of some length. ".repeat(5),
    },
  ]),
)

const labelOf = ({ hook, source }: Call): string => (source === undefined ? hook : `${hook}-${source}`)

class HookBench {
  readonly #options: BenchOptions
  readonly #dir: string
  readonly #notes: string[] = []
  readonly #world: BenchWorld
  #starts = 0

  constructor(options: BenchOptions, dir: string) {
    this.#options = options
    this.#dir = dir
    this.#world = new BenchWorld(dir, options.exe)
  }

  async run(): Promise<Report> {
    const { archives, sizes, rounds } = this.#options
    this.#world.make()
    this.#say("compiling the empty program")
    const built = buildEmpty(this.#options.exe, this.#dir)
    // Both binaries are copied, as an installer would. How a file was written decides how its pages lie in the page
    // cache: a copy starts about a tenth faster than the same bytes as written by the compiler.
    const exe = join(this.#dir, "ctxbridge")
    copyFileSync(this.#options.exe, exe)
    copyFileSync(built, `${built}-copy`)
    const empty: Case = { name: "empty", argv: [`${built}-copy`], env: this.#world.env() }
    this.#world.exe = exe
    const node = this.#node()
    const floor = await peakFloor()
    const firstRead = await this.#firstRead()
    const scenarios: Scenario[] = []
    for (const turns of archives) {
      if (turns > 0) this.#say(`an archive of ${turns} turns`)
      const base = await this.#world.archiveOf(turns)
      for (const size of sizes) scenarios.push(await this.#scenario(base, turns, size, node, empty))
      rmSync(base, { recursive: true, force: true })
    }
    const first = cpus()[0]
    return {
      suite: "hooks",
      at: new Date().toISOString(),
      machine: {
        os: `${process.platform} ${release().split(".", 2).join(".")}`,
        arch: process.arch,
        cpu: first?.model.trim() ?? "unknown",
        cpus: cpus().length,
        memoryGB: Math.round(totalmem() / 2 ** 30),
      },
      versions: {
        bun: Bun.version,
        node: node && (await runOnce({ ...node, argv: [node.argv[0]!, "--version"] })).stdout.trim(),
        ctxbridge: (
          await runOnce({ name: "version", argv: [exe, "--version"], env: this.#world.env() })
        ).stdout.trim(),
      },
      rounds,
      peakFloorMB: floor,
      scenarios,
      firstRead,
      verdicts: verdictsOn(scenarios, firstRead),
      notes: this.#notes,
    }
  }

  /** Waits until nothing of ours is running. */
  quiet(): Promise<void> {
    return this.#world.quiet()
  }

  #say(step: string, done = 0, total = 1): void {
    this.#options.onProgress?.(step, done, total)
  }

  #node(): Case | undefined {
    const path = Bun.which("node")
    if (path === null) {
      this.#notes.push("node is not on PATH: no ratio to `node -e 0`")
      return undefined
    }
    return { name: "node", argv: [path, "-e", "0"], env: this.#world.env() }
  }

  #nodeAsSet(node: Case): Case | undefined {
    const set = Object.entries(this.#options.environment ?? {}).filter(
      (entry): entry is [string, string] => NODE_SETTINGS.includes(entry[0]) && (entry[1] ?? "") !== "",
    )
    if (set.length === 0) return undefined
    return { ...node, name: "node as set", env: { ...node.env, ...Object.fromEntries(set) } }
  }

  /** Runs one scenario on a copy of the base's data, with its own transcript, fully archived. */
  async #scenario(
    base: string,
    archiveTurns: number,
    transcriptMB: number,
    node: Case | undefined,
    empty: Case,
  ): Promise<Scenario> {
    const asSet = node && this.#nodeAsSet(node)
    const label = `${transcriptMB} MB, ${archiveTurns} turns`
    this.#say(`${label}: archiving the transcript`)
    this.#world.dataHome = join(this.#dir, "data")
    cpSync(base, this.#world.dataHome, { recursive: true })
    const folder = `bench-${transcriptMB}`
    const measured = this.#world.tracked(folder, sessionId(transcriptMB), transcriptMB)
    // Compactions have a session of their own, since they change what a prompt costs afterwards.
    const compacted = this.#world.tracked(folder, sessionId(50_000 + transcriptMB), transcriptMB)
    const { transcript } = measured
    await this.#world.archive([transcript, compacted.transcript])
    writeReminders(this.#world.dataHome, projectOf(this.#world.project), REMINDERS)
    const turns = turnsIn(this.#world.dataHome)

    const cases = [empty, node, asSet].filter((one) => one !== undefined)
    const own = CALLS.map((call: Call) => {
      const name = `hook/${labelOf(call)}/${call.news}-new/${transcriptMB}MB/${archiveTurns}-turns`
      return { call, case: this.#hookCase(name, call, call.source === "compact" ? compacted : measured) }
    })
    const results = await measureCommands([...cases, ...own.map((one) => one.case)], {
      rounds: this.#options.rounds,
      warmup: WARMUP,
      onRound: (done, total) => this.#say(label, done, total),
    })
    const emptyResult = results[0]!
    const nodeBare = node && results[1]
    const nodeAsSet = asSet && results[2]
    const rows = own.map(({ case: { name }, call }, i): ReportRow => {
      const result = results[cases.length + i]!
      return {
        name,
        hook: labelOf(call),
        news: call.news,
        limited: call.limited,
        transcriptMB,
        archiveTurns,
        result,
        cpuVsNode: nodeBare && ratio(result, nodeBare),
        cpuVsEmpty: ratio(result, emptyResult),
      }
    })
    await this.#world.quiet()
    const unread = [measured, compacted]
      .map((one) => this.#world.stateOf(one.transcript))
      .reduce((sum, { size, archived }) => sum + size - archived, 0)
    rmSync(this.#world.dataHome, { recursive: true, force: true })
    rmSync(dirname(transcript), { recursive: true, force: true })
    return {
      transcriptMB,
      archiveTurns,
      turns,
      unread,
      node: nodeBare,
      nodeAsSet,
      empty: emptyResult,
      rows,
    }
  }

  #hookCase(name: string, call: Call, tracked: Tracked): Case {
    const { session, transcript } = tracked
    return {
      name,
      argv: [this.#world.exe, "hook", call.hook],
      env: { ...this.#world.env(), ...(call.hook === "pre-tool-use" && { CTXBRIDGE_RECALL: "on" }) },
      cwd: this.#world.project,
      // A session starts only once, so each call uses a new one.
      stdin: () => {
        if (call.source !== "startup") return hookInput(call, transcript, session, this.#world.project)
        const fresh = sessionId(100_000 + this.#starts++)
        return hookInput(call, join(dirname(transcript), `${fresh}.jsonl`), fresh, this.#world.project)
      },
      before: async () => {
        // The last call's background job must not run at the same time.
        this.#world.waitForJob()
        // The only hook here that reads the views: other calls' news must not slow it down.
        if (call.hook === "session-start") await this.#world.archive([transcript])
        if (call.news === "little") {
          const { lastUuid } = tracked.size
          const after = lastUuid === undefined ? {} : { after: lastUuid }
          const more = { ...this.#world.corpus(LITTLE_BYTES, session), largestResult: 4_000, ...after }
          tracked.size = appendTranscript(transcript, more)
        }
      },
    }
  }

  async #firstRead(): Promise<FirstRead | undefined> {
    const { firstReadMB: transcriptMB } = this.#options
    if (transcriptMB === undefined) return undefined
    const session = sessionId(9_000)
    const transcript = this.#world.transcriptPath("first-read", session)
    writeTranscript(transcript, this.#world.corpus(transcriptMB * 1e6, session))
    const size = statSync(transcript).size
    const call = CALLS[0]
    const newCase = (): Case => ({
      name: `hook/${call.hook}/first-read/${transcriptMB}MB`,
      argv: [this.#world.exe, "hook", call.hook],
      env: this.#world.env(),
      cwd: this.#world.project,
      stdin: hookInput(call, transcript, session, this.#world.project),
    })
    const runs: FirstRead["runs"][number][] = []
    for (let n = 0; n < FIRST_READS; n++) {
      this.#say(`first read of ${transcriptMB} MB`, n, FIRST_READS)
      this.#world.dataHome = join(this.#dir, `first-${n}`)
      const start = performance.now()
      const { exitCode, wallMs, cpuMs } = await runOnce(newCase())
      const committedMB = this.#world.stateOf(transcript).archived / 1e6
      let vaultCompleteMs: number | undefined
      let indexCompleteMs: number | undefined
      while (indexCompleteMs === undefined && performance.now() - start < 300_000) {
        const state = this.#world.stateOf(transcript)
        const now = performance.now() - start
        if (state.archived >= size) vaultCompleteMs ??= now
        if (state.indexed >= size) indexCompleteMs ??= now
        await Bun.sleep(20)
      }
      runs.push({ exitCode, wallMs, cpuMs, committedMB, vaultCompleteMs, indexCompleteMs })
      await this.#world.quiet()
      rmSync(this.#world.dataHome, { recursive: true, force: true })
    }
    this.#world.dataHome = join(this.#dir, "first-memory")
    const peakMB = await peakMemory(newCase())
    await this.#world.quiet()
    rmSync(this.#world.dataHome, { recursive: true, force: true })
    rmSync(dirname(transcript), { recursive: true, force: true })
    return { name: newCase().name, transcriptMB, runs, peakMB }
  }
}

/** What an event has besides its session. */
const fieldsOf = ({ hook, source }: Call): object => {
  if (hook === "user-prompt-submit") return { prompt: "Run the tests again, please." }
  if (hook === "pre-tool-use")
    return { tool_name: "Bash", tool_input: { command: "cd app && npm test -- parser 2>&1 | tail -40" } }
  return hook === "stop" ? { stop_hook_active: false } : { source }
}

const hookInput = (call: Call, transcript: string, session: string, cwd: string): string =>
  hookPayload(call.hook, { session, transcript, cwd }, { permission_mode: "default", ...fieldsOf(call) })

const ratio = (of: Result, to: Result): Ratio => ({
  median: of.cpuMs.median / to.cpuMs.median,
  min: of.cpuMs.min / to.cpuMs.min,
})

/* The baseline: an empty program compiled with the same runtime as ctxbridge. */

/**
 * Compiles an empty program with the Bun inside `exe` (a compiled ctxbridge, or bun itself). With BUN_BE_BUN=1 the
 * binary becomes the bun command and copies its own runtime, so neither bun nor a network is needed. Takes about half a
 * second and 110 MB in `dir`, which must be a folder of the caller's own, since Bun reads settings from the working
 * directory.
 *
 * @returns the path of the binary
 */
export function buildEmpty(exe: string, dir: string): string {
  const source = join(dir, "empty.ts")
  const binary = join(dir, process.platform === "win32" ? "empty.exe" : "empty")
  writeFileSync(source, "export {}\n")
  const build = Bun.spawnSync(
    [
      exe,
      "build",
      source,
      "--compile",
      "--production",
      "--no-compile-autoload-dotenv",
      "--no-compile-autoload-bunfig",
      `--outfile=${binary}`,
    ],
    {
      cwd: dir,
      env: { BUN_BE_BUN: "1", HOME: dir, TMPDIR: dir },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    },
  )
  if (build.exitCode !== 0 || !existsSync(binary)) {
    const said = build.stderr.toString().trim().split("\n").at(-1) ?? ""
    throw new CtxError("bench-empty", `could not compile the empty program: ${said}`)
  }
  return binary
}
