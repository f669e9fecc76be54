/**
 * What a hook call costs, and what is archived after it: ctxbridge compared with two packages from npm; see README.md.
 * `bun bench/peers.ts [--rounds N] [--sizes 1,15,150] [--exe PATH] [--cache DIR] [--out FILE]`
 */
import { Database } from "bun:sqlite"
import * as fs from "node:fs"
import { cpus, release, tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { buildEmpty } from "../src/cli/bench/bench-hooks.ts"
import { generateTranscript, writeTranscript } from "../src/cli/bench/corpus.ts"
import {
  archiveState,
  type Case,
  jobIsIdle,
  measureCommands,
  peakFloor,
  type Result,
  runOnce,
} from "../src/cli/bench/hook-world.ts"

type Env = Record<string, string>
const [REFERENCE, CLAUDE_MEM] = ["claude-flow@3.43.0", "claude-mem@13.25.3"] as const
const SCRIPT = ".claude/helpers/context-persistence-hook.mjs"
const DB = ".claude-flow/data/transcript-archive.db"
const SESSION = "0000be4c-0000-4000-a000-000000000001"

const flag = (name: string, otherwise: string): string =>
  process.argv.includes(`--${name}`) ? process.argv[process.argv.indexOf(`--${name}`) + 1]! : otherwise
const rounds = Number(flag("rounds", "15"))
const work = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), "ctxbridge-peers-run-")))
const [node, exe] = [Bun.which("node") ?? "node", join(work, "ctxbridge")]
const notes: string[] = []
const PATH = `${work}:${dirname(node)}:/usr/bin:/bin`
const bare = (HOME: string): Env => ({ HOME, PATH, TMPDIR: work, BUN_OPTIONS: "", BUN_BE_BUN: "" })
const inherited = (names: RegExp): Env =>
  Object.fromEntries(Object.entries(process.env).filter(([key, value]) => names.test(key) && value)) as Env

/** Unpacks a package in a home folder of its own and adds dependencies. A peer's installer is never run. */
async function install(spec: string, dependencies: string): Promise<string | undefined> {
  const home = join(resolve(flag("cache", join(tmpdir(), "ctxbridge-peers"))), spec)
  if (fs.existsSync(join(home, "installed"))) return home
  fs.mkdirSync(home, { recursive: true })
  const env = { ...bare(home), ...inherited(/^(https?_proxy|no_proxy|node_extra_ca_certs|npm_config_\w+)$/i) }
  const steps = `npm pack ${spec} && tar -xzf *.tgz && npm install --no-audit ${dependencies} && >installed`
  const run = await runOnce({ name: spec, argv: ["/bin/sh", "-c", steps], cwd: home, env })
  if (run.exitCode === 0) return home
  return void notes.push(
    `SKIPPED ${spec}, could not be installed: ${run.stderr.trim().split("\n").slice(-4).join(" ")}`,
  )
}

let calls = 0 // Makes every prompt unique: a peer may drop repeated ones.
const input = (event: string, transcript_path: string, cwd: string) => (): string => {
  const tool = { tool_name: "Bash", tool_input: { command: `make ${++calls}` }, tool_response: "ok" }
  const more = event === "PostToolUse" ? tool : { prompt: `Test it again: ${calls}` }
  return JSON.stringify({ session_id: SESSION, transcript_path, cwd, hook_event_name: event, ...more })
}

/** Empty when there is no such file. */
function textsOf(file: string, sql: string): string[] {
  if (!fs.existsSync(file)) return []
  using db = new Database(file)
  return db.query(sql).values().flat() as string[]
}

/** Independent of this run: the same bytes each time. */
const CORPUS = { sessionId: SESSION, cwd: "/home/dev/shop", version: "2.1.229" }
const corpus = (mb: number) => ({ ...CORPUS, seed: mb, bytes: mb * 1e6 })
const isPrompt = (line: string): boolean => line.includes('"promptSource":"typed"')
const startOf = (line: string): string => JSON.parse(line).message.content.slice(0, 50)

