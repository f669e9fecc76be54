/**
 * What commands cost over very many sessions: `bun bench/many-sessions.ts [--sessions N] [--rounds N] [--exe PATH]`. The
 * sessions are of one project, which is the worst case. Reported beside an empty Bun program in the same run.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { markdownTable } from "../src/base/text.ts"
import { median } from "../src/cli/bench/hook-world.ts"
import { tempFolder } from "../test/support/temp.ts"
import { seededTranscript } from "./seeded-transcript.ts"

const { values } = parseArgs({
  options: {
    sessions: { type: "string", default: "100000" },
    rounds: { type: "string", default: "5" },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
const exe = resolve(values.exe)
const sessions = Number(values.sessions)

using folder = tempFolder()
const home = folder.path
const cwd = join(home, "src", "app")
mkdirSync(join(cwd, ".git"), { recursive: true })
const projects = join(home, ".claude", "projects", "-src-app")
mkdirSync(projects, { recursive: true })
for (let n = 0; n < sessions; n++) {
  const { id, lines } = seededTranscript(n, { turns: 1, calls: 1 })
  const here = lines.map((line) => line.replace(/"cwd":"[^"]*"/, () => `"cwd":${JSON.stringify(cwd)}`))
  writeFileSync(join(projects, `${id}.jsonl`), `${here.join("\n")}\n`)
}
const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), PATH: "/usr/bin:/bin", LANG: "C.UTF-8" }

interface Cost {
  readonly wall: number
  readonly cpu: number
}

function timed(command: readonly string[], allowed: readonly number[] = [0]): Cost {
  const started = performance.now()
  const { exitCode, stderr, resourceUsage } = Bun.spawnSync([...command], { env, cwd })
  if (!allowed.includes(exitCode)) throw new Error(`${command.join(" ")}: ${stderr.toString()}`)
  return { wall: performance.now() - started, cpu: Number(resourceUsage.cpuTime.total) / 1000 }
}

const empty = join(home, "empty")
writeFileSync(`${empty}.ts`, "")
timed([
  process.execPath,
  "build",
  `${empty}.ts`,
  "--compile",
  "--bytecode",
  "--format=esm",
  `--outfile=${empty}`,
])
const imported = timed([exe, "import", "--quiet"])
console.error(`${sessions} sessions imported in ${(imported.wall / 1000).toFixed(0)} s`)

const middle = seededTranscript(sessions >> 1, { turns: 1, calls: 1 })

/** The first words of its prompt. */
const wordsOf = (line: string): string[] =>
  (JSON.parse(line) as { message: { content: string } }).message.content.split(/\W+/).slice(0, 4)

/** The archive is fine, but no hook is installed here: doctor says so with 1. */
const COMMANDS: readonly (readonly [
  name: string,
  command: readonly string[],
  allowed?: readonly number[],
])[] = [
  ["empty Bun program", [empty]],
  ["status", [exe, "status"]],
  ["status --json", [exe, "status", "--json"]],
  ["sessions", [exe, "sessions"]],
  ["resume --dry-run ID", [exe, "resume", "--dry-run", middle.id]],
  ["resume --dry-run WORDS", [exe, "resume", "--dry-run", ...wordsOf(middle.lines[0]!)]],
  ["doctor", [exe, "doctor"], [0, 1]],
]
const rows = COMMANDS.map(([name, command, allowed]) => {
  timed(command, allowed)
  const rounds = Array.from({ length: Number(values.rounds) }, () => timed(command, allowed))
  const seconds = (all: readonly number[]): string[] =>
    [Math.min(...all), median(all.toSorted((a, b) => a - b))].map((ms) => (ms / 1000).toFixed(2))
  return [name, ...seconds(rounds.map(({ wall }) => wall)), ...seconds(rounds.map(({ cpu }) => cpu))]
})
const head = ["", "wall, least", "wall, median", "CPU, least", "CPU, median"]
console.log(`seconds, ${values.rounds} rounds, warm\n\n${markdownTable(head, rows).join("\n")}`)
