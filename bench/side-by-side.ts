/**
 * What ctxbridge does beside other tools on the same transcripts, each measured: docs/comparison.md says how.
 * `bun bench/side-by-side.ts [--transcripts DIR] [--exe FILE] [--deja FILE] [--ccusage FILE] [--claude-code-log FILE]
 * [--write]` A tool that is not there has an empty column; `--write` puts the table into README and docs/comparison.md.
 */
import * as fs from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { withBlock } from "../docs/blocks.ts"
import { bytes, markdownTable } from "../src/base/text.ts"
import { writeTranscript } from "../src/cli/bench/corpus.ts"
import { runOnce } from "../src/cli/bench/hook-world.ts"
import { Dice } from "../src/cli/bench/seeded-random.ts"
import { SET_5 } from "./secrets/set-5.ts"
import { secretOf } from "./secrets/value.ts"

const { values } = parseArgs({
  options: {
    transcripts: { type: "string" },
    exe: { type: "string", default: "dist/ctxbridge" },
    deja: { type: "string", default: Bun.which("deja") ?? "" },
    ccusage: { type: "string", default: Bun.which("ccusage") ?? "" },
    "claude-code-log": { type: "string", default: Bun.which("claude-code-log") ?? "" },
    write: { type: "boolean", default: false },
  },
})
const ROOT = join(import.meta.dir, "..")
const work = fs.mkdtempSync(join(tmpdir(), "ctxbridge-beside-"))
process.on("exit", () => fs.rmSync(work, { recursive: true, force: true }))

/** Words in a query, of a text that has so many in a row; hits that are looked at; how many sessions made up. */
const [WORDS, FIRST, MADE] = [6, 5, 12]
const SECRETS = 60

interface Found {
  readonly ms: number
  /** CPU time, which does not depend on what else the machine does. */
  readonly cpu: number
  readonly out: string
}

interface Tool {
  readonly name: string
  readonly exe: string
  readonly home: string
  /** Makes its own copy or index; undefined: it reads transcripts each time. */
  readonly index?: readonly string[]
  readonly keeps?: string
  readonly search?: (words: string) => readonly string[]
  /** Every text of a session that it has. */
  readonly tells?: (session: string) => readonly string[]
  readonly pages?: (folder: string, projects: string) => readonly string[]
  /** Where those lie if not in the folder. */
  readonly pagesIn?: (projects: string) => string
  readonly totals?: readonly string[]
  readonly back?: (session: string) => readonly string[]
}

const toolNamed = (name: string, exe: string, more: Omit<Tool, "name" | "exe" | "home">): Tool[] =>
  exe === "" ? [] : [{ name, exe: resolve(exe), home: join(work, name.replaceAll(/\W/g, "-")), ...more }]

const tools: readonly Tool[] = [
  ...toolNamed("ctxbridge", values.exe, {
    index: ["import", "--quiet"],
    keeps: ".local/share/ctxbridge",
    search: (words) => ["search", "-a", "--json", "-n", String(FIRST), words],
    tells: (session) => ["export", "--raw", session],
    pages: (folder) => ["open", "-a", "-o", folder, "--no-pager"],
    totals: ["stats", "-a", "--json", "-n", "100000"],
    back: (session) => ["resurrect", session],
  }),
  ...toolNamed("deja-vu", values.deja, {
    index: ["index"],
    keeps: ".cache/deja",
    search: (words) => ["search", "--json", "--limit", String(FIRST), words],
    tells: (session) => ["show", session, "--json", "--harness", "claude", "--limit", "200"],
    pages: () => ["view", "--no-open"],
    pagesIn: () => join(work, "deja-vu", ".cache/deja/index.db.view.html"),
  }),
  ...toolNamed("claude-code-log", values["claude-code-log"], {
    pages: (_, projects) => [projects],
    pagesIn: (projects) => projects,
  }),
  ...toolNamed("ccusage", values.ccusage, { totals: ["daily", "--json", "--offline"] }),
]

async function ran(tool: Tool, args: readonly string[]): Promise<Found> {
  const env = { HOME: tool.home, PATH: "/usr/local/bin:/usr/bin:/bin", LANG: "C.UTF-8" }
  const run = await runOnce({ name: tool.name, argv: [tool.exe, ...args], cwd: tool.home, env })
  return { ms: run.wallMs, cpu: run.cpuMs, out: run.stdout }
}

