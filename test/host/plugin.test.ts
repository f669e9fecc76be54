/**
 * Plugins of newer clients may answer a compaction themselves (`session.compact`): no model is asked, PreCompact does
 * not run, and what the plugin keeps is written into the transcript a second time, under new uuids.
 */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Receipt } from "../../src/restore/receipt.ts"
import type { Database } from "../../src/views/database.ts"
import { openCurrent } from "../../src/views/open-current.ts"
import { turnsOf } from "../../src/views/queries/turns.ts"
import {
  additionalContext,
  clearStages,
  expectArchived,
  expectQuietHooks,
  FULL,
  occurrences,
  once,
  openStage,
  RESTORE_MARK,
  type Stage,
} from "./checks.ts"
import { type Client, clientFor } from "./clients.ts"
import { type PrintRun, runPrint } from "./drive.ts"
import { bash, type Recorded, say, write } from "./mock-api.ts"
import { ctxbridge, type HookCall, hookCalls, type World } from "./world.ts"

/** The words a plugin puts in place of what it drops: a user message with nothing to mark it. */
const NOTE = "Note of the tidy plugin"
/** What it lets the assistant say to them. */
const ASSENT = "The plugin's assistant has read the note."
/** Entries kept when nobody says how many. In the turn that fills the window, they are its last call and result. */
const KEPT = 4

/** `/compact 5` keeps the last five entries. */
const TIDY = `export const register = (on) => {
  on("session.compact", async ($, e, next) => {
    const kept = e.messages.slice(-Number(e.instructions ?? ${KEPT}))
    const note = { role: "user", text: \`${NOTE}: \${e.messages.length - kept.length} dropped\`, toolUses: [] }
    const assent = { role: "assistant", text: ${JSON.stringify(ASSENT)}, toolUses: [] }
    return { messages: [note, assent, ...kept] }
  })
}
`
const BROKEN = `export const register = (on) => {
  on("session.compact", async ($, e, next) => {
    throw new Error("this plugin is broken")
  })
}
`
/** Another hook for the same event, as slow as some are: the client dates the compaction after it. */
const SLOW = { matcher: "compact", hooks: [{ type: "command", command: "sleep 1.2" }] }

const FAILING = "sh run-tests.sh --suite parser"
const CONSTRAINT = "never touch the lexer"
const MID_TURN = "Rework the tokens and report"
/** Lasts longer than the client keeps lines back before it writes them: a model would have taken as long. */
const REWORK = "sleep 1; echo reworked"
const SWALLOWED = "Now this, with a window that is full"

/** What the human says. A call and its result, and the prompt before them, are written anew by the first two. */
const TIDIED = [
  `Write the parser, ${CONSTRAINT}`,
  "Explain it",
  "Run the tests",
  "/compact 5",
  "What is left to do?",
  "And then?",
  // All there is: also what was written anew before, and the note.
  "/compact 13",
  "Go on with it",
  "/compact 2",
  "Fill the window",
  SWALLOWED,
  MID_TURN,
  "Are we done?",
]
const UNTIDIED = [
  `Write the parser, ${CONSTRAINT}`,
  "Run the tests",
  "/compact",
  "What is left to do?",
  "Are we done?",
]

function writePlugin(world: World, module: string): string {
  const plugin = join(world.root, "plugin")
  for (const folder of [".claude-plugin", "hooks"]) mkdirSync(join(plugin, folder), { recursive: true })
  const manifest = { name: "tidy", version: "0.0.1", description: "Answers compactions" }
  const hooks = { modules: ["./register.mjs"], hooks: { SessionStart: [SLOW] } }
  writeFileSync(join(plugin, ".claude-plugin", "plugin.json"), JSON.stringify(manifest))
  writeFileSync(join(plugin, "hooks", "hooks.json"), JSON.stringify(hooks))
  writeFileSync(join(plugin, "hooks", "register.mjs"), module)
  return plugin
}

interface Performance extends Stage {
  readonly run: PrintRun
}

async function play(client: Client, module: string, prompts: readonly string[]): Promise<Performance> {
  const stage = openStage(client)
  const { world, mock } = stage
  const path = (name: string) => join(world.cwd, name)
  writeFileSync(path("run-tests.sh"), "echo 'FAIL parser: unexpected token in line 3' >&2\nexit 3\n")
  mock.plan("Write the parser", [
    write(path("src/parser.ts"), "export const parse = (s: string) => s.trim()\n"),
    bash("echo parsed"),
    say("The parser is written."),
  ])
  mock.plan("Run the tests", [bash(FAILING), say("The tests fail.")])
  mock.plan("Fill the window", [say("The window is full.", FULL)])
  mock.plan(MID_TURN, [
    write(path("src/tokens.ts"), "export type Token = string\n"),
    bash(REWORK, FULL),
    say("The tokens are reworked."),
  ])
  const run = await runPrint(world, prompts, ["--plugin-dir", writePlugin(world, module)])
  return { ...stage, run }
}

