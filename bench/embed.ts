/**
 * `npm run bench:embed`: what embedding costs. A model of all-MiniLM-L6-v2's size with weights from a seed (the time does
 * not depend on what they are), turns of about 117 tokens, and the background job of dist/ctxbridge.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Dice } from "../src/bench/dice.ts"
import { MINILM_SIZED, writeModel } from "../test/support/onnx-model.ts"
import { Transcript } from "../test/support/transcript.ts"

const TURNS = Number(process.argv[2] ?? 400)
/** Turns without an answer: one text each. */
const MOST_WORDS = 220
const LEAST_WORDS = 10
const SESSIONS = 10

const exe = resolve(import.meta.dir, "../dist/ctxbridge")
const root = mkdtempSync(join(tmpdir(), "ctxbridge-bench-"))
const env = { HOME: root, CTXBRIDGE_HOME: join(root, "archive") }

function run(...args: string[]) {
  const start = performance.now()
  const { exitCode, stdout, stderr, resourceUsage } = Bun.spawnSync([exe, ...args], { env, cwd: root })
  if (exitCode !== 0) throw new Error(`${args.join(" ")}: ${stderr}`)
  return {
    text: stdout.toString(),
    wall: performance.now() - start,
    cpu: Number(resourceUsage.cpuTime.total) / 1000,
    peak: resourceUsage.maxRSS / 1e6,
  }
}

/** Two letters are a token of the test model. */
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
  // Before there is anything to embed, so that the job it starts ends at once.
  run("model", "install", "--from", source, "--manifest", join(source, "manifest.json"))
  Bun.sleepSync(1000)
  for (let n = 0; n < SESSIONS; n++) {
    const session = `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`
    const path = join(root, ".claude/projects/-src-app", `${session}.jsonl`)
    const transcript = new Transcript({ session, cwd: "/src/app", version: "2.1.112", path })
    for (let turn = 0; turn < TURNS / SESSIONS; turn++) transcript.user(words(dice))
    transcript.flush()
  }
  run("import")
  // As if the install had not written the files of the runtime out.
  const state = join(root, "archive", "state")
  for (const name of readdirSync(state).filter((one) => one.startsWith("runtime-"))) {
    rmSync(join(state, name), { recursive: true })
  }
  const first = run("model", "verify", "--runtime", "native", "--json")
  const again = Array.from(
    { length: 5 },
    () => JSON.parse(run("model", "verify", "--json").text).firstMs as number,
  )
  const job = run("__job")
  const { vectors } = JSON.parse(run("model", "status", "--json").text)
  if (vectors.embedded !== TURNS) throw new Error(`${vectors.embedded} of ${TURNS} turns have vectors`)
  const wasm = run("model", "verify", "--runtime", "wasm", "--json")
  console.log(
    JSON.stringify(
      {
        turns: TURNS,
        turnsPerSecond: Math.round(TURNS / (job.wall / 1000)),
        turnsPerCpuSecond: Math.round(TURNS / (job.cpu / 1000)),
        peakMb: Math.round(job.peak),
        firstVectorMs: Math.min(...again),
        firstVectorEverMs: JSON.parse(first.text).firstMs,
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