/* The same transcripts for each, named as Claude Code names them. */

interface Session {
  readonly id: string
  readonly content: Buffer
  /** Of the texts that somebody said, ran or read: a few words in a row, from the middle. */
  readonly asked: readonly string[]
}

function sessionsIn(folder: string): Session[] {
  const found = new Map<string, Session>()
  for (const path of [...new Bun.Glob("**/*.jsonl").scanSync({ cwd: folder, absolute: true })].sort()) {
    const content = fs.readFileSync(path)
    const records = content.toString().split("\n").flatMap(parsed)
    const id = records.map((one) => one["sessionId"]).find((one) => typeof one === "string") as
      | string
      | undefined
    if (id === undefined || (found.get(id)?.content.length ?? 0) >= content.length) continue
    found.set(id, { id, content, asked: questions(records) })
  }
  return [...found.values()]
}

type Fields = Record<string, unknown>
const parsed = (line: string): Fields[] => {
  try {
    return line === "" ? [] : [JSON.parse(line) as Fields]
  } catch {
    return []
  }
}

/** One each of what was asked, answered, called and returned: the one in the middle of those that are long enough. */
function questions(records: readonly Fields[]): string[] {
  const texts = new Map<string, string[]>()
  const add = (kind: string, text: unknown): void => {
    const words = typeof text === "string" ? (text.match(/[A-Za-z]{3,}/g) ?? []) : []
    if (words.length < 4 * WORDS) return
    const from = Math.floor(words.length / 2)
    texts.set(kind, [...(texts.get(kind) ?? []), words.slice(from, from + WORDS).join(" ")])
  }
  for (const { type, message } of records) {
    const content = (message as Fields | undefined)?.["content"]
    if (type === "user" && typeof content === "string") add("prompt", content)
    for (const part of Array.isArray(content) ? (content as Fields[]) : []) {
      if (part["type"] === "text") add(type === "user" ? "prompt" : "answer", part["text"])
      if (part["type"] === "tool_use") add("call", Object.values(part["input"] ?? {}).join(" "))
      if (part["type"] === "tool_result") add("result", resultText(part["content"]))
    }
  }
  return [...texts.values()].map((all) => all[Math.floor(all.length / 2)]!)
}

const resultText = (content: unknown): unknown =>
  Array.isArray(content) ? (content as Fields[]).map((part) => part["text"] ?? "").join("\n") : content

function madeUp(): string {
  const folder = join(work, "made")
  for (let n = 0; n < MADE; n++) {
    const sessionId = `0000be4c-0000-4000-a000-${n.toString(16).padStart(12, "0")}`
    const path = join(folder, `${sessionId}.jsonl`)
    fs.mkdirSync(folder, { recursive: true })
    writeTranscript(path, { sessionId, cwd: "/home/dev/shop", version: "2.1.229", seed: n, bytes: 2e6 })
  }
  return folder
}

/** A session in which a tool showed settings with secrets, one a line, as their own documents write them. */
const ASKED = "Show me the settings of every service"
const LEAKY = "0000be4c-0000-4000-a000-00000000beef"
function leaky(): { readonly content: Buffer; readonly secrets: string[] } {
  const dice = new Dice(5)
  const secrets: string[] = []
  const records: Fields[] = [recordOf("user", ASKED)]
  for (let n = 0; secrets.length < SECRETS; n++) {
    const service = SET_5.services[n % SET_5.services.length]!
    const place = SET_5.places[dice.between(0, SET_5.places.length - 1)]!
    const { text, secret } = secretOf(service.shape, dice)
    const shown = place.write(service.variable, text)
    if (!shown.includes(secret)) continue
    secrets.push(secret)
    const id = `toolu_${n}`
    records.push(
      recordOf("assistant", [
        { type: "tool_use", id, name: "Bash", input: { command: `cat settings-${n}` } },
      ]),
    )
    records.push(recordOf("user", [{ type: "tool_result", tool_use_id: id, content: shown }]))
  }
  const lines = records.map((one, n) => {
    const uuid = `0000be4c-0000-4000-a000-0000${n.toString(16).padStart(8, "0")}`
    const timestamp = new Date(Date.UTC(2026, 1, 2, 8, 0, n)).toISOString()
    const place = {
      cwd: "/home/dev/shop",
      sessionId: LEAKY,
      version: "2.1.229",
      isSidechain: false,
      userType: "external",
    }
    return JSON.stringify({ parentUuid: null, ...place, uuid, timestamp, ...one })
  })
  return { content: Buffer.from(`${lines.join("\n")}\n`), secrets }
}

