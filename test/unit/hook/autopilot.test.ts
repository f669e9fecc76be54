/** The autopilot: hooks that follow the context, what they say, and what status tells. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, lstatSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import type { ContextState } from "../../../src/restore/window/context-state.ts"
import type { Ran } from "../../support/binary.ts"
import { holding } from "../../support/held.ts"
import { Inside, Peer, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

setDefaultTimeout(60_000)

const MODEL = "claude-sonnet-4-6"
const SILENT = { code: 0, stdout: "", stderr: "" }

/** An answer after which the context holds so many tokens. */
function answer(transcript: Transcript, tokens: number, model = MODEL): Transcript {
  const usage = {
    input_tokens: 5,
    cache_creation_input_tokens: 15,
    cache_read_input_tokens: tokens - 60,
    output_tokens: 40,
  }
  const id = `msg_${tokens}_${model}`
  const content = [{ type: "text", text: `answered at ${tokens}` }]
  return transcript.line({ type: "assistant", message: { id, role: "assistant", model, content, usage } })
}

const stateOf = (machine: Machine, { session }: Transcript): ContextState =>
  JSON.parse(readFileSync(join(machine.dataHome, "sessions", `${session}.json`), "utf8")).context

const sharedState = (machine: Machine) =>
  JSON.parse(readFileSync(join(machine.dataHome, "autopilot-state.json"), "utf8"))

let prompts = 0
const prompt = (machine: Machine, transcript: Transcript, env: Record<string, string> = {}) =>
  machine.hook("user-prompt-submit", transcript, { prompt: `prompt ${++prompts}` }, { env })

async function context(machine: Machine, env: Record<string, string> = {}) {
  const ran = await run(["status", "--json"], { cwd: machine.cwd, env: { ...machine.env, ...env } })
  expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(ran.stdout).context
}

const noticeOf = ({ stdout }: Ran): string | undefined =>
  stdout === "" ? undefined : JSON.parse(stdout).systemMessage

test("tells the user of each zone and the model of the second, once until the next compaction", async () => {
  using machine = new Inside()
  const session = machine.session()
  await machine.hook("session-start", session, { source: "startup" })
  expect(await prompt(machine, session)).toMatchObject(SILENT)
  for (const tokens of [40_000, 100_000, 118_000, 141_000]) {
    answer(session.user("go on"), tokens).flush()
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
    const said = await prompt(machine, session)
    expect({ code: said.code, stderr: said.stderr }).toEqual({ code: 0, stderr: "" })
    // Nothing for the model yet, and for the user one line.
    if (tokens === 118_000)
      expect(JSON.parse(said.stdout)).toEqual({
        systemMessage:
          "ctxbridge: context at 71% of the point where it is compacted (118.0K of 167.0K tokens). " +
          "/clear is safe at any time: everything is archived.",
      })
    else expect(said.stdout).toBe("")
    expect(stateOf(machine, session).tokens).toBe(tokens)
  }
  answer(session.user("go on"), 145_290).flush()
  const told = await prompt(machine, session)
  expect({ code: told.code, stderr: told.stderr }).toEqual({ code: 0, stderr: "" })
  expect(contextOf(told)).toBe(
    "[ContextAutopilot] Context at 87.0% of the point where it is compacted (~145.3K of 167.0K tokens). " +
      "Keep responses concise to extend session.",
  )
  expect(noticeOf(told)).toContain(
    "context at 87% of the point where it is compacted (145.3K of 167.0K tokens), so",
  )
  expect(sharedState(machine).warningIssued).toBe(true)
  answer(session.user("go on"), 150_000).flush()
  expect(await prompt(machine, session)).toMatchObject(SILENT)
  // Claude Code compacts, goes on, and fills the window again.
  await machine.hook("session-start", session, { source: "compact" })
  answer(session.boundary("auto", 167_400).summary("what was said"), 30_000).flush()
  expect(await prompt(machine, session)).toMatchObject(SILENT)
  expect(stateOf(machine, session)).toMatchObject({ compactions: 1, points: [167_400] })
  expect(sharedState(machine)).toMatchObject({
    pruneCount: 1,
    warningIssued: false,
    lastTokenEstimate: 30_000,
  })
  expect(sharedState(machine).history).toHaveLength(1)
  answer(session.user("go on"), 160_000).flush()
  const again = await prompt(machine, session)
  expect(contextOf(again)).toContain("[ContextAutopilot]")
  expect(noticeOf(again)).toContain("compaction is near")
})

