/**
 * Questions over real sessions of every agent that is read, in one archive with one of Claude Code's: how many does the
 * one search answer, with the right agent's session among the first five? The questions are made of what the archive has,
 * at run time: rare words of a prompt or an answer, files that were changed, commands that were run, errors. It prints the share.
 */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, expect, test } from "bun:test"
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { isTool, SHELL_KINDS } from "../../src/agents/tool-kinds.ts"
import { wordSet } from "../../src/base/words.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { SHARED, sampleFiles } from "../support/real.ts"

const samples = join(SHARED, "samples/agents")
const hasSamples = existsSync(samples)
if (!hasSamples) console.warn("no real sessions of agents beside the checkout: skipped")

const QUESTIONS = 40
const FIRST = 5
/** Of them at least, since words that only one session has were chosen. */
const ANSWERED = 0.85

const machine = new Machine()
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

interface Question {
  readonly agent: string
  readonly session: string
  readonly kind: "prompt" | "answer" | "file" | "command" | "error"
  readonly words: string
}

beforeAll(async () => {
  if (!hasSamples) return
  placeCodex()
  placeGemini()
  placeQwen()
  placeOpencode()
  const [largest] = sampleFiles().toSorted((a, b) => Bun.file(b).size - Bun.file(a).size)
  if (largest !== undefined) put(largest, machine.path(basename(largest)))
  expect((await cli("import")).code).toBe(0)
}, 120_000)

afterAll(() => machine[Symbol.dispose]())

function put(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true })
  copyFileSync(from, to)
}

const samplesOf = (agent: string, end: string): string[] =>
  existsSync(join(samples, agent))
    ? readdirSync(join(samples, agent))
        .filter((name) => name.endsWith(end))
        .map((name) => join(samples, agent, name))
    : []

function placeCodex(): void {
  for (const file of samplesOf("codex", ".jsonl")) {
    const id = /"id":"([\da-f-]{36})"/.exec(readFileSync(file, "utf8"))?.[1]
    if (id === undefined) continue
    put(file, join(machine.home, ".codex/sessions/2026/01/01", `rollout-2026-01-01T00-00-00-${id}.jsonl`))
  }
}

function placeGemini(): void {
  for (const end of [".jsonl", ".json"])
    for (const [n, file] of samplesOf("gemini-cli", end).entries()) {
      const name = `session-2026-01-01T00-${end === ".json" ? "1" : "0"}${n}-0a1b2c3d${end}`
      put(file, join(machine.home, ".gemini/tmp", `sample-${n}`, "chats", name))
    }
}

function placeQwen(): void {
  for (const file of samplesOf("extra", ".jsonl").filter((one) => basename(one).includes("qwen"))) {
    const id = /"sessionId":"([\da-f-]{36})"/.exec(readFileSync(file, "utf8"))?.[1]
    if (id !== undefined) put(file, join(machine.home, ".qwen/projects/-sample/chats", `${id}.jsonl`))
  }
}

/** The richest store, and the files of older versions. */
function placeOpencode(): void {
  const folder = join(machine.home, ".local/share/opencode")
  const [sql] = samplesOf("opencode", ".sql").toSorted((a, b) => Bun.file(b).size - Bun.file(a).size)
  if (sql === undefined) return
  mkdirSync(folder, { recursive: true })
  using db = new Database(join(folder, "opencode.db"))
  db.run(readFileSync(sql, "utf8"))
  for (const storage of samplesOf("opencode", "-storage"))
    for (const one of readdirSync(storage))
      cpSync(join(storage, one), join(folder, "storage"), { recursive: true })
}

/* Questions. */

interface Found {
  readonly agent: string
  readonly session: string
  readonly text: string
}

const WORDS = /[\p{L}\d]{4,24}/gu
const MOST_WORDS = 3
/** More would not all be among the first. */
const MOST_SESSIONS = FIRST

/** Of each text, the words that the fewest sessions have, if hardly another session has all of them. */
function rareOf(all: readonly Found[]): (text: string) => string | undefined {
  const sessions = new Map<string, Set<string>>()
  for (const { session, text } of all)
    for (const word of wordSet(text)) sessions.set(word, (sessions.get(word) ?? new Set()).add(session))
  const none: ReadonlySet<string> = new Set()
  const having = (word: string): ReadonlySet<string> => sessions.get(word) ?? none
  return (text) => {
    const words = [...new Set([...text.matchAll(WORDS)].map(([word]) => word.toLowerCase()))]
    const known = words.filter((word) => having(word).size > 0)
    const rare = known.toSorted((a, b) => having(a).size - having(b).size).slice(0, MOST_WORDS)
    const common = rare.map(having).reduce((left, right) => left.intersection(right), having(rare[0] ?? ""))
    return rare.length > 1 && common.size <= MOST_SESSIONS ? rare.join(" ") : undefined
  }
}

