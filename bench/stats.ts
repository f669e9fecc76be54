/**
 * What `ctxbridge stats` costs as a whole process: `bun bench/stats.ts [--messages 100000] [--rounds N] [--dir DIR]
 * [--exe PATH]`. The archive is generated from a seed and kept in DIR, by default a temporary folder.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { fileNamesIn } from "../src/base/json-files.ts"
import { buildEmpty } from "../src/cli/bench/bench-hooks.ts"
import { writeTranscript } from "../src/cli/bench/corpus.ts"
import { type Case, measureCommands, type Spread } from "../src/cli/bench/hook-world.ts"
import { importTranscripts } from "../src/job/import-transcripts.ts"
import { FILTERED } from "../src/secrets/filter.ts"
import { pagesFolder } from "../src/views/kept-pages.ts"

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "100000" },
    rounds: { type: "string", default: "10" },
    dir: { type: "string", default: join(tmpdir(), "ctxbridge-stats-bench") },
    exe: { type: "string", default: join(import.meta.dir, "..", "dist", "ctxbridge") },
  },
})
mkdirSync(values.dir, { recursive: true })
const dir = realpathSync(values.dir)

/** Bytes of each session's transcript. */
const SESSION = 2_000_000
const PROJECTS = 20

/** Makes an archive with at least this many lines, unless it exists. */
function archive(lines: number): string {
  const home = join(dir, `messages-${lines}`)
  const done = join(home, "done")
  if (existsSync(done)) return home
  rmSync(home, { recursive: true, force: true })
  const folder = join(home, ".claude", "projects", "bench")
  mkdirSync(folder, { recursive: true })
  for (let n = 0, made = 0; made < lines; n++) {
    const sessionId = `5e551011-0000-4000-8000-${String(n).padStart(12, "0")}`
    const path = join(folder, `${sessionId}.jsonl`)
    const cwd = `/home/dev/project-${n % PROJECTS}`
    made += writeTranscript(path, { seed: n + 1, bytes: SESSION, sessionId, cwd, version: "2.1.229" }).lines
    const places = { dataHome: join(home, "archive"), home, stateHome: join(home, "state") }
    const report = importTranscripts({ ...places, secrets: FILTERED, exclude: [] }, [path], {
      dryRun: false,
      check: false,
    })
    if (!report.ok) throw new Error(JSON.stringify(report.files))
    rmSync(path)
    console.error(`${made} of ${lines} lines`)
  }
  writeFileSync(done, "")
  return home
}

const exe = resolve(values.exe)
const home = archive(Number(values.messages))
const env = { HOME: home, CTXBRIDGE_HOME: join(home, "archive"), BUN_OPTIONS: "", BUN_BE_BUN: "" }
const command = (...words: readonly string[]): Case => ({
  name: words.join(" "),
  argv: [exe, ...words],
  env,
  cwd: dir,
})
const node = Bun.which("node")
if (node === null) throw new Error("node is what everything is compared with")
/** The same archive, of which something is no longer known from the last time. */
function forgetful(
  name: string,
  isForgotten: (file: string) => boolean,
  more: (pages: string) => void = () => {},
): Case {
  const own = join(dir, name.replaceAll(/\W+/g, "-"))
  rmSync(own, { recursive: true, force: true })
  cpSync(home, own, { recursive: true })
  const pages = pagesFolder(join(own, "archive"))
  return {
    ...command("stats"),
    name,
    env: { ...env, HOME: own, CTXBRIDGE_HOME: join(own, "archive") },
    before() {
      for (const file of fileNamesIn(pages).filter(isForgotten)) rmSync(join(pages, file))
      more(pages)
    },
  }
}
const isAnswer = (file: string): boolean => !["receipts.json", "sums.json"].includes(file)
/** As if the views had something new of one. */
function forgetSession(pages: string): void {
  const path = join(pages, "sums.json")
  if (!existsSync(path)) return
  const kept = JSON.parse(readFileSync(path, "utf8"))
  const [first] = Object.keys(kept.families)
  delete kept.families[first!]
  delete kept.shares[first!]
  writeFileSync(path, JSON.stringify(kept))
}
const cases: Case[] = [
  { name: "node -e 0", argv: [node, "-e", "0"], env: {}, cwd: dir },
  { name: "empty Bun binary", argv: [buildEmpty(exe, dir)], env, cwd: dir },
  command("sessions", "--all-projects"),
  command("stats"),
  command("stats", "--by", "session"),
  command("stats", "--since", "2026-03-01"),
  command("stats", "friction"),
  forgetful("stats, one session changed", isAnswer, forgetSession),
  forgetful("stats, all summed up anew", (file) => file !== "receipts.json"),
  forgetful("stats, for the first time", () => true),
]
const results = await measureCommands(cases, { rounds: Number(values.rounds), warmup: 1, memoryRounds: 1 })
const [bare] = results
const ratio = (one: Spread, other: Spread): string => `${(one.median / other.median).toFixed(1)} ×`
for (const { name, cpuMs, wallMs, peakMB, failed } of results) {
  const figures = [cpuMs, wallMs].map(({ min, median }) => `${min.toFixed(0)} / ${median.toFixed(0)}`)
  console.log(
    `${name.padEnd(25)} ${ratio(cpuMs, bare!.cpuMs)} node's cpu, ${ratio(wallMs, bare!.wallMs)} its wall; cpu ${figures[0]} ms  wall ${figures[1]} ms (least / median)  ${peakMB.median.toFixed(0)} MB${failed > 0 ? `  ${failed} failed` : ""}`,
  )
}