test("nothing is told while the vault is behind, and nothing is lost by that", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("go on"), 150_000).flush()
  // Another process holds the copy: what the line says would not be true.
  await machine.hook("stop", session)
  answer(session.user("go on"), 151_000).flush()
  const copy = relative(machine.dataHome, machine.copy(session.path))
  await holding(machine.dataHome, copy, async () =>
    expect(await prompt(machine, session)).toMatchObject(SILENT),
  )
  expect(noticeOf(await prompt(machine, session))).toContain("(151.0K of 167.0K tokens)")
})

test("a window copied from the design documents does not shrink a larger one", async () => {
  using machine = new Inside()
  machine.env["CLAUDE_FLOW_CONTEXT_WINDOW"] = "200000"
  const session = machine.session()
  answer(session.user("begin"), 180_000, "claude-opus-5-5").flush()
  expect(await prompt(machine, session)).toMatchObject(SILENT)
  expect(await context(machine)).toMatchObject({ window: 1_000_000, zone: "ok" })
  // Whoever says so in our words means it.
  expect(await context(machine, { CTXBRIDGE_CONTEXT_WINDOW: "200000" })).toMatchObject({ window: 200_000 })
  expect(await context(machine, { CLAUDE_FLOW_CONTEXT_WINDOW: "300000" })).toMatchObject({ window: 300_000 })
})

test("status tells of what the host has written since the last hook: a compaction that was just done", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("begin"), 30_000)
  answer(session.user("go on"), 150_000).flush()
  await prompt(machine, session)
  session.boundary("manual", 150_000).summary("s".repeat(3500)).flush()
  expect(await context(machine)).toMatchObject({ tokens: 30_985, estimated: true, compactions: 1 })
  answer(session.user("and on"), 160_000).flush()
  expect(await context(machine, { CTXBRIDGE_CAPTURE: "false" })).toMatchObject({
    compactions: 1,
    estimated: true,
  })
})

test("status heeds what the host's settings say of compactions, as hooks do, who get it from the host", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("begin"), 90_000).flush()
  await prompt(machine, session)
  const settings = async (env: Record<string, string>) => {
    writeFileSync(join(machine.home, ".claude", "settings.json"), JSON.stringify({ env }))
    const { compactsAt, compacts } = await context(machine)
    return [compactsAt, compacts]
  }
  expect(await settings({})).toEqual([167_000, "automatic"])
  expect(await settings({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" })).toEqual([90_000, "automatic"])
  expect(await settings({ DISABLE_AUTO_COMPACT: "1" })).toEqual([177_000, "manual"])
  expect(await settings({ DISABLE_COMPACT: "true" })).toEqual([177_000, "never"])
})

test("where Claude Code's files switch off its own compactions, status and what is told at a prompt say so", async () => {
  for (const file of [".claude.json", ".claude/settings.json", "project"]) {
    using machine = new Inside()
    const at = file === "project" ? join(machine.cwd, ".claude/settings.json") : join(machine.home, file)
    mkdirSync(dirname(at), { recursive: true })
    writeFileSync(at, JSON.stringify({ autoCompactEnabled: false }))
    const session = machine.session({ version: "2.1.329" })
    answer(session.user("begin"), 90_000).flush()
    expect(await prompt(machine, session)).toMatchObject(SILENT)
    expect(await context(machine)).toMatchObject({ compactsAt: 177_000, compacts: "manual" })
    // 70 % of the point where it would compact, but not of the one where it ends.
    answer(session.user("go on"), 118_000).flush()
    expect(await prompt(machine, session)).toMatchObject(SILENT)
    answer(session.user("go on"), 125_000).flush()
    expect(noticeOf(await prompt(machine, session))).toBe(
      "ctxbridge: context at 71% of what Claude Code takes (125.0K of 177.0K tokens). " +
        "/clear is safe at any time: everything is archived.",
    )
    expect(stateOf(machine, session)).toMatchObject({ told: "warning", judged: { compactsAt: 177_000 } })
  }
})

test("status tells of the session that is in use, and lists no session of notes", async () => {
  using machine = new Inside()
  const [first, second] = [machine.session(), machine.session()]
  answer(first.user("begin"), 30_000).flush()
  await prompt(machine, first)
  answer(second.user("begin"), 40_000).user("later", { timestamp: "2026-03-04T08:00:00.000Z" }).flush()
  await prompt(machine, second)
  await using peer = await Peer.connect(machine.cwd, machine.env)
  expect((await peer.call("remember", { text: "The kiln is heated to 1180 degrees." })).isError).toBe(false)
  const { stdout } = await run(["status", "--json"], machine)
  const { context: told, sessions } = JSON.parse(stdout)
  expect(told.session).toBe(second.session)
  expect(sessions.map(({ id }: { id: string }) => id)).toEqual([second.session, first.session])
  const { text } = await peer.call("status")
  expect(text).not.toContain("notes-")
  expect(text).toContain(first.session)
})

test("subagents, the host's own prompts and a second hook for the same prompt change nothing", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("begin"), 50_000).flush()
  await prompt(machine, session)
  const before = stateOf(machine, session)
  session
    .line({
      ...JSON.parse(answer(machine.session({ id: session.session }), 190_000).text),
      isSidechain: true,
    })
    .flush()
  const again = { prompt: "the same" }
  await machine.hook("user-prompt-submit", session, again)
  await machine.hook("user-prompt-submit", session, again)
  await machine.hook("user-prompt-submit", session, { prompt: "<task-notification>done</task-notification>" })
  expect(stateOf(machine, session)).toMatchObject({ tokens: before.tokens, turns: before.turns + 1 })
})