/** ctxbridge and the reference, each with its own archive, on the same transcript. */
function archivers(name: string) {
  const [home, cwd, data] = [join(work, name), join(work, name, "project"), join(work, name, "data")]
  const transcript = join(home, ".claude", "projects", "bench", `${SESSION}.jsonl`)
  const script = join(cwd, SCRIPT)
  for (const file of [transcript, script]) fs.mkdirSync(dirname(file), { recursive: true })
  const all = [{ name: "ctxbridge", argv: [exe, "hook"] }]
  if (reference !== undefined) {
    fs.copyFileSync(join(reference, "package", SCRIPT), script)
    fs.symlinkSync(join(reference, "node_modules"), join(cwd, "node_modules"))
    all.push({ name: "reference", argv: [node, script] })
  }
  const before = async () => {
    while (!jobIsIdle(data)) await Bun.sleep(10)
  }
  const hooks = (event: string, set: Env = {}): Case[] =>
    all.map(({ name, argv }) => {
      const words = [...argv, event.replace(/\B[A-Z]/g, "-$&").toLowerCase()]
      const env = { ...bare(home), CTXBRIDGE_HOME: data, CLAUDE_PROJECT_DIR: cwd, ...set }
      return { name, argv: words, stdin: input(event, transcript, cwd), cwd, env, before }
    })
  const call = async (event: string) => {
    for (const one of hooks(event)) await runOnce(one)
    // A job that has only just started does not hold its lock yet.
    for (let i = 0; i < 2; i++, await Bun.sleep(60)) await before()
  }
  /**
   * The number of turns; then, for each archive, how many of their prompts it holds as the beginning of a row, and its
   * megabytes of text.
   */
  const held = (mb: number): string => {
    const own = textsOf(join(data, "archive.db"), "SELECT prompt FROM turns")
    const theirs = textsOf(join(cwd, DB), "SELECT substr(content, 7) FROM transcript_entries") // skips "User: "
    const starts = generateTranscript(corpus(mb)).filter(isPrompt).map(startOf).toArray()
    const found = (all: string[]) => starts.filter((one) => all.some((row) => row.startsWith(one))).length
    const bytes = [archiveState(data, home, transcript).archived, Buffer.byteLength(theirs.join(""))]
    const [ownMB, theirMB] = bytes.map((count) => (count / 1e6).toFixed(2))
    const rest = reference === undefined ? " | " : `${found(theirs)} | ${theirMB}`
    return `${starts.length} | ${found(own)} | ${ownMB} | ${rest}`
  }
  return { transcript, hooks, call, held }
}

/** Calls the hooks at every prompt and compaction while the transcript grows, which takes long for a large one. */
async function grow(mb: number): Promise<string> {
  const { transcript, call, held } = archivers(`grow-${mb}`)
  for (const line of generateTranscript(corpus(mb))) {
    if (isPrompt(line)) await call("UserPromptSubmit")
    if (line.includes('"subtype":"compact_boundary"')) await call("PreCompact")
    fs.appendFileSync(transcript, line)
  }
  await call("PreCompact")
  return held(mb)
}

/** Runs the commands in its hooks.json with bash, as Claude Code does. Its worker gets its own port and data. */
function claudeMem(home: string) {
  const root = join(home, "package", "plugin")
  const { hooks } = JSON.parse(fs.readFileSync(join(root, "hooks", "hooks.json"), "utf8"))
  const script = join(root, "scripts", "worker-service.cjs")
  const probe = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() })
  const [data, port] = [join(work, "mem"), `${probe.port}`]
  probe.stop(true)
  const own = { CLAUDE_PLUGIN_ROOT: root, CLAUDE_MEM_WORKER_SCRIPT_PATH: script, CLAUDE_MEM_DATA_DIR: data }
  const quiet = { DO_NOT_TRACK: "1", CLAUDE_MEM_TELEMETRY: "0", CLAUDE_MEM_CHROMA_ENABLED: "false" }
  const vars = { ...bare(home), ...own, ...quiet, CLAUDE_MEM_WORKER_PORT: port }
  const hook = (event: string, state: "up" | "down", set: Env): Case => {
    const argv = [Bun.which("bash") ?? "/bin/bash", "-c", hooks[event][0].hooks[0].command]
    const name = `claude-mem, ${event}, worker ${state}`
    return { name, argv, stdin: input(event, join(work, "none"), work), cwd: work, env: { ...vars, ...set } }
  }
  const run = { argv: [process.execPath, script], cwd: work, env: vars }
  const worker = (verb: "start" | "stop") => runOnce({ ...run, name: verb, argv: [...run.argv, verb] })
  const prompts = () => textsOf(join(data, "claude-mem.db"), "SELECT prompt_text FROM user_prompts").length
  return { hook, worker, prompts }
}