interface Restored {
  readonly text: string
  /** What the main conversation sent next, and what after that. */
  readonly next: Recorded
  readonly afterwards: Recorded
}

function restores({ world, mock }: Stage): Restored[] {
  return compactStarts(world).map((call) => {
    const [next, afterwards] = mock.requests.filter((r) => r.kind === "main" && r.at >= call.began)
    if (next === undefined || afterwards === undefined)
      throw new Error("two requests should follow a compaction")
    return { text: additionalContext(call), next, afterwards }
  })
}

function compactStarts(world: World): HookCall[] {
  return hookCalls(world).filter((c) => c.event === "SessionStart" && c.detail === "compact")
}

function views({ world }: Stage): Database {
  return openCurrent(world.store, "command")
}

/** Each prompt is one turn, in its place; nobody else's words are one. */
function expectTurns(stage: Performance, prompts: readonly string[]): void {
  const turns = turnsOf(views(stage), stage.run.sessionId)
  expect(turns.map(({ prompt }) => prompt)).toEqual([...prompts])
  expect(turns.map(({ via }) => via)).toEqual(prompts.map((p) => (p.startsWith("/") ? "command" : "typed")))
  // Claude Code's result of a failed call is an error; words that a plugin wrote are none.
  const failed = turns.filter(({ errors }) => errors > 0)
  expect(failed.map(({ prompt, errors }) => `${prompt}: ${errors}`)).toEqual(["Run the tests: 1"])
}

function expectCallsOnce(stage: Performance, expected: readonly string[]): void {
  const db = views(stage)
  const rows = db
    .query<{ target: string; prompt: string }, []>(
      "SELECT c.target, t.prompt FROM tool_calls c JOIN turns t ON t.id = c.turn ORDER BY c.use",
    )
    .all()
  const told = rows.map(({ target, prompt }) => `${prompt}: ${target.replace(`${stage.world.cwd}/`, "")}`)
  expect(told).toEqual([...expected])
  const counted = turnsOf(db, stage.run.sessionId).reduce((sum, { tools }) => sum + tools, 0)
  expect(counted).toBe(expected.length)
}

/** Nothing is in the views twice, whoever said it: what is kept has its time still. */
function expectNoCopies(stage: Performance): void {
  const twice = views(stage)
    .query<{ role: string; time: string; length: number; n: number }, []>(
      `SELECT role, time, min(length) AS length, count(*) AS n FROM messages WHERE time IS NOT NULL
       GROUP BY role, time, alias HAVING count(*) > 1`,
    )
    .all()
  expect(twice).toEqual([])
}

function expectUnnoticed({ run }: Performance): void {
  expect({ code: run.code, stderr: run.stderr }).toEqual({ code: 0, stderr: "" })
  expect(run.outputs.filter((output) => output.is_error === true)).toEqual([])
}

/** Given at the compaction, there in the next request, and not given again. */
function expectGivenOnce(stage: Stage, count: number): void {
  const all = restores(stage)
  expect(all.length).toBe(count)
  for (const { text, next, afterwards } of all) {
    expect(text).toStartWith(RESTORE_MARK)
    expect(text.length).toBeLessThanOrEqual(9_500)
    expect(text).toContain(CONSTRAINT)
    expect(text).toContain(FAILING)
    expect(occurrences(next.text, text.trim())).toBe(1)
    expect(occurrences(afterwards.text, text.trim())).toBeLessThanOrEqual(1)
  }
  // That the window is nearly full may be said; nothing is given back there.
  const isAdvice = (stdout: string): boolean => stdout.includes("[ContextAutopilot]")
  const spoken = hookCalls(stage.world).filter(
    (c) => c.event === "UserPromptSubmit" && c.stdout !== "" && !isAdvice(c.stdout),
  )
  expect(spoken.map(({ stdout }) => stdout)).toEqual([])
}

// ---- The tests -------------------------------------------------------------------------------------------

setDefaultTimeout(240_000)

const { client, missing } = await clientFor("latest", "plugins that answer compactions")