test("each session has its own history, and the shared file is that of the last prompt", async () => {
  using machine = new Inside()
  const sessions = [machine.session(), machine.session()]
  for (const n of [1, 2, 3]) {
    for (const [at, session] of sessions.entries()) {
      answer(session.user("go on"), n * 20_000 + at * 4000).flush()
      await prompt(machine, session)
    }
  }
  for (const session of sessions) {
    const { history } = stateOf(machine, session)
    expect(history.map(({ turns }) => turns)).toEqual([1, 2, 3])
  }
  const shared = sharedState(machine)
  expect(Object.keys(shared)).toEqual([
    "sessionId",
    "lastTokenEstimate",
    "lastPercentage",
    "pruneCount",
    "warningIssued",
    "lastCheck",
    "history",
  ])
  expect(shared).toMatchObject({
    sessionId: sessions[1]!.session,
    lastTokenEstimate: 64_000,
    lastPercentage: 0.32,
  })
  expect(shared.history.map(({ tokens, pct }: { tokens: number; pct: number }) => [tokens, pct])).toEqual([
    [24_000, 0.12],
    [44_000, 0.22],
    [64_000, 0.32],
  ])
  expect(lstatSync(join(machine.dataHome, "autopilot-state.json")).mode & 0o777).toBe(0o600)
})

test("knows a large window, a learnt point, also another session's, and the user's own window", async () => {
  using machine = new Inside()
  const large = machine.session()
  answer(large.user("begin"), 470_600, "claude-opus-5-5").flush()
  expect(await prompt(machine, large)).toMatchObject(SILENT)
  expect(await context(machine)).toMatchObject({
    window: 1_000_000,
    compactsAt: 967_000,
    zone: "ok",
    learnt: false,
  })
  expect(
    contextOf(
      await prompt(machine, answer(large.user("x"), 470_700, "claude-opus-5-5").flush(), {
        CLAUDE_FLOW_CONTEXT_WINDOW: "500000",
      }),
    ),
  ).toContain("of 467.0K tokens")
  const small = machine.session()
  answer(small.user("begin"), 80_000).flush()
  for (const tokens of [90_300, 90_900]) {
    await prompt(machine, answer(small.boundary("auto", tokens).summary("so far"), 20_000).flush())
  }
  expect(stateOf(machine, small).points).toEqual([90_300, 90_900])
  const other = machine.session()
  answer(other.user("begin"), 80_000).flush()
  expect(contextOf(await prompt(machine, other))).toContain("~80.0K of 90.3K tokens")
})

test("after two automatic compactions the point is known to within 3 %, wherever it is", async () => {
  for (const [version, point] of [
    ["2.0.76", 123_000],
    ["2.1.112", 167_000],
    ["2.1.329", 90_000],
  ] as const) {
    using machine = new Inside()
    const session = machine.session({ version })
    answer(session.user("begin"), 40_000).flush()
    await prompt(machine, session)
    // Claude Code looks between answers, so each is some way above.
    for (const above of [5_100, 2_300]) {
      session.boundary("auto", point + above).summary("so far")
      await prompt(machine, answer(session, 30_000 + above).flush())
    }
    const { compactsAt, learnt, window } = await context(machine)
    expect({ version, learnt, near: Math.abs(compactsAt - point) <= window * 0.03 }).toEqual({
      version,
      learnt: true,
      near: true,
    })
    expect(stateOf(machine, session)).toMatchObject({ compactions: 2, judged: { compactsAt } })
  }
})