function questions(db: Database): Question[] {
  const found = (sql: string): Found[] =>
    db
      .query<Found, []>(
        `SELECT DISTINCT coalesce(s.program, 'claude') AS agent, t.session, ${sql}
         ORDER BY t.session, t.id`,
      )
      .all()
  const turns = "FROM turns t JOIN sessions s ON s.id = t.session"
  const calls = `${turns} JOIN tool_calls c ON c.turn = t.id`
  const prompts = found(`t.prompt AS text, t.id ${turns} WHERE t.via = 'typed'`)
  const answers = found(`t.answer AS text, t.id ${turns} WHERE t.answer <> ''`)
  const runs = found(`c.target AS text, t.id ${calls} WHERE ${isTool("c.name", ...SHELL_KINDS)}`)
  const errors = found(`c.error AS text, t.id ${calls} WHERE c.is_error = 1 AND c.error <> ''`)
  const files = found(
    `f.path AS text, t.id ${turns} JOIN files f ON f.turn = t.id WHERE f.op IN ('edit', 'write')`,
  )
  const rare = rareOf([...prompts, ...answers, ...runs, ...errors, ...files])
  const names = Map.groupBy(files, ({ text }) => basename(text))
  const isOnes = (text: string): boolean =>
    new Set(names.get(basename(text))?.map(({ session }) => session)).size === 1
  const asked = (kind: Question["kind"], all: readonly Found[], wordsOf: typeof rare): Question[] =>
    all.flatMap(({ agent, session, text }) => {
      const words = wordsOf(text)
      return words === undefined ? [] : [{ agent, session, kind, words }]
    })
  const all = [
    ...asked("prompt", prompts, rare),
    ...asked("answer", answers, rare),
    ...asked("command", runs, rare),
    ...asked("error", errors, rare),
    ...asked("file", files, (text) => (isOnes(text) ? basename(text) : undefined)),
  ]
  const once = [...new Map(all.map((one) => [`${one.kind} ${one.words}`, one])).values()]
  // As many of each agent and kind as there are, in turns.
  const groups = [...Map.groupBy(once, ({ agent, kind }) => `${agent} ${kind}`).values()]
  const chosen: Question[] = []
  for (let n = 0; chosen.length < QUESTIONS && groups.some((group) => n < group.length); n++)
    for (const group of groups)
      if (group[n] !== undefined && chosen.length < QUESTIONS) chosen.push(group[n]!)
  return chosen
}

test.skipIf(!hasSamples)(
  "the one search answers questions about every agent's sessions",
  async () => {
    using db = machine.views()
    const asked = questions(db as unknown as Database)
    const answered: (Question & { readonly isRight: boolean })[] = []
    for (const question of asked) {
      const { stdout } = await cli("search", "--json", "-a", "-n", String(FIRST), "--", question.words)
      const hits = (JSON.parse(stdout).hits ?? []) as { session: string; program?: string }[]
      const isRight = hits.some(
        ({ session, program = "claude" }) => session === question.session && program === question.agent,
      )
      answered.push({ ...question, isRight })
    }
    const share = (some: readonly { readonly isRight: boolean }[]): string =>
      `${some.filter(({ isRight }) => isRight).length} of ${some.length}`
    const by = (key: "agent" | "kind"): string =>
      [...Map.groupBy(answered, (one) => one[key])].map(([name, some]) => `${name} ${share(some)}`).join(", ")
    console.info(
      `questions across agents, the right agent's session in the first ${FIRST}: ${share(answered)} (${by("agent")}; ${by("kind")})`,
    )
    expect(asked).toHaveLength(QUESTIONS)
    expect(new Set(asked.map(({ agent }) => agent)).size).toBeGreaterThanOrEqual(4)
    expect(answered.filter(({ isRight }) => isRight).length).toBeGreaterThanOrEqual(QUESTIONS * ANSWERED)
  },
  120_000,
)
