/** Sessions that an agent keeps as one document each: taken as lines, each once, and only what is new. */
import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { decodeLine, documentLines } from "../../../src/agents/agents.ts"
import { isDocument } from "../../../src/agents/layouts.ts"
import { historyOf } from "../../../src/job/history-import.ts"
import { takeDocument } from "../../../src/job/import/take-document.ts"
import { hasNews } from "../../../src/job/import/taken-made.ts"
import { vaultFile } from "../../../src/vault/layout.ts"
import { settlePending } from "../../../src/vault/pending.ts"
import { emptyTombstone, writeTombstone } from "../../../src/vault/tombstones.ts"
import { index } from "../../../src/views/indexing.ts"
import { linesFrom } from "../../../src/views/records.ts"
import { Archive } from "../../support/archive.ts"
import { SHARED } from "../../support/real.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const user = (n: number, content: string) => ({
  id: `${ID}-u${n}`,
  timestamp: `2026-02-03T04:05:0${n}.000Z`,
  type: "user",
  content,
})
const model = (n: number, content: string, more = {}) => ({
  ...user(n, content),
  id: `${ID}-m${n}`,
  type: "gemini",
  ...more,
})
const CALL = {
  id: "run-1",
  name: "run_shell_command",
  args: { command: "npm test" },
  result: [{ functionResponse: { id: "run-1", name: "run_shell_command", response: { output: "ok" } } }],
  status: "success",
}

/** An old session of Gemini CLI. */
class Old {
  readonly archive = new Archive()
  readonly path = join(this.archive.root, ".gemini/tmp/kiln/chats/session-2026-02-03T04-05-0a1b2c3d.json")
  #time = 1_800_000_000