test("status reports on the latest session of the folder: turns, trend, runway, and what fills the window", async () => {
  using machine = new Inside()
  const session = machine.session()
  const read = (path: string, size: number) => ({
    tool: "Read",
    input: { file_path: path },
    output: "r".repeat(size),
  })
  const bash = { tool: "Bash", input: { command: "make" }, output: "b".repeat(7000) }
  for (const [n, tokens] of [20_000, 30_000, 40_000].entries()) {
    session.user(`prompt ${n}`).step(read("/src/a.ts", 14_000)).step(read("/src/b.ts", 7000)).step(bash)
    answer(session, tokens)
  }
  session.flush()
  await prompt(machine, session)
  const told = await context(machine)
  expect(told).toMatchObject({
    session: session.session,
    model: MODEL,
    tokens: 40_000,
    window: 200_000,
    compactsAt: 167_000,
    zone: "ok",
    turns: 3,
    compactions: 0,
    trend: 10_000,
    runway: 10,
    estimated: false,
  })
  for (const list of [told.fill.kinds, told.fill.files]) {
    const sum = list.reduce((total: number, { percent }: { percent: number }) => total + percent, 0)
    expect(sum).toBeCloseTo(100, 6)
  }
  const share = (list: { name: string; percent: number }[], name: string) =>
    list.find((one) => one.name === name)?.percent
  expect(share(told.fill.kinds, "Read")).toBeCloseTo(45.2, 0)
  expect(share(told.fill.kinds, "Bash")).toBeCloseTo(15.1, 0)
  expect(share(told.fill.files, "/src/a.ts")).toBeCloseTo(30.2, 0)
  const { stdout } = await run(["status", "--verbose"], { cwd: machine.cwd, env: machine.env })
  expect(stdout).toContain(
    "[ContextAutopilot] [====----------------] 20.0% context used (~40.0K/200.0K tokens, 3 turns)",
  )
  expect(stdout).toContain("Status: OK | Optimizations: 0 prune cycles | ~10 turns until optimization needed")
  expect(stdout).toContain("Read 45.")
  expect(await context(machine, { CTXBRIDGE_AUTOPILOT_WARN: "0.2" })).toMatchObject({ zone: "warning" })
  expect(await context(machine, { CTXBRIDGE_AUTOPILOT: "0" })).toBeNull()
})

test("bytes archived by another process are read as well", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("begin"), 30_000).flush()
  await prompt(machine, session)
  answer(session.user("more"), 70_000).flush()
  const imported = await run(["import"], { cwd: machine.cwd, env: machine.env })
  expect({ code: imported.code, stderr: imported.stderr }).toEqual({ code: 0, stderr: "" })
  await prompt(machine, session)
  expect(stateOf(machine, session)).toMatchObject({ tokens: 70_000, at: lstatSync(session.path).size })
})

test("switched off, it tracks nothing; it writes to a project's folder only on request, never through a link", async () => {
  using machine = new Inside()
  const session = machine.session()
  answer(session.user("begin"), 160_000).flush()
  expect(await prompt(machine, session, { CLAUDE_FLOW_CONTEXT_AUTOPILOT: "false" })).toMatchObject(SILENT)
  expect(stateOf(machine, session)).toBeUndefined()
  const data = join(machine.cwd, ".claude-flow", "data")
  mkdirSync(data, { recursive: true })
  await prompt(machine, session)
  expect(existsSync(join(data, "autopilot-state.json"))).toBe(false)
  const asked = { CTXBRIDGE_AUTOPILOT_PROJECT_STATE: "1" }
  await prompt(machine, answer(session.user("x"), 100_000).flush(), asked)
  expect(JSON.parse(readFileSync(join(data, "autopilot-state.json"), "utf8"))).toEqual(sharedState(machine))
  using elsewhere = new Inside()
  symlinkSync(elsewhere.cwd, join(elsewhere.root, "link"))
  const linked = elsewhere.session({ cwd: elsewhere.cwd })
  mkdirSync(join(elsewhere.root, "target", "data"), { recursive: true })
  symlinkSync(join(elsewhere.root, "target"), join(elsewhere.cwd, ".claude-flow"))
  await prompt(elsewhere, answer(linked.user("x"), 100_000).flush(), asked)
  expect(sharedState(elsewhere).lastTokenEstimate).toBe(100_000)
  expect(existsSync(join(elsewhere.root, "target", "data", "autopilot-state.json"))).toBe(false)
})