describe.skipIf(missing !== undefined)(`a plugin answers compactions of ${client.version}`, () => {
  const tidied = once(() => play(client, TIDY, TIDIED))
  afterAll(clearStages)

  test("the client does not notice us", async () => expectUnnoticed(await tidied()))

  test("no model is asked for a summary", async () => {
    const stage = await tidied()
    expect(stage.mock.requests.filter(({ kind }) => kind === "compact")).toEqual([])
    const noted = stage.mock.requests.filter((r) => r.kind === "main" && r.text.includes(NOTE))
    expect(noted.length).toBeGreaterThanOrEqual(7)
    const announced = views(stage)
      .query<{ trigger: string }, []>("SELECT trigger FROM boundaries ORDER BY offset")
      .all()
    expect(announced.map(({ trigger }) => trigger)).toEqual(["manual", "manual", "manual", "auto", "auto"])
  })

  test("a restore comes once for each compaction", async () => {
    const stage = await tidied()
    expectGivenOnce(stage, 5)
    // A prompt that the plugin keeps brings what the client has tied to it: also the restore before it.
    const given = restores(stage).map(({ text }) => text.trim())
    for (const { next } of restores(stage)) {
      const brought = given.filter((text) => next.text.includes(text))
      expect(occurrences(next.text, RESTORE_MARK)).toBe(brought.length)
    }
    expect(occurrences(restores(stage)[2]!.next.text, RESTORE_MARK)).toBe(1)
  })

  test("receipts tell that each restore has arrived, and that what the plugin kept is kept", async () => {
    const stage = await tidied()
    const { exitCode, stdout, stderr } = ctxbridge(stage.world, ["receipts", "--limit", "9", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const receipts: Receipt[] = JSON.parse(stdout).receipts.toReversed()
    expect(receipts.map(({ delivery, characters }) => [delivery, characters])).toEqual(
      restores(stage).map(({ text }) => ["arrived", text.length]),
    )
    // Its last entries are the failing command, its output and the answer.
    // The line that names the error; a status alone is none.
    expect(receipts[0]!.kinds.error).toMatchObject({ before: 1, kept: 1 })
    expect(receipts[0]!.kinds.constraint).toMatchObject({ before: 1, kept: 0, given: 1 })
  })

  test("the prompt of a turn that was not over is given back, one that has not begun is the client's", async () => {
    const [waiting, begun] = restores(await tidied()).slice(-2)
    expect(waiting!.text).not.toContain(`> ${SWALLOWED}`)
    expect(waiting!.next.text).toContain(SWALLOWED)
    expect(begun!.text).toContain(`> ${MID_TURN}`)
  })

  test("each prompt is one turn, and the plugin's note is none", async () =>
    expectTurns(await tidied(), TIDIED))

  test("the turn in which the plugin's note stands shows it as nobody's prompt", async () => {
    const stage = await tidied()
    const turn = turnsOf(views(stage), stage.run.sessionId).find(({ prompt }) => prompt === "Run the tests")
    const { exitCode, stdout, stderr } = ctxbridge(stage.world, ["show", `ctx:${turn?.handle}`])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    for (const words of [NOTE, ASSENT]) expect(stdout).toContain(`── notice ──\n${words}`)
    expect(occurrences(stdout, "── prompt ──")).toBe(1)
  })

  test("tool calls count once", async () =>
    expectCallsOnce(await tidied(), [
      `${TIDIED[0]}: src/parser.ts`,
      `${TIDIED[0]}: echo parsed`,
      `Run the tests: ${FAILING}`,
      `${MID_TURN}: src/tokens.ts`,
      `${MID_TURN}: ${REWORK}`,
    ]))

  test("nothing is in the views twice", async () => expectNoCopies(await tidied()))

  test("every byte of the transcript is in the vault", async () => expectArchived(await tidied()))

  test("hooks succeed and say nothing on standard error", async () =>
    expectQuietHooks(await tidied(), ["SessionEnd", "SessionStart", "Stop", "UserPromptSubmit"]))
})

describe.skipIf(missing !== undefined)(`a plugin fails at compactions of ${client.version}`, () => {
  const untidied = once(() => play(client, BROKEN, UNTIDIED))
  afterAll(clearStages)

  test("the client compacts by itself, without noticing us", async () => {
    const stage = await untidied()
    expectUnnoticed(stage)
    expect(stage.mock.requests.filter(({ kind }) => kind === "compact").length).toBe(1)
  })

  test("a restore comes once", async () => {
    const stage = await untidied()
    expectGivenOnce(stage, 1)
    const [{ next, afterwards }] = restores(stage) as [Restored]
    for (const { text } of [next, afterwards]) expect(occurrences(text, RESTORE_MARK)).toBe(1)
  })

  test("each prompt is one turn, and tool calls count once", async () => {
    const stage = await untidied()
    expectTurns(stage, UNTIDIED)
    expectCallsOnce(stage, [
      `${UNTIDIED[0]}: src/parser.ts`,
      `${UNTIDIED[0]}: echo parsed`,
      `Run the tests: ${FAILING}`,
    ])
    expectNoCopies(stage)
  })

  test("every byte of the transcript is in the vault", async () => expectArchived(await untidied()))

  test("hooks succeed and say nothing on standard error", async () =>
    expectQuietHooks(await untidied(), [
      "PreCompact",
      "SessionEnd",
      "SessionStart",
      "Stop",
      "SubagentStop",
      "UserPromptSubmit",
    ]))
})
