/**
 * Paired measurements of whole processes. The cases of one call take turns, round by round and each round in
 * another order, so that whatever else the machine does, and whatever a process leaves to its successor, falls
 * on all of them alike; only ratios between them are worth quoting.
 */
import { tmpdir } from "node:os"
import { codeOf } from "../util/errors.ts"
import { Dice } from "./dice.ts"

export interface Case {
  readonly name: string
  /** The first word is an absolute path. */
  readonly argv: readonly string[]
  /** Given through a socket, as the host does, which is then closed. Asked anew for each run. */
  readonly stdin?: string | (() => string)
  /** The whole environment; nothing is inherited. */
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Preparation of one run, not measured. */
  readonly before?: () => void | Promise<void>
}

/** Over all measured runs of one case; the unit is that of the samples. */
export interface Spread {
  readonly min: number
  readonly median: number
  readonly p95: number
}

export interface Result {
  readonly name: string
  readonly runs: number
  /** Runs that did not end with exit code 0. Their figures are in the spreads too. */
  readonly failed: number
  /** User and system time of the process, all threads, in milliseconds. */
  readonly cpuMs: Spread
  /** From before the start to after the end as the parent sees it, in milliseconds. */
  readonly wallMs: Spread
  /** Most resident memory at any time, in megabytes of 2^20 bytes. */
  readonly peakMB: Spread
}

export interface MeasureOptions {
  readonly rounds: number
  /** Rounds before the first that counts: page cache, directory cache, branch predictors. */
  readonly warmup: number
  /** Rounds of their own in which memory is watched and time is not. Default 5. */
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
    // Shuffled, not rotated: in a rotation each case would always run after the same other one.
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

export interface Run {
  readonly exitCode: number
  readonly cpuMs: number
  readonly wallMs: number
  readonly stdout: string
  readonly stderr: string
}

/** One run to its end. The time of children that the process itself does not wait for is not in it. */
export async function runOnce(one: Case): Promise<Run> {
  const input = inputOf(one)
  const start = performance.now()
  // Not spawnSync: it hands its input over as a file, while a host's hooks read from a socket.
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
      // It ended without reading.
      if (codeOf(error) !== "EPIPE") throw error
    }
  }
  const [exitCode, stdout, stderr] = await Promise.all([
    child.exited,
    child.stdout.text(),
    child.stderr.text(),
  ])
  const wallMs = performance.now() - start
  // Microseconds, of type bigint in spite of the declaration.
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1000
  return { exitCode, cpuMs, wallMs, stdout, stderr }
}

/**
 * Peak resident memory of one run, in megabytes, or `peakFloor()`, whichever is more.
 *
 * `resourceUsage.maxRSS` of a child is not the child's alone on Linux: exec keeps the larger of the old and the
 * new memory's peak (`exec_mmap` in fs/exec.c), and after a vfork the old memory is the parent's. Started from
 * a parent of 344 MB, even `/bin/true` has a "maxRSS" of 360 MB. A shell between the two does not help: its own
 * inherited peak and its child's are reported as one. Polling VmHWM in /proc misses the end whenever the poller
 * loses its core. So a process as small as this runtime allows starts the case and reports; what needs less
 * than that process (about 28 MB) cannot be told from it, everything above is exact.
 */
export async function peakMemory(one: Case): Promise<number> {
  const order = JSON.stringify({
    argv: one.argv,
    stdin: inputOf(one),
    env: one.env ?? {},
    cwd: one.cwd ?? process.cwd(),
  })
  // BUN_BE_BUN: from the compiled binary, the runtime inside it. Started in "/", where no one plants a bunfig.toml.
  const { stdout } = await runOnce({
    name: one.name,
    argv: [process.execPath, "-e", SPAWNER, order],
    env: { BUN_BE_BUN: "1", HOME: tmpdir() },
    cwd: "/",
  })
  return Number(stdout) / MEGABYTE
}

/** The least that `peakMemory` can tell: a figure near it means "at most this". In megabytes. */
export const peakFloor = (): Promise<number> => peakMemory({ name: "floor", argv: ["/bin/sh", "-c", ":"] })

/** Bytes, not the kilobytes of getrusage(2): Bun multiplies. */
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

/** `sorted` rises. The mean of the two in the middle, if there are two. */
export function median(sorted: readonly number[]): number {
  const middle = sorted.length / 2
  if (sorted.length === 0) return 0
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Nearest rank: the smallest sample that at least this share of all samples does not exceed. `sorted` rises. */
export function percentile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return 0
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!
}