  write(messages: readonly object[], more: object = {}): this {
    mkdirSync(dirname(this.path), { recursive: true })
    writeFileSync(join(dirname(this.path), "../.project_root"), join(this.archive.root, "p"))
    const document = {
      sessionId: ID,
      projectHash: "f00d",
      startTime: "2026-02-03T04:05:00.000Z",
      ...more,
      messages,
    }
    writeFileSync(this.path, JSON.stringify(document, null, 2))
    utimesSync(this.path, this.#time, this.#time++)
    return this
  }

  take(options: { isWhole?: boolean; dryRun?: boolean } = {}, exclude: string[] = []) {
    const { dataHome, root, db } = this.archive
    const secrets = { enabled: true, patterns: [] }
    const taken = takeDocument({ dataHome, home: root, secrets, exclude }, this.path, { now: 0, ...options })
    if (options.dryRun !== true && taken.captured.taken > 0) {
      db.transaction(() => index(db, dataHome, taken, () => false)).immediate()
      settlePending(dataHome, taken.copy)
    }
    return taken
  }

  lines(): string[] {
    const { copy } = this.take()
    return [...linesFrom(vaultFile(this.archive.dataHome, copy))].map(({ line }) => line.toString())
  }

  rows(sql: string): unknown[][] {
    return this.archive.db.query(sql).values()
  }

  [Symbol.dispose](): void {
    this.archive[Symbol.dispose]()
  }
}

const PROMPT = user(1, "Why does the kiln overheat?")
const ANSWER = model(2, "The valve is stuck.", { toolCalls: [CALL], thoughts: [{ subject: "Cause" }] })

test("what is a document", () => {
  expect(isDocument("/h/.gemini/tmp/x/chats/session-2026-02-03T04-05-0a1b2c3d.json")).toBe(true)
  expect(isDocument("/h/.gemini/tmp/x/chats/session-2026-02-03T04-05-0a1b2c3d.jsonl")).toBe(false)
  expect(isDocument("/h/.gemini/tmp/x/logs.json")).toBe(false)
})

test("turns, calls and folder", () => {
  using old = new Old().write([PROMPT, ANSWER], { summary: "Kiln" })
  expect(old.take()).toMatchObject({ session: ID, captured: { state: "current" }, isExcluded: false })
  expect(old.rows("SELECT prompt, answer, tools FROM turns")).toEqual([
    ["Why does the kiln overheat?", "The valve is stuck.", 1],
  ])
  expect(old.rows("SELECT id, program, title, cwd FROM sessions")).toEqual([
    [ID, "gemini", "Kiln", join(old.archive.root, "p")],
  ])
})

test("a message that is nested beyond the stack is kept byte for byte, and read as unknown", () => {
  const deep = `${"[".repeat(50_000)}"valve"${"]".repeat(50_000)}`
  const call = { ...CALL, args: { a: "DEEP" } }
  using old = new Old().write([PROMPT, model(2, "", { toolCalls: [call] }), model(3, "The valve is stuck.")])
  writeFileSync(old.path, readFileSync(old.path, "utf8").replace('"DEEP"', deep))
  expect(old.take().captured).toMatchObject({ state: "current" })
  const [, , line] = old.lines()
  expect(line).toContain(`"args":{"a":${deep}}`)
  expect(decodeLine(line!)).toMatchObject({ program: "gemini", type: "unknown", parts: [] })
  expect(old.rows("SELECT prompt, answer FROM turns")).toEqual([
    ["Why does the kiln overheat?", "The valve is stuck."],
  ])
  expect(old.take({ isWhole: true }).captured.taken).toBe(0)
}, 60_000)

test("when it is written anew, only what is new becomes a line, and what is gone stays", () => {
  using old = new Old().write([PROMPT])
  expect(old.take().captured.taken).toBeGreaterThan(0)
  const before = old.lines()
  expect(old.take({ isWhole: true }).captured.taken).toBe(0)
  old.write([PROMPT, ANSWER])
  old.take()
  old.write([ANSWER, user(3, "Mend it.")])
  expect(old.take().captured.taken).toBeGreaterThan(0)
  const lines = old.lines()
  expect(lines.slice(0, before.length)).toEqual(before)
  expect(lines).toHaveLength(before.length + 2)
  expect(old.rows("SELECT prompt FROM turns ORDER BY seq")).toEqual([
    ["Why does the kiln overheat?"],
    ["Mend it."],
  ])
})

test("one that has not changed is not read, and has no news", () => {
  using old = new Old().write([PROMPT])
  const place = { dataHome: old.archive.dataHome, home: old.archive.root }
  const { mtimeMs } = require("node:fs").statSync(old.path)
  expect(hasNews(place, old.path, mtimeMs)).toBe(true)
  old.take()
  expect(hasNews(place, old.path, mtimeMs)).toBe(false)
  writeFileSync(old.path, "no JSON")
  utimesSync(old.path, mtimeMs / 1000, mtimeMs / 1000)
  expect(old.take().captured).toMatchObject({ state: "current", taken: 0 })
  expect(() => old.take({ isWhole: true })).toThrow()
})

test("a dry run counts and writes nothing", () => {
  using old = new Old().write([PROMPT])
  const { captured, copy } = old.take({ dryRun: true })
  expect(captured.taken).toBeGreaterThan(0)
  expect(existsSync(vaultFile(old.archive.dataHome, copy))).toBe(false)
})

test("secrets are filled, and their lines are not taken a second time", () => {
  const key = `AKIA${"Q7ZK".repeat(4)}`
  using old = new Old().write([user(1, `The key is ${key}, mind it.`)])
  old.take()
  expect(old.lines().join("\n")).not.toContain(key)
  expect(old.take({ isWhole: true }).captured.taken).toBe(0)
})

test("what is forgotten, excluded or gone is not taken", () => {
  using old = new Old().write([PROMPT])
  expect(old.take({}, [join(old.archive.root, "p")])).toMatchObject({
    isExcluded: true,
    captured: { taken: 0 },
  })
  expect(old.take({}, ["/elsewhere"]).isExcluded).toBe(false)
  writeTombstone(old.archive.dataHome, { ...emptyTombstone(ID, 0), whole: true })
  expect(old.take().captured.state).toBe("forgotten")
  using none = new Old()
  expect(none.take().captured.state).toBe("missing")
})

test("what is excluded or forgotten does not count as missing for ever", () => {
  using old = new Old().write([PROMPT])
  const { dataHome, root } = old.archive
  const inHistory = (exclude: string[] = []) => {
    const place = { dataHome, home: root, claudeDir: join(root, ".claude"), named: () => undefined, exclude }
    const { transcripts, left } = historyOf(place)
    return [transcripts, left]
  }
  const exclude = [join(root, "p")]
  expect(inHistory(exclude)).toEqual([1, 1])
  old.take({ dryRun: true }, exclude)
  expect(inHistory(exclude)).toEqual([1, 1])
  old.take({}, exclude)
  expect(inHistory(exclude)).toEqual([0, 0])
  expect(old.take({}, exclude).isExcluded).toBe(true)
  // It is wanted again as soon as something else is excluded, and looked at again when it has changed.
  expect(inHistory()).toEqual([1, 1])
  old.write([PROMPT, PROMPT])
  expect(inHistory(exclude)).toEqual([1, 1])
  writeTombstone(dataHome, { ...emptyTombstone(ID, 0), whole: true })
  expect(inHistory()).toEqual([0, 0])
})

describe("of a document that is none", () => {
  test.each(["[]", "{}", "x", '{"messages":1}'])("%s", (text) => {
    expect(() => documentLines(new Old().path, text, () => undefined)).toThrow()
  })
})

const samples = join(SHARED, "samples/agents/gemini-cli")

test.skipIf(!existsSync(samples))("real documents are decoded (needs samples beside the checkout)", () => {
  for (const name of readdirSync(samples).filter((one) => one.endsWith(".json"))) {
    const path = "/h/.gemini/tmp/x/chats/session-2026-02-03T04-05-0a1b2c3d.json"
    const text = readFileSync(join(samples, name), "utf8")
    const records = documentLines(path, text, () => undefined).map((one) => decodeLine(JSON.stringify(one)))
    for (const record of records) {
      expect(record.program).toBe("gemini")
      expect(record.type).not.toMatch(/^(?:malformed|unknown)/)
    }
    const calls = JSON.parse(text).messages.flatMap((one: { toolCalls?: unknown[] }) => one.toolCalls ?? [])
    const found = records.flatMap(({ inner = [] }) => inner).filter(({ record }) => record.type === "call")
    expect(found).toHaveLength(calls.length)
    expect(records.flatMap(({ parts }) => parts).some(({ kind }) => kind === "prompt")).toBe(true)
  }
})