const recordOf = (type: string, content: unknown): Fields => ({ type, message: { role: type, content } })

/* What is measured, a row each. */

interface World {
  readonly sessions: readonly Session[]
  readonly secrets: readonly string[]
}

const projects = (tool: Tool): string => join(tool.home, ".claude/projects/-home-dev-shop")
const fileOf = (tool: Tool, id: string): string => join(projects(tool), `${id}.jsonl`)
const seconds = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`)
const sizeOf = (path: string): number => {
  const stats = fs.statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return 0
  if (!stats.isDirectory()) return stats.size
  return fs.readdirSync(path).reduce((sum, name) => sum + sizeOf(join(path, name)), 0)
}
const middle = (all: readonly number[]): number =>
  all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0

/** The sessions of a search's hits, in whichever field a tool has them. */
function hitSessions(out: string): string[] {
  const [document] = parsed(out.trim())
  const hits = (document?.["hits"] ?? []) as Fields[]
  return hits.map(({ session }) =>
    String(typeof session === "string" ? session : (session as Fields)?.["id"]),
  )
}

async function searched(
  tool: Tool,
  { sessions }: World,
): Promise<{ share: number; cpu: number; asked: number } | undefined> {
  if (tool.search === undefined) return undefined
  const times: number[] = []
  let found = 0
  for (const { id, asked } of sessions) {
    for (const words of asked) {
      const { cpu, out } = await ran(tool, tool.search(words))
      times.push(cpu)
      if (hitSessions(out).slice(0, FIRST).includes(id)) found++
    }
  }
  return { share: found / times.length, cpu: middle(times), asked: times.length }
}

const percent = (share: number): string => `${Math.round(share * 100)}%`

interface Row {
  readonly title: string
  cell(tool: Tool, world: World): Promise<string>
}

/** In this order, for each tool: later ones delete what earlier ones need. */
const ROWS: readonly Row[] = [
  {
    title: "First look at all of them",
    async cell(tool) {
      if (tool.index === undefined) return tool.pages === undefined ? "reads them each time" : "-"
      return `${seconds((await ran(tool, tool.index)).cpu)} of CPU`
    },
  },
  {
    title: "What it keeps, of what the transcripts have",
    async cell(tool, { sessions }) {
      const all = sessions.reduce((sum, { content }) => sum + content.length, 0)
      return tool.keeps === undefined ? "nothing" : percent(sizeOf(join(tool.home, tool.keeps)) / all)
    },
  },
  {
    title: `${WORDS} words of a prompt, an answer, a call or a result: their session among the first ${FIRST}`,
    async cell(tool, world) {
      const told = await searched(tool, world)
      return told === undefined ? "-" : `${percent(told.share)} of ${told.asked}, ${seconds(told.cpu)} of CPU`
    },
  },
  {
    title: "All sessions as pages",
    async cell(tool) {
      if (tool.pages === undefined) return "-"
      const folder = join(tool.home, "pages")
      const { cpu } = await ran(tool, tool.pages(folder, projects(tool)))
      const where = tool.pagesIn?.(projects(tool)) ?? folder
      const names = fs.statSync(where, { throwIfNoEntry: false })?.isDirectory()
        ? fs.readdirSync(where)
        : undefined
      const size =
        names === undefined
          ? sizeOf(where)
          : names
              .filter((name) => !name.endsWith(".jsonl"))
              .reduce((sum, name) => sum + sizeOf(join(where, name)), 0)
      return size === 0 ? "none" : `${seconds(cpu)} of CPU, ${bytes(size)}`
    },
  },
  {
    title: "Tokens, each request counted once, and their list price",
    async cell(tool) {
      if (tool.totals === undefined) return "-"
      const { cpu, out } = await ran(tool, tool.totals)
      const document = JSON.parse(out) as Record<string, Record<string, number>>
      const { totalTokens, totalCost } = document["totals"] ?? {}
      const told =
        totalTokens === undefined ? ownTotals(document) : { tokens: totalTokens, cost: totalCost ?? 0 }
      return `${(told.tokens / 1e6).toFixed(1)} M, $${told.cost.toFixed(2)}; ${seconds(cpu)} of CPU`
    },
  },
  {
    title: `Secrets that it shows, of ${SECRETS} in a tool's output (a set of ours)`,
    async cell(tool, { secrets }) {
      if (tool.tells === undefined) return "-"
      const { out } = await ran(tool, tool.tells(LEAKY))
      if (!out.includes(ASKED)) return "cannot show it"
      return String(secrets.filter((secret) => out.includes(secret)).length)
    },
  },
  {
    title: "Transcripts deleted, looked at again: the same searches",
    async cell(tool, world) {
      if (tool.search === undefined || tool.index === undefined) return "-"
      fs.rmSync(projects(tool), { recursive: true })
      fs.mkdirSync(projects(tool))
      await ran(tool, tool.index)
      return percent((await searched(tool, world))?.share ?? 0)
    },
  },
  {
    title: "Transcripts brought back, byte for byte",
    async cell(tool, { sessions }) {
      if (tool.back === undefined) return "none"
      let same = 0
      for (const { id, content } of sessions) {
        await ran(tool, tool.back(id))
        const path = fileOf(tool, id)
        if (fs.existsSync(path) && fs.readFileSync(path).equals(content)) same++
      }
      return `${same} of ${sessions.length}`
    },
  },
]

