/** Copilot CLI's hooks as it calls them, with events like its own: what is archived, given back, and told. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { MARK } from "../../src/record/our-marks.ts"
import { run } from "../support/binary.ts"
import { type CopilotEvents, fullEvents } from "../support/copilot-events.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(60_000))

const ID = "0a1b2c3d-0000-4000-8000-00000000000a"
const OTHER = "0a1b2c3d-0000-4000-8000-00000000000b"

let machine: Machine
const folder = () => join(machine.home, ".copilot")
afterEach(() => machine[Symbol.dispose]())

/** One call as Copilot makes it: it must end well, and say nothing that Copilot would not take. */
async function call(event: string, fields: Record<string, unknown> = {}, id = ID): Promise<string> {
  const told = { sessionId: id, timestamp: 1, cwd: machine.cwd, ...fields }
  const { code, stdout, stderr } = await run(["hook", event, "copilot"], {
    cwd: machine.cwd,
    stdin: JSON.stringify(told),
    env: machine.env,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  if (stdout === "") return ""
  const { additionalContext, ...unknown } = JSON.parse(stdout)
  expect(unknown).toEqual({})
  expect(["session-start", "user-prompt-submit", "post-tool-use"]).toContain(event)
  return additionalContext
}

const tool = (id = ID): Promise<string> =>
  call("post-tool-use", { toolName: "bash", toolArgs: {}, toolResult: { resultType: "success" } }, id)

const session = (): CopilotEvents => fullEvents({ folder: folder(), id: ID, cwd: machine.cwd })
const compactedAt = ({ lines }: CopilotEvents): number =>
  lines.findIndex((line) => line.includes('"session.compaction_complete"'))
const copy = (id = ID): string => join(machine.dataHome, "vault/copilot/home", `${id}.jsonl.zst`)

/** A session up to just before its compaction was applied, which was announced. */
async function announced(): Promise<{ events: CopilotEvents; at: number }> {
  machine = new Machine()
  const events = session()
  const at = compactedAt(events)
  expect(await call("session-start", { source: "new" })).toBe("")
  events.flush(0, at)
  expect(await call("user-prompt-submit", { prompt: "Why does the kiln overheat?" })).toBe("")
  expect(await call("pre-compact", { trigger: "auto", transcriptPath: events.path })).toBe("")
  return { events, at }
}

test("a compaction is answered at the next tool, once, and not before it was applied", async () => {
  const { events, at } = await announced()
  expect(await tool()).toBe("")
  events.flush(at, at + 1)
  const given = await tool()
  expect(given).toStartWith(`${MARK}"compact" session="${ID}">`)
  expect(given).toContain("last failing: `npm test`")
  // What the summary says is not said again, and nobody is called what it is not.
  expect(given).not.toContain("Claude")
  expect(await tool()).toBe("")
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toBe("")
  expect(await tool()).toBe("")
})

test("several tools at once: one of them answers, also where nobody announced it", async () => {
  for (const isAnnounced of [true, false]) {
    let events: CopilotEvents
    if (isAnnounced) {
      const begun = await announced()
      events = begun.events.flush(begun.at, begun.at + 1)
    } else {
      machine[Symbol.dispose]()
      machine = new Machine()
      events = session()
      const at = compactedAt(events)
      events.flush(0, at)
      await call("user-prompt-submit", { prompt: "Why does the kiln overheat?" })
      events.flush(at, at + 1)
    }
    const calls = [0, 1, 2, 3].map(async (n) => {
      // Each writes something before its hook is called.
      if (n > 1) events.event("tool.execution_start", { toolCallId: `t${n}` }).flush(events.lines.length - 1)
      return tool()
    })
    const given = (await Promise.all(calls)).filter((text) => text !== "")
    expect(given).toHaveLength(1)
    expect(await tool()).toBe("")
  }
})

test("where no tool follows, the next prompt answers", async () => {
  const { events, at } = await announced()
  events.flush(at, at + 1)
  expect(await call("stop", { transcriptPath: events.path, stopReason: "end_turn" })).toBe("")
  expect(await call("session-end", { reason: "complete" })).toBe("")
  expect(await call("session-start", { source: "resume" })).toBe("")
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toContain(`${MARK}"compact"`)
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toBe("")
})

test("a second compaction has an answer of its own", async () => {
  const { events, at } = await announced()
  events.flush(at, at + 1)
  expect(await tool()).toContain(MARK)
  const from = events.lines.length
  events.run("make", "boom", 2)
  events.compacted("<overview>Made.</overview>").flush(from)
  const again = await tool()
  expect(again).toContain("last failing: `make`")
  expect(await tool()).toBe("")
})

test("one that failed, or a subagent's own, takes nothing away", async () => {
  const { events } = await announced()
  const from = events.lines.length
  events.event("session.compaction_complete", { success: false, outcome: "failed" })
  events.event("session.compaction_complete", { success: true, outcome: "cancelled" })
  events.event("session.compaction_complete", { success: true, summaryContent: "x" }, { agentId: "a" })
  events.flush(from)
  expect(await tool()).toBe("")
  expect(await call("user-prompt-submit", { prompt: "Go on" })).toBe("")
})

test("a subagent's tools have an id that is no session's, and do not take its answer", async () => {
  const { events, at } = await announced()
  events.flush(at, at + 1)
  expect(await tool(OTHER)).toBe("")
  expect(existsSync(copy(OTHER))).toBe(false)
  expect(await tool()).toContain(MARK)
})

test("with nothing to answer, a tool's hook reads the end of the transcript, and writes nothing", async () => {
  machine = new Machine()
  const events = session()
  events.flush(0, compactedAt(events))
  expect(await tool()).toBe("")
  expect(existsSync(machine.dataHome) ? readdirSync(machine.dataHome) : []).toEqual([])
})

test("without restores, nothing is looked for", async () => {
  const { events, at } = await announced()
  events.flush(at, at + 1)
  mkdirSync(join(machine.home, ".config/ctxbridge"), { recursive: true })
  writeFileSync(join(machine.home, ".config/ctxbridge/config.toml"), "[restore]\nenabled = false\n")
  expect(await tool()).toBe("")
})

test("a new session is told where the last one was left", async () => {
  machine = new Machine()
  session().flush()
  await call("session-end", { reason: "complete" })
  await machine.idle()
  const pointer = await call("session-start", { source: "new" }, OTHER)
  expect(pointer).toStartWith(`${MARK}"startup"`)
  expect(pointer).toContain("Last session of this project:")
  // Only another agent's session is said to be whose.
  expect(pointer).not.toContain("in Copilot CLI")
})

test("the server's tools have the names that they have there", async () => {
  const { events, at } = await announced()
  mkdirSync(folder(), { recursive: true })
  const server = { command: "/opt/ctxbridge", args: ["mcp"] }
  writeFileSync(
    join(folder(), "mcp-config.json"),
    JSON.stringify({ mcpServers: { ctxbridge: { type: "stdio", ...server } } }),
  )
  events.flush(at, at + 1)
  const given = await tool()
  expect(given).toContain("`ctxbridge-get`")
  expect(given).not.toContain("mcp__")
})

test("COPILOT_HOME says where a session is", async () => {
  machine = new Machine()
  const elsewhere = join(machine.root, "elsewhere")
  machine.env["COPILOT_HOME"] = elsewhere
  const events = fullEvents({ folder: elsewhere, id: ID, cwd: machine.cwd }).flush()
  await call("stop", { stopReason: "end_turn" })
  const [root] = readdirSync(join(machine.dataHome, "vault/copilot"))
  const path = join(machine.dataHome, "vault/copilot", root!, `${ID}.jsonl.zst`)
  expect(Buffer.from(Bun.zstdDecompressSync(readFileSync(path))).toString()).toBe(events.text)
})

test.each([
  ["{}"],
  ["[]"],
  ["no JSON"],
  [""],
  ['{"sessionId": 7}'],
  ['{"sessionId": "../../etc/passwd"}'],
  [`{"sessionId": "${ID}", "cwd": 7, "prompt": {}}`],
])("whatever it says, nothing goes wrong: %s", async (stdin) => {
  machine = new Machine()
  for (const event of [
    "session-start",
    "user-prompt-submit",
    "post-tool-use",
    "pre-compact",
    "stop",
    "session-end",
  ])
    expect(
      await run(["hook", event, "copilot"], { cwd: machine.cwd, stdin, env: machine.env }),
    ).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
})

test("what only a user is told waits for a session that shows it", async () => {
  machine = new Machine()
  mkdirSync(machine.dataHome, { recursive: true })
  const note = join(machine.dataHome, "imported.json")
  writeFileSync(note, JSON.stringify({ transcripts: 3, bytes: 1000, moves: [] }))
  expect(await call("session-start", { source: "new" })).toBe("")
  expect(existsSync(note)).toBe(true)
  const started = { session_id: OTHER, cwd: machine.cwd, source: "startup" }
  const { stdout } = await run(["hook", "session-start", "codex"], {
    cwd: machine.cwd,
    stdin: JSON.stringify(started),
    env: machine.env,
  })
  expect(JSON.parse(stdout).systemMessage).toContain("ctxbridge has imported 3 transcripts")
  expect(existsSync(note)).toBe(false)
})
