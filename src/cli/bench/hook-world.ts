/** The environment of the hooks' benchmark: a home, a project, transcripts, and archives made by the binary itself. */

import { mkdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { CtxError, codeOf } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { isLockFree } from "../../base/lock.ts"
import { dirname, join } from "../../base/path.ts"
import { NO_BUN_VARIABLES } from "../../config/unused-variables.ts"
import { vaultFile, vaultPath } from "../../vault/layout.ts"
import { archivedIn } from "../../vault/reader.ts"
import type { Database } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { transcriptByCopy } from "../../views/transcript-rows.ts"
import { type CorpusSize, writeTranscript } from "./corpus.ts"
import { Dice } from "./seeded-random.ts"

const HOST_VERSION = "2.1.229"
/** Turns per transcript in the archive of many turns. */
const TURNS_EACH = 500

/** A session whose transcript grows while it is measured. */
export interface Tracked {
  readonly session: string
  readonly transcript: string
  size: CorpusSize
}

export class BenchWorld {
  readonly #dir: string
  readonly home: string
  /** The folder that sessions work in. */
  readonly project: string
  /** The binary being measured. */
  exe: string
  /** The current archive. */
  dataHome: string
  #seed = 1

  /** @param dir an empty folder */
  constructor(dir: string, exe: string) {
    this.#dir = dir
    this.exe = exe
    this.home = join(dir, "home")
    this.project = join(dir, "shop")
    this.dataHome = join(dir, "data")
  }

  make(): void {
    mkdirSync(join(this.project, ".git"), { recursive: true })
    writeFileSync(join(this.project, ".git", "HEAD"), "ref: refs/heads/main\n")
    mkdirSync(this.home)
  }

  /** The environment of a hook; contains nothing of the user's. */
  env(): Record<string, string> {
    return {
      HOME: this.home,
      CTXBRIDGE_HOME: this.dataHome,
      PATH: "/usr/bin:/bin",
      TMPDIR: this.#dir,
      ...NO_BUN_VARIABLES,
    }
  }

  tracked(folder: string, session: string, transcriptMB: number): Tracked {
    const transcript = this.transcriptPath(folder, session)
    const size = writeTranscript(transcript, this.corpus(transcriptMB * 1e6, session))
    return { session, transcript, size }
  }

  corpus(bytes: number, session: string) {
    return { seed: this.#seed++, bytes, sessionId: session, cwd: this.project, version: HOST_VERSION }
  }

  transcriptPath(folder: string, session: string): string {
    const path = join(this.home, ".claude", "projects", folder, `${session}.jsonl`)
    mkdirSync(dirname(path), { recursive: true })
    return path
  }

  /** Makes a data folder whose archive holds this many turns, using the binary itself. */
  async archiveOf(turns: number): Promise<string> {
    const base = join(this.#dir, `base-${turns}`)
    this.dataHome = base
    mkdirSync(base)
    if (turns === 0) return base
    const transcripts: string[] = []
    for (let done = 0; done < turns; done += TURNS_EACH) {
      const session = sessionId(10_000 + done)
      const path = this.transcriptPath(`many-${done % 10}`, session)
      const corpus = this.corpus(Number.POSITIVE_INFINITY, session)
      writeTranscript(path, { ...corpus, style: "talk", turns: Math.min(TURNS_EACH, turns - done) })
      transcripts.push(path)
    }
    await this.archive(transcripts)
    const held = turnsIn(base)
    if (held < turns) throw new CtxError("bench-archive", `the archive holds ${held} of ${turns} turns`)
    for (const path of transcripts) rmSync(path)
    return base
  }

  /** Archives and indexes them completely, with the binary's own `import`. */
  async archive(transcripts: readonly string[]): Promise<void> {
    const behind = transcripts.filter((path) => !isComplete(this.stateOf(path)))
    if (behind.length === 0) return
    const run = await runOnce({
      name: "import",
      argv: [this.exe, "import", ...behind],
      env: this.env(),
      cwd: this.project,
    })
    const left = behind.filter((path) => !isComplete(this.stateOf(path)))
    if (run.exitCode === 0 && left.length === 0) return
    const said = run.stderr.trim() || `${left.length} of ${behind.length} transcripts are not archived`
    throw new CtxError("bench-archive", `could not make the archive: ${said}`)
  }

  stateOf(transcript: string): ArchiveState {
    return archiveState(this.dataHome, this.home, transcript)
  }

  waitForJob(): void {
    const end = performance.now() + 30_000
    while (!jobIsIdle(this.dataHome) && performance.now() < end) Bun.sleepSync(5)
  }

  /**
   * Waits until no background job of ours is running. Checks twice, because a job that has only just started does not
   * hold its lock yet.
   */
  async quiet(): Promise<void> {
    this.waitForJob()
    await Bun.sleep(100)
    this.waitForJob()
  }
}

const isComplete = (state: ArchiveState): boolean =>
  state.size > 0 && state.archived === state.size && state.indexed === state.size

/** A valid UUID for each number. */
export const sessionId = (n: number): string => `0000be4c-0000-4000-a000-${n.toString(16).padStart(12, "0")}`

/*
 * Paired measurements of whole processes. The cases run in turn, each round in a different order, so whatever else the
 * machine does, and whatever one process leaves for the next, affects all cases equally. Only ratios between them are
 * worth quoting.
 */

export interface Case {
  readonly name: string
  /** The first word is an absolute path. */
  readonly argv: readonly string[]
  /** Passed through a socket, as Claude Code does, which is then closed. Created anew for each run. */
  readonly stdin?: string | (() => string)
  /** The whole environment; nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Prepares a run; not measured. */
  readonly before?: () => void | Promise<void>
}

/** Over all measured runs of a case, in the unit of the samples. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly p95: number
}

export interface Result {
  readonly name: string
  readonly runs: number
  /** Runs whose exit code was not 0. Their figures are included in the spreads. */
  readonly failed: number
  /** User and system time of the process, all threads, in milliseconds. */
  readonly cpuMs: Spread
  /** From before the start until after the end, as seen by the parent, in milliseconds. */
  readonly wallMs: Spread
  /** Peak resident memory, in megabytes of 2^20 bytes. */
  readonly peakMB: Spread
}

interface MeasureOptions {
  readonly rounds: number
  /** Rounds that do not count, to warm up page cache, directory cache and branch predictors. */
  readonly warmup: number
  /** Separate rounds in which memory is measured instead of time. Default: 5. */
  readonly memoryRounds?: number
  readonly onRound?: (done: number, total: number) => void
}

export async function measureCommands(cases: readonly Case[], options: MeasureOptions): Promise<Result[]> {
  const samples = cases.map(() => ({
    cpu: [] as number[],
    wall: [] as number[],
    peak: [] as number[],
    failed: 0,
  }))
  const memoryRounds = options.memoryRounds ?? 5
  const total = options.warmup + options.rounds + memoryRounds
  const dice = new Dice(total)
  for (let round = 0; round < total; round++) {
    options.onRound?.(round, total)
    // Shuffled, not rotated: with rotation, each case would always follow the same other one.
    for (const at of dice.shuffled(cases.length)) {
      const one = cases[at]!
      const into = samples[at]!
      await one.before?.()
      if (round >= options.warmup + options.rounds) {
        into.peak.push(await peakMemory(one))
        continue
      }
      const run = await runOnce(one)
      if (round < options.warmup) continue
      into.cpu.push(run.cpuMs)
      into.wall.push(run.wallMs)
      if (run.exitCode !== 0) into.failed++
    }
  }
  return cases.map(({ name }, i) => {
    const { cpu, wall, peak, failed } = samples[i]!
    const runs = options.rounds
    return { name, runs, failed, cpuMs: spread(cpu), wallMs: spread(wall), peakMB: spread(peak) }
  })
}

interface Run {
  readonly exitCode: number
  readonly cpuMs: number
  readonly wallMs: number
  readonly stdout: string
  readonly stderr: string
}

/** Runs a case to its end. Excludes the time of children that the process itself does not wait for. */
export async function runOnce(one: Case): Promise<Run> {
  const input = inputOf(one)
  const start = performance.now()
  // Not spawnSync, which passes its input as a file, while Claude Code's hooks read from a socket.
  const child = Bun.spawn([...one.argv], {
    stdin: input === "" ? "ignore" : "pipe",
    stdout: "pipe",
    stderr: "pipe",
    env: { ...one.env },
    ...(one.cwd === undefined ? {} : { cwd: one.cwd }),
  })
  if (child.stdin !== undefined) {
    try {
      await child.stdin.write(input)
      await child.stdin.end()
    } catch (error) {
      // The process ended without reading.
      if (codeOf(error) !== "EPIPE") throw error
    }
  }
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  const wallMs = performance.now() - start
  // In microseconds, and a bigint despite its declared type.
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000
  return { exitCode, cpuMs, wallMs, stdout, stderr }
}

/**
 * Peak resident memory of one run, in megabytes, or `peakFloor()` if that is more.
 *
 * On Linux, `resourceUsage.maxRSS` of a child is not only the child's: exec keeps the larger of the old and the new
 * memory's peak (`exec_mmap` in fs/exec.c), and after a vfork the old memory is the parent's. Started from a parent of
 * 344 MB, even `/bin/true` has a "maxRSS" of 360 MB. A shell in between does not help: its own inherited peak and its
 * child's are reported as one. Polling VmHWM in /proc misses the end whenever the poller loses its core. So the case is
 * started by the smallest process that this runtime allows, which reports the result. What needs less than that process
 * (`peakFloor`) cannot be told apart from it; everything above is exact.
 */
export async function peakMemory(one: Case): Promise<number> {
  const order = JSON.stringify({
    argv: one.argv,
    stdin: inputOf(one),
    env: one.env ?? {},
    cwd: one.cwd ?? process.cwd(),
  })
  // BUN_BE_BUN starts the runtime inside the compiled binary. It starts in "/", where no one plants a bunfig.toml.
  const { stdout, stderr } = await runOnce({
    name: one.name,
    argv: [process.execPath, "-e", SPAWNER, order],
    env: { BUN_BE_BUN: "1", HOME: tmpdir() },
    cwd: "/",
  })
  const bytes = Number(stdout)
  if (!(bytes > 0)) throw new CtxError("bench-memory", `could not measure the memory: ${stderr.trim()}`)
  return bytes / MEGABYTE
}

/** The smallest value that `peakMemory` can return, in megabytes. A figure close to it means "at most this". */
export const peakFloor = (): Promise<number> =>
  peakMemory({
    name: "floor",
    argv: process.platform === "win32" ? ["cmd.exe", "/c", "rem"] : ["/bin/sh", "-c", ":"],
  })

/** Reports bytes, not the kilobytes of getrusage(2): Bun converts them. */
const SPAWNER = `const { argv, stdin, env, cwd } = JSON.parse(process.argv.at(-1))
const child = Bun.spawn(argv, { stdin: stdin === "" ? "ignore" : "pipe", stdout: "ignore", stderr: "ignore", env, cwd })
if (stdin !== "") try { await child.stdin.write(stdin); await child.stdin.end() } catch {}
await child.exited
console.log(Number(child.resourceUsage().maxRSS))`

const MEGABYTE = 1 << 20

const inputOf = ({ stdin }: Case): string => (typeof stdin === "function" ? stdin() : (stdin ?? ""))

/** Zeros for no samples. */
export function spread(samples: readonly number[]): Spread {
  const sorted = [...samples].sort((a, b) => a - b)
  return { min: sorted[0] ?? 0, median: median(sorted), p95: percentile(sorted, 0.95) }
}

/** `sorted` must ascend. With an even number of samples, the mean of the middle two. */
export function median(sorted: readonly number[]): number {
  const middle = sorted.length / 2
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Nearest rank: the smallest sample that at least this share of all samples does not exceed. `sorted` must ascend. */
export function percentile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return 0
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}

/* How far an archive has come, read from outside: without the binary being measured, and without its locks. */

/** All in bytes of the transcript. */
interface ArchiveState {
  readonly size: number
  /** In the vault. */
  readonly archived: number
  /** In the views. */
  readonly indexed: number
}

export function archiveState(dataHome: string, home: string, transcript: string): ArchiveState {
  const copy = vaultPath(transcript, home)
  return {
    size: statSync(transcript, { throwIfNoEntry: false })?.size ?? 0,
    archived: archivedIn(vaultFile(dataHome, copy)),
    indexed: counted(dataHome, (db) => transcriptByCopy(db, copy)?.indexed),
  }
}

/** Turns in the archive. */
export function turnsIn(dataHome: string): number {
  return counted(dataHome, (db) => db.query<{ n: number }, []>("SELECT count(*) AS n FROM turns").get()?.n)
}

/** Whether no one holds the background job's lock. */
export const jobIsIdle = (dataHome: string): boolean => isLockFree(join(dataHome, "state", "job.lock"), 0)

/** 0 if the database or its tables do not exist yet. */
function counted(dataHome: string, read: (db: Database) => number | undefined): number {
  const found = tryTo(() => {
    using db = open(dataHome, "look", 5000)
    return read(db)
  })
  return found ?? 0
}
