/**
 * `npm run bench:embed`: what embedding costs. Uses a model of all-MiniLM-L6-v2's size with seeded weights (their
 * values do not affect the time), turns of about 117 tokens, and the background job of dist/ctxbridge.
 */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { MINILM_SIZED, writeModel } from "../test/support/onnx-model.ts"
import { Transcript } from "../test/support/transcript.ts"

const TURNS = Number(process.argv[2] ?? 400)
/** How often each figure is measured: other work on the machine affects even CPU time. */
const ROUNDS = 5
/** Words per turn. A turn has no answer, so it is one text. */
const MOST_WORDS = 220
const LEAST_WORDS = 10
const SESSIONS = 10

const exe = resolve(import.meta.dir, "../dist/ctxbridge")
const root = mkdtempSync(join(tmpdir(), "ctxbridge-bench-"))
const archive = join(root, "archive")

function runIn(home: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  const start = performance.now()
  const env = { HOME: root, CTXBRIDGE_HOME: home, ...more }
  const { exitCode, stdout, stderr, resourceUsage } = Bun.spawnSync([exe, ...args], { env, cwd: root })
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`)
  return {
    text: stdout.toString(),
    wall: performance.now() - start,
    cpu: Number(resourceUsage.cpuTime.total) / 1000,
    peak: resourceUsage.maxRSS / 1e6,
  }
}

const run = (...args: string[]) => runIn(archive, args)

/** How many turns have vectors. */
const embeddedIn = (home: string): number =>
  JSON.parse(runIn(home, ["model", "status", "--json"]).text).vectors.embedded

/** ms until the first vector in a new process. */
const firstVector = (...args: string[]): number =>
  JSON.parse(run("model", "verify", ...args, "--json").text).firstMs

/** The same without the runtime files that the install wrote to disk. */
function firstVectorEver(): number {
  const state = join(archive, "state")
  for (const name of readdirSync(state).filter((one) => one.startsWith("runtime-"))) {
    rmSync(join(state, name), { recursive: true })
  }
  return firstVector("--runtime", "native")
}

/** Runs the whole job on a fresh copy of the archive. */
function embedAll() {
  const home = join(root, "round")
  cpSync(archive, home, { recursive: true })
  const before = embeddedIn(home)
  const job = runIn(home, ["__job"])
  const made = embeddedIn(home) - before
  if (made !== TURNS) throw new Error(`the job made vectors of ${made} turns, not of ${TURNS}`)
  rmSync(home, { recursive: true })
  return job
}

const rounds = <T>(measure: () => T): T[] => Array.from({ length: ROUNDS }, () => measure())

/** The best value, which shows what the program needs, and the median, which shows what the machine gave. */
function spread(values: readonly number[], best: "least" | "most") {
  const sorted = values.map(Math.round).sort((a, b) => (best === "least" ? a - b : b - a))
  return { best: sorted[0]!, median: sorted[Math.floor(sorted.length / 2)]! }
}

/** Random words; each pair of letters is a token of the test model. */
function words(dice: Dice): string {
  const letter = (): string => String.fromCharCode(97 + dice.between(0, 25))
  const length = Math.round(
    (dice.between(LEAST_WORDS, MOST_WORDS) + dice.between(LEAST_WORDS, MOST_WORDS)) / 2,
  )
  return Array.from({ length }, () => letter() + letter()).join(" ")
}

try {
  const dice = new Dice(1)
  const source = join(root, "model")
  mkdirSync(source)
  writeModel(source, MINILM_SIZED, "minilm-sized")
  // Installed before there is anything to embed, so the job that this starts ends at once.
  run("model", "install", "--from", source, "--manifest", join(source, "manifest.json"))
  Bun.sleepSync(1000)
  for (let n = 0; n < SESSIONS; n++) {
    const session = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
    const path = join(root, ".claude/projects/-src-app", `${session}.jsonl`)
    const transcript = new Transcript({ session, cwd: "/src/app", version: "2.1.112", path })
    for (let turn = 0; turn < TURNS / SESSIONS; turn++) transcript.user(words(dice))
    transcript.flush()
  }
  // Off, so that the import starts no job either.
  runIn(archive, ["import"], { CTXBRIDGE_EMBED: "0" })
  const ever = rounds(firstVectorEver)
  const first = rounds(firstVector)
  const jobs = rounds(embedAll)
  const wasm = run("model", "verify", "--runtime", "wasm", "--json")
  console.log(
    JSON.stringify(
      {
        turns: TURNS,
        turnsPerSecond: spread(
          jobs.map(({ wall }) => (TURNS / wall) * 1000),
          "most",
        ),
        turnsPerCpuSecond: spread(
          jobs.map(({ cpu }) => (TURNS / cpu) * 1000),
          "most",
        ),
        peakMb: Math.round(Math.max(...jobs.map(({ peak }) => peak))),
        firstVectorMs: spread(first, "least"),
        firstVectorEverMs: spread(ever, "least"),
        wasmFirstVectorMs: JSON.parse(wasm.text).firstMs,
        wasmPeakMb: Math.round(wasm.peak),
      },
      null,
      2,
    ),
  )
} finally {
  rmSync(root, { recursive: true, force: true })
}
