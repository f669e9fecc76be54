/** One run of the hooks' benchmark: builds archives with the binary itself, then measures its calls. */
import { copyFileSync, cpSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { cpus, release, totalmem } from "node:os"
import { dirname, join } from "node:path"
import { CtxError } from "../util/errors.ts"
import { type ArchiveState, archiveState, jobIsIdle, turnsIn } from "./archive-state.ts"
import { appendTranscript, type CorpusSize, writeTranscript } from "./corpus.ts"
import { buildEmpty } from "./empty.ts"
import { judge } from "./judge.ts"
import { type Case, measureCommands, peakFloor, peakMemory, type Result, runOnce } from "./measure.ts"
import type { FirstRead, Ratio, Report, Row, Scenario } from "./report.ts"

export interface BenchOptions {
  /** The compiled ctxbridge. */
  readonly exe: string
  /** Transcripts, in MB of 10^6 bytes. */
  readonly sizes: readonly number[]
  /** Turns that the archive holds besides. */
  readonly archives: readonly number[]
  readonly rounds: number
  /** MB of the transcript that is read for the first time; none: that scenario is left out. */
  readonly firstReadMB?: number
  readonly firstReadRuns?: number
  /** The user's own environment: where it makes node slower, node is measured both ways, and judged as it starts. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly onProgress?: (step: string, done: number, total: number) => void
}

const WARMUP = 3
/** What commonly makes `node -e 0` cost more: a certificate file alone triples it. */
const NODE_SETTINGS = ["NODE_OPTIONS", "NODE_EXTRA_CA_CERTS"]
const HOST_VERSION = "2.1.229"
/** Of one transcript in the archive of many turns. */
const TURNS_EACH = 500
const LITTLE_BYTES = 20_000
/** The rows of a scenario. A restore is work of another kind, once in a compaction's minute: shown, not judged. */
const CALLS = [
  { hook: "user-prompt-submit", news: "nothing", limited: true },
  { hook: "user-prompt-submit", news: "little", limited: true },
  { hook: "stop", news: "nothing", limited: true },
  { hook: "stop", news: "little", limited: true },
  { hook: "session-start", source: "startup", news: "nothing", limited: true },
  { hook: "session-start", source: "compact", news: "little", limited: false },
] as const satisfies readonly Call[]

interface Call {
  readonly hook: "user-prompt-submit" | "stop" | "session-start"
  readonly source?: string
  readonly news: Row["news"]
  /** Whether the limits apply to it. */
  readonly limited: boolean
}

interface Tracked {
  readonly session: string
  readonly transcript: string
  size: CorpusSize
}

const labelOf = ({ hook, source }: Call): string => (source === undefined ? hook : `${hook}-${source}`)

export class HookBench {
  readonly #options: BenchOptions
  readonly #dir: string
  readonly #notes: string[] = []
  readonly #home: string
  readonly #project: string
  #exe: string
  #dataHome: string
  #seed = 1
  #starts = 0

  constructor(options: BenchOptions, dir: string) {
    this.#options = options
    this.#dir = dir
    this.#exe = options.exe
    this.#home = join(dir, "home")
    this.#project = join(dir, "shop")
    this.#dataHome = join(dir, "data")
  }

  async run(): Promise<Report> {
    const { archives, sizes, rounds } = this.#options
    mkdirSync(join(this.#project, ".git"), { recursive: true })
    writeFileSync(join(this.#project, ".git", "HEAD"), "ref: refs/heads/main\n")
    mkdirSync(this.#home)
    this.#say("compiling the empty program")
    const built = buildEmpty(this.#options.exe, this.#dir)
    // Both binaries as an installer leaves them. How a file was written decides how its pages lie in the page
    // cache: a copy starts about a tenth sooner than the same bytes as the compiler wrote them.
    const exe = join(this.#dir, "ctxbridge")
    copyFileSync(this.#options.exe, exe)
    copyFileSync(built, `${built}-copy`)
    const empty: Case = { name: "empty", argv: [`${built}-copy`], env: this.#env() }
    this.#exe = exe
    const node = this.#node()
    const floor = await peakFloor()
    const firstRead = await this.#firstRead()
    const scenarios: Scenario[] = []
    for (const turns of archives) {
      const base = await this.#archiveOf(turns)
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
          await runOnce({ name: "version", argv: [exe, "--version"], env: this.#env() })
        ).stdout.trim(),
      },
      rounds,
      peakFloorMB: floor,
      scenarios,
      firstRead,
      verdicts: judge(scenarios, firstRead),
      notes: this.#notes,
    }
  }

  #say(step: string, done = 0, total = 1): void {
    this.#options.onProgress?.(step, done, total)
  }

  /** What a hook gets to see; nothing of the user's. */
  #env(): Record<string, string> {
    return {
      HOME: this.#home,
      CTXBRIDGE_HOME: this.#dataHome,
      PATH: "/usr/bin:/bin",
      TMPDIR: this.#dir,
      BUN_OPTIONS: "",
      BUN_BE_BUN: "",
    }
  }

  #node(): Case | undefined {
    const path = Bun.which("node")
    if (path === null) {
      this.#notes.push("node is not on PATH: no ratio to `node -e 0`")
      return undefined
    }
    return { name: "node", argv: [path, "-e", "0"], env: this.#env() }
  }

  #nodeAsSet(node: Case): Case | undefined {
    const set = Object.entries(this.#options.environment ?? {}).filter(
      (entry): entry is [string, string] => NODE_SETTINGS.includes(entry[0]) && (entry[1] ?? "") !== "",
    )
    if (set.length === 0) return undefined
    return { ...node, name: "node as set", env: { ...node.env, ...Object.fromEntries(set) } }
  }

  /** A copy of the base's data for one scenario, with a transcript of its own that is archived to the end. */
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
    this.#dataHome = join(this.#dir, "data")
    cpSync(base, this.#dataHome, { recursive: true })
    const folder = `bench-${transcriptMB}`
    const measured = this.#tracked(folder, sessionId(transcriptMB), transcriptMB)
    // Compactions have a session of their own: what follows one is not what a prompt costs otherwise.
    const compacted = this.#tracked(folder, sessionId(50_000 + transcriptMB), transcriptMB)
    const { transcript } = measured
    await this.#archive([transcript, compacted.transcript])
    const turns = turnsIn(this.#dataHome)

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
    // A hook written for node would start as the user's settings make it start.
    const nodeResult = nodeAsSet ?? nodeBare
    const rows = own.map(({ case: { name }, call }, i): Row => {
      const result = results[cases.length + i]!
      return {
        name,
        hook: labelOf(call),
        news: call.news,
        limited: call.limited,
        transcriptMB,
        archiveTurns,
        result,
        cpuVsNode: nodeResult && ratio(result, nodeResult),
        cpuVsEmpty: ratio(result, emptyResult),
      }
    })
    await this.quiet()
    const state = archiveState(this.#dataHome, this.#home, transcript)
    rmSync(this.#dataHome, { recursive: true, force: true })
    rmSync(dirname(transcript), { recursive: true, force: true })
    return {
      transcriptMB,
      archiveTurns,
      turns,
      unread: state.size - state.archived,
      node: nodeBare,
      nodeAsSet,
      empty: emptyResult,
      rows,
    }
  }

  /** A session whose transcript grows as it is measured. */
  #tracked(folder: string, session: string, transcriptMB: number): Tracked {
    const transcript = this.#transcriptPath(folder, session)
    const size = writeTranscript(transcript, this.#corpus(transcriptMB * 1e6, session))
    return { session, transcript, size }
  }

  #hookCase(name: string, call: Call, tracked: Tracked): Case {
    const { session, transcript } = tracked
    return {
      name,
      argv: [this.#exe, "hook", call.hook],
      env: this.#env(),
      cwd: this.#project,
      // A session starts once: each call is about a new one.
      stdin: () => {
        if (call.source !== "startup") return hookInput(call, transcript, session, this.#project)
        const fresh = sessionId(100_000 + this.#starts++)
        return hookInput(call, join(dirname(transcript), `${fresh}.jsonl`), fresh, this.#project)
      },
      before: async () => {
        // What the last call left to the background must not run beside this one.
        this.#waitForJob()
        // The one hook here that reads the views: others' news must not be in its way.
        if (call.hook === "session-start") await this.#archive([transcript])
        if (call.news === "little") {
          const { lastUuid } = tracked.size
          const after = lastUuid === undefined ? {} : { after: lastUuid }
          const more = { ...this.#corpus(LITTLE_BYTES, session), largestResult: 4_000, ...after }
          tracked.size = appendTranscript(transcript, more)
        }
      },
    }
  }

  #corpus(bytes: number, session: string) {
    return { seed: this.#seed++, bytes, sessionId: session, cwd: this.#project, version: HOST_VERSION }
  }

  #transcriptPath(folder: string, session: string): string {
    const path = join(this.#home, ".claude", "projects", folder, `${session}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    return path
  }

  /** A data folder whose archive holds this many turns, made by the binary itself. */
  async #archiveOf(turns: number): Promise<string> {
    const base = join(this.#dir, `base-${turns}`)
    this.#dataHome = base
    mkdirSync(base)
    if (turns === 0) return base
    this.#say(`an archive of ${turns} turns`)
    const transcripts: string[] = []
    for (let done = 0; done < turns; done += TURNS_EACH) {
      const session = sessionId(10_000 + done)
      const path = this.#transcriptPath(`many-${done % 10}`, session)
      const corpus = this.#corpus(Number.POSITIVE_INFINITY, session)
      writeTranscript(path, { ...corpus, style: "talk", turns: Math.min(TURNS_EACH, turns - done) })
      transcripts.push(path)
    }
    await this.#archive(transcripts)
    const held = turnsIn(base)
    if (held < turns) throw new CtxError("bench-archive", `the archive holds ${held} of ${turns} turns`)
    for (const path of transcripts) rmSync(path)
    return base
  }

  /** Archives and indexes them to the end, with the binary's own `import`. */
  async #archive(transcripts: readonly string[]): Promise<void> {
    const behind = transcripts.filter((path) => !isComplete(archiveState(this.#dataHome, this.#home, path)))
    if (behind.length === 0) return
    const run = await runOnce({
      name: "import",
      argv: [this.#exe, "import", ...behind],
      env: this.#env(),
      cwd: this.#project,
    })
    const left = behind.filter((path) => !isComplete(archiveState(this.#dataHome, this.#home, path)))
    if (run.exitCode === 0 && left.length === 0) return
    const said = run.stderr.trim() || `${left.length} of ${behind.length} transcripts are not archived`
    throw new CtxError("bench-archive", `could not make the archive: ${said}`)
  }

  async #firstRead(): Promise<FirstRead | undefined> {
    const { firstReadMB: transcriptMB, firstReadRuns = 3 } = this.#options
    if (transcriptMB === undefined) return undefined
    const session = sessionId(9_000)
    const transcript = this.#transcriptPath("first-read", session)
    writeTranscript(transcript, this.#corpus(transcriptMB * 1e6, session))
    const size = statSync(transcript).size
    const call = CALLS[0]
    const newCase = (): Case => ({
      name: `hook/${call.hook}/first-read/${transcriptMB}MB`,
      argv: [this.#exe, "hook", call.hook],
      env: this.#env(),
      cwd: this.#project,
      stdin: hookInput(call, transcript, session, this.#project),
    })
    const runs: FirstRead["runs"][number][] = []
    for (let n = 0; n < firstReadRuns; n++) {
      this.#say(`first read of ${transcriptMB} MB`, n, firstReadRuns)
      this.#dataHome = join(this.#dir, `first-${n}`)
      const start = performance.now()
      const { exitCode, wallMs, cpuMs } = await runOnce(newCase())
      const committedMB = archiveState(this.#dataHome, this.#home, transcript).archived / 1e6
      let vaultCompleteMs: number | undefined
      let indexCompleteMs: number | undefined
      while (indexCompleteMs === undefined && performance.now() - start < 300_000) {
        const state = archiveState(this.#dataHome, this.#home, transcript)
        const now = performance.now() - start
        if (state.archived >= size) vaultCompleteMs ??= now
        if (state.indexed >= size) indexCompleteMs ??= now
        await Bun.sleep(20)
      }
      runs.push({ exitCode, wallMs, cpuMs, committedMB, vaultCompleteMs, indexCompleteMs })
      await this.quiet()
      rmSync(this.#dataHome, { recursive: true, force: true })
    }
    this.#dataHome = join(this.#dir, "first-memory")
    const peakMB = await peakMemory(newCase())
    await this.quiet()
    rmSync(this.#dataHome, { recursive: true, force: true })
    rmSync(dirname(transcript), { recursive: true, force: true })
    return { name: newCase().name, transcriptMB, runs, peakMB }
  }

  #waitForJob(): void {
    const end = performance.now() + 30_000
    while (!jobIsIdle(this.#dataHome) && performance.now() < end) Bun.sleepSync(5)
  }

  /** Until no background job of ours runs; one that has just been started has no lock yet, so it looks twice. */
  async quiet(): Promise<void> {
    this.#waitForJob()
    await Bun.sleep(100)
    this.#waitForJob()
  }
}

const isComplete = (state: ArchiveState): boolean =>
  state.size > 0 && state.archived === state.size && state.indexed === state.size

/** A valid UUID for each number. */
const sessionId = (n: number): string => `0000be4c-0000-4000-a000-${n.toString(16).padStart(12, "0")}`

function hookInput({ hook, source }: Call, transcript: string, session: string, cwd: string): string {
  const common = { session_id: session, transcript_path: transcript, cwd, permission_mode: "default" }
  switch (hook) {
    case "user-prompt-submit":
      return JSON.stringify({
        ...common,
        hook_event_name: "UserPromptSubmit",
        prompt: "Run the tests again, please.",
      })
    case "stop":
      return JSON.stringify({ ...common, hook_event_name: "Stop", stop_hook_active: false })
    case "session-start":
      return JSON.stringify({ ...common, hook_event_name: "SessionStart", source })
  }
}

const ratio = (of: Result, to: Result): Ratio => ({
  median: of.cpuMs.median / to.cpuMs.median,
  min: of.cpuMs.min / to.cpuMs.min,
})