const set = inherited(/^(NODE_OPTIONS|NODE_EXTRA_CA_CERTS)$/)
const rows: { place: string; environment: string; result: Result; vsNode: number; vsEmpty: number }[] = []
async function measure(place: string, cases: (set: Env) => Case[], most = rounds): Promise<void> {
  const groups = (Object.keys(set).length === 0 ? [{}] : [{}, set]).map((more): Case[] => [
    { name: "node -e 0", argv: [node, "-e", "0"], env: { ...bare(work), ...more } },
    { name: "empty Bun binary", argv: [join(work, "empty-copy")], env: { ...bare(work), ...more } },
    ...cases(more),
  ])
  const measured = await measureCommands(groups.flat(), { rounds: Math.min(rounds, most), warmup: 3 })
  for (const [i, result] of measured.entries()) {
    const first = i - (i % groups[0]!.length)
    const ratio = (to: number) => result.cpuMs.median / measured[first + to]!.cpuMs.median
    const environment = first === 0 ? "bare" : Object.keys(set).join(", ")
    rows.push({ place, environment, result, vsNode: ratio(0), vsEmpty: ratio(1) })
  }
}

function table(head: string, rows: readonly (readonly unknown[])[]): string {
  const lines = rows.map((cells) => `| ${cells.join(" | ")} |`)
  return [`| ${head} |`, `|${head.replace(/[^|]+/g, " --- ")}|`, ...lines, ""].join("\n")
}

fs.symlinkSync(process.execPath, join(work, "bun"))
fs.copyFileSync(flag("exe", join(import.meta.dir, "..", "dist", "ctxbridge")), exe)
fs.copyFileSync(buildEmpty(exe, work), join(work, "empty-copy"))
const reference = await install(REFERENCE, "--prefix . better-sqlite3@12")
const memHome = await install(CLAUDE_MEM, "--prefix package/plugin --ignore-scripts --legacy-peer-deps")
const mem = memHome === undefined ? undefined : claudeMem(memHome)
try {
  const archived: unknown[][] = []
  for (const mb of flag("sizes", "1,15,150").split(",").map(Number)) {
    const one = archivers(`${mb}`)
    writeTranscript(one.transcript, corpus(mb))
    for (const event of ["UserPromptSubmit", "UserPromptSubmit", "PreCompact"]) await one.call(event)
    await mem?.worker("start")
    await measure(`${mb} MB`, (more) => [
      ...one.hooks("UserPromptSubmit", more),
      ...(mem ? ["UserPromptSubmit", "PostToolUse"].map((event) => mem.hook(event, "up", more)) : []),
    ])
    archived.push([mb, "at once", one.held(mb)])
    if (mb <= 20) archived.push([mb, "as it grows", await grow(mb)])
  }
  if (mem) {
    notes.push(`claude-mem's worker has stored ${mem.prompts()} prompts`)
    const before = async () => void (await mem.worker("stop"))
    await measure("any", (more) => [{ ...mem.hook("UserPromptSubmit", "down", more), before }], 5)
  }
  const machine = `${process.platform} ${release()} ${process.arch}, ${cpus().length} × ${cpus()[0]?.model}`
  notes.push(`${machine}; ${REFERENCE}; ${CLAUDE_MEM}; ${rounds} rounds; floor ${await peakFloor()} MB`)
  const costs = rows.map(({ place, environment, result, vsNode, vsEmpty }) => [
    ...[place, environment, result.failed === 0 ? result.name : `${result.name} (${result.failed} FAILED)`],
    ...[result.cpuMs.min, result.cpuMs.median, result.wallMs.median].map((value) => value.toFixed(1)),
    ...[result.peakMB.median.toFixed(0), vsNode.toFixed(2), vsEmpty.toFixed(2)],
  ])
  console.log(table("over | environment | process | CPU min | CPU | wall | MB | ÷ node | ÷ empty", costs))
  console.log(table("MB | read | turns | ctxbridge: turns | MB | reference: turns | MB", archived))
  console.log(notes.join("\n"))
  fs.writeFileSync(flag("out", "peers.json"), JSON.stringify({ rows, archived, notes }, null, 2))
} finally {
  await mem?.worker("stop")
  fs.rmSync(work, { recursive: true, force: true })
}