function ownTotals({ total }: Record<string, Fields>): { tokens: number; cost: number } {
  const tokens = Object.values((total?.["tokens"] ?? {}) as Record<string, number>).reduce(
    (sum, n) => sum + n,
    0,
  )
  return { tokens, cost: Number(total?.["cost"] ?? 0) }
}

/** Tokens of all requests, each counted once: the yardstick for what tools say. */
function tokensIn(sessions: readonly Session[]): number {
  const most = new Map<string, number>()
  for (const { content } of sessions) {
    for (const { message, requestId } of content.toString().split("\n").flatMap(parsed)) {
      const { id, usage } = (message ?? {}) as { id?: string; usage?: Record<string, unknown> }
      if (usage === undefined) continue
      const counts = [
        "input_tokens",
        "output_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
      ]
      const tokens = counts.reduce((sum, name) => sum + Number(usage[name] ?? 0), 0)
      const key = `${id} ${requestId}`
      most.set(key, Math.max(most.get(key) ?? 0, tokens))
    }
  }
  return [...most.values()].reduce((sum, n) => sum + n, 0)
}

const folder = values.transcripts ?? madeUp()
const sessions = sessionsIn(folder)
const { content: leak, secrets } = leaky()
for (const tool of tools) {
  fs.mkdirSync(projects(tool), { recursive: true })
  for (const { id, content } of sessions) fs.writeFileSync(fileOf(tool, id), content)
  fs.writeFileSync(fileOf(tool, LEAKY), leak)
}
const total = sessions.reduce((sum, { content }) => sum + content.length, 0)
console.log(
  `${sessions.length} sessions, ${bytes(total)}${values.transcripts === undefined ? ", made up" : ""}`,
)
const rows: string[][] = ROWS.map(({ title }) => [title])
for (const tool of tools) {
  for (const [n, row] of ROWS.entries()) {
    rows[n]!.push(await row.cell(tool, { sessions, secrets }))
    console.log(`${tool.name}: ${row.title}: ${rows[n]!.at(-1)}`)
  }
}
const table = markdownTable(["", ...tools.map(({ name }) => name)], rows).join("\n")
console.log(`\n${table}`)
console.log(`\nCounted here: ${(tokensIn(sessions) / 1e6).toFixed(1)} M tokens`)
if (values.write) {
  const what = `${sessions.length} real sessions, ${bytes(total)}; ${(tokensIn(sessions) / 1e6).toFixed(1)} M tokens by a count of our own`
  for (const path of ["README.md", "docs/comparison.md"]) {
    const page = fs.readFileSync(join(ROOT, path), "utf8")
    fs.writeFileSync(join(ROOT, path), withBlock(page, "comparison", `On ${what}:\n\n${table}`))
  }
}
