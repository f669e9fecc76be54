/**
 * A whole conversation with a real client, in print mode or in a terminal: what the archive holds afterwards, and what
 * the model got to see. The model is a mock on the loopback interface; everything else is the client as npm ships it.
 */
import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import {
  additionalContext,
  expectArchived,
  expectQuietHooks,
  FULL,
  occurrences,
  openStage,
  RESTORE_MARK,
  type Stage,
  transcripts,
} from "./checks.ts"
import { type Client, isOld } from "./clients.ts"
import { type Output, runPrint, Terminal } from "./drive.ts"
import { bash, countedTokens, delegate, type Mock, type Recorded, read, say, write } from "./mock-api.ts"
import { countCalls, ctxbridge, hookCalls, until, type World } from "./world.ts"

/** How the line for the user begins. */
const LINE = "ctxbridge restored "
/** How the text for the summarizing model begins. */
const INSTRUCTIONS_MARK = "ctxbridge:"

const EVENTS = ["PreCompact", "SessionEnd", "SessionStart", "Stop", "SubagentStop", "UserPromptSubmit"]
/** A whole conversation, with many starts of a program of 300 MB on a slow machine. */
export const TIMEOUT = 240_000

const FAILING = "sh run-tests.sh --suite parser"
const CONSTRAINT = "never touch the lexer"
/** The prompt that an automatic compaction swallows; with characters that careless quoting would change. */
const SWALLOWED = 'Rename the token type to "Tok<en>" & keep C:\\new\\path – l’été, 100 % as is'

/** A prompt of several lines, in a turn so long that the window fills up on the way. */
export const MID_TURN = "Rework the lexer:\n- keep error names\n- no new files\nand report"

function setStage(client: Client): Stage {
  const stage = openStage(client)
  const { world, mock } = stage
  const path = (name: string) => join(world.cwd, name)
  writeFileSync(path("run-tests.sh"), "echo 'FAIL parser: unexpected token in line 3' >&2\nexit 3\n")
  mock.plan("Write the parser", [
    {
      ...write(path("src/parser.ts"), "export const parse = (s: string) => s.trim()\n"),
      think: "A small file.",
    },
    read(path("src/parser.ts")),
    bash("echo parsed"),
    say("The parser is written."),
  ])
  mock.plan("Run the tests", [bash(FAILING), delegate("Survey the folder"), say("The tests fail.")])
  mock.plan("Survey the folder", [say("There is one file.")])
  mock.plan("Go on with", [say("The next step fills the window.", FULL)])
  mock.plan("Rename the token", [say("Renamed.")])
  mock.plan("Rework the lexer", [
    write(path("src/lexer.ts"), "export const lex = (s: string) => s.split(' ')\n"),
    bash("echo lexed", FULL),
    say("The lexer is reworked."),
  ])
  return stage
}

/** Whether the turn with the subagent is over; newer versions report its result in a turn of its own. */
function delegationOver({ world, mock }: Stage): boolean {
  const stops = (after: number) => hookCalls(world).some((c) => c.event === "Stop" && c.began > after)
  const survey = mock.requests.find((request) => request.plan === "Survey the folder")
  if (survey === undefined) return false
  if (isOld(world.client)) return stops(survey.at)
  const ended = hookCalls(world).find((c) => c.event === "SubagentStop" && c.stdin["agent_type"] !== "")
  if (ended === undefined) return false
  const background = ended.stdin["background_tasks"]
  if (!Array.isArray(background) || background.length === 0) return stops(ended.began)
  const notified = mock.requests.find((r) => r.kind === "main" && r.text.includes("<task-notification>"))
  return notified !== undefined && stops(notified.at)
}

/** True when no answer is still without its `result`. */
const settled = (outputs: readonly Output[]) =>
  outputs.findLastIndex((output) => output.type === "result") >
  outputs.findLastIndex((output) => output.type === "assistant")

interface Compaction {
  readonly request: Recorded
  /** What the main conversation sent next. */
  readonly next: Recorded
  /** What our hook had given to the client in between. */
  readonly restored: string
}

export function compactions({ world, mock }: Stage, from = 0): Compaction[] {
  const given = hookCalls(world).filter((c) => c.event === "SessionStart" && c.detail === "compact")
  return mock.requests
    .filter((request) => request.n >= from && request.kind === "compact")
    .map((request) => {
      const next = mock.requests.find((r) => r.n > request.n && r.kind === "main")
      const call = given.find((c) => c.began >= request.at)
      if (next === undefined || call === undefined) throw new Error("nothing came after the compaction")
      return { request, next, restored: additionalContext(call) }
    })
}

/** A restored text quotes each line behind a mark; nothing else may differ. */
export const unquoted = (text: string) => text.replace(/^> /gm, "")

/** The first request of the main conversation that carries these words. */
function requestWith(mock: Mock, words: string): Recorded {
  const request = mock.requests.find((r) => r.kind === "main" && r.text.includes(words))
  if (request === undefined) throw new Error(`no request with "${words}"`)
  return request
}

// ---- What must hold, however the client was driven -------------------------------------------------------

function expectRestored({ next, restored }: Compaction): void {
  expect(restored).toStartWith(RESTORE_MARK)
  expect(restored.length).toBeLessThanOrEqual(9_500)
  expect(next.text).toContain(restored.trim())
  expect(occurrences(next.text, RESTORE_MARK)).toBe(1)
  expect(restored).toContain("src/parser.ts")
  expect(restored).toContain(FAILING)
  expect(restored).toContain(CONSTRAINT)
  expect(restored).toMatch(/ctx:[0-9a-z]{4}/)
}

function expectInstructions({ request }: Compaction): void {
  const asked = request.text.slice(request.text.lastIndexOf("Additional Instructions:"))
  expect(asked.split("\n").some((line) => line.startsWith(INSTRUCTIONS_MARK))).toBe(true)
}

function expectSwallowedPrompt({ world }: Stage, { next, restored }: Compaction): void {
  expect(next.text).toContain(SWALLOWED)
  // From some version after 2.1.112 on, Claude Code itself keeps a prompt that has not been answered.
  if (Bun.semver.order(world.client.version, "2.1.112") <= 0) expect(restored).toContain(SWALLOWED)
}

/** No request of any conversation carries two restored texts, whatever the client replays. */
function expectNeverTwice({ mock }: Stage): void {
  const twice = mock.requests.filter((r) => r.kind === "main" && occurrences(r.text, RESTORE_MARK) > 1)
  expect(twice.map((request) => request.n)).toEqual([])
}

/** A model that is doing well is left alone: words cost tokens and attention. */
function expectReserve({ world }: Stage): void {
  const starts = hookCalls(world).filter((c) => c.event === "SessionStart" && c.detail === "startup")
  expect(starts.filter((c) => additionalContext(c).length > 1_000).map((c) => c.stdout)).toEqual([])
  const roomy = hookCalls(world).filter((c) => c.event === "UserPromptSubmit" && c.began < filledAt(world))
  expect(roomy.length).toBeGreaterThanOrEqual(3)
  expect(roomy.map((c) => c.stdout).filter((text) => text !== "")).toEqual([])
}

/** When the window was full for the first time. */
function filledAt(world: World): number {
  const call = hookCalls(world).find((c) => c.event === "PreCompact" && c.detail === "auto")
  const prompts = hookCalls(world).filter(
    (c) => c.event === "UserPromptSubmit" && c.began <= (call?.began ?? 0),
  )
  return prompts.at(-1)?.began ?? 0
}

/** The hook's answer to the last start of a session with this source. */
function lastStart({ world }: Stage, ...sources: string[]): string {
  const call = hookCalls(world).findLast((c) => c.event === "SessionStart" && sources.includes(c.detail))
  if (call === undefined) throw new Error(`no SessionStart with ${sources.join(" or ")}`)
  return additionalContext(call)
}

/** After resume and fork the restored text is there once: replayed by Claude Code, or given again where it is not. */
function expectResumed(stage: Stage, words: string, given: string): void {
  expect(occurrences(requestWith(stage.mock, words).text, RESTORE_MARK)).toBe(1)
  if (isOld(stage.world.client)) expect(given).toStartWith(RESTORE_MARK)
  else expect(given).toBe("")
}

export function expectRestoredAfterClear(stage: Stage): void {
  const given = lastStart(stage, "clear")
  const next = requestWith(stage.mock, "Cleared: where were we?")
  expect(given).toStartWith(RESTORE_MARK)
  expect(next.text).toContain(given.trim())
  expect(occurrences(next.text, RESTORE_MARK)).toBe(1)
  expect(given).toContain("src/parser.ts")
  expect(given).toContain(FAILING)
}

// ---- The two ways to drive a client ----------------------------------------------------------------------

export async function playInPrintMode(client: Client) {
  const stage = setStage(client)
  const { world, mock } = stage
  const delegation = (outputs: readonly Output[]) => settled(outputs) && delegationOver(stage)
  const session = await runPrint(world, [
    `Write the parser, ${CONSTRAINT}`,
    { text: "Run the tests and look around", until: delegation },
    "/compact focus on the parser",
    "Go on with the next step",
    SWALLOWED,
    "What is left to do?",
  ])
  const resumed = await runPrint(world, ["Resumed: where were we?"], ["--resume", session.sessionId])
  const afterResume = lastStart(stage, "resume")
  const fork = ["--resume", session.sessionId, "--fork-session"]
  const forked = await runPrint(world, ["Forked: where were we?"], fork)
  const afterFork = lastStart(stage, "resume", "fork")

  const midTurnFrom = mock.requests.length
  const midTurn = await runPrint(world, [MID_TURN])
  return { ...stage, runs: [session, resumed, forked, midTurn], afterResume, afterFork, midTurnFrom }
}

export async function playInTerminal(client: Client) {
  const stage = setStage(client)
  const { world } = stage
  let terminal = await Terminal.start(world)
  /** One more call of a hook than before tells that the client has got there. */
  const entered = async (text: string, event: string, detail?: string) => {
    const before = countCalls(world, event, detail)
    await terminal.enter(text, () => countCalls(world, event, detail) > before)
  }
  try {
    await entered(`Write the parser, ${CONSTRAINT}`, "Stop")
    await entered("Run the tests and look around", "UserPromptSubmit")
    await until("the subagent's result", () => delegationOver(stage), { state: () => terminal.screen() })
    await entered("/compact focus on the parser", "SessionStart", "compact")
    await terminal.waitFor("the end of the compaction", (screen) => /compacted/i.test(screen))
    await terminal.waitFor("what was given back", (screen) => screen.includes(LINE))
    const screen = terminal.screen()
    await entered("Go on with the next step", "Stop")
    await entered(SWALLOWED, "Stop")
    const compacted = hookCalls(world).findLast((c) => c.event === "Stop")?.stdin["session_id"] as string
    await entered("/clear", "SessionStart", "clear")
    await entered("Cleared: where were we?", "Stop")
    await terminal.leave()

    terminal = await Terminal.start(world, ["--resume", compacted])
    await entered("Resumed: where were we?", "Stop")
    await terminal.leave()
    const afterResume = lastStart(stage, "resume")
    terminal = await Terminal.start(world, ["--resume", compacted, "--fork-session"])
    await entered("Forked: where were we?", "Stop")
    await terminal.leave()
    return { ...stage, afterResume, afterFork: lastStart(stage, "resume", "fork"), screen }
  } finally {
    terminal.kill()
  }
}

// ---- What both are asked ----------------------------------------------------------------------------------

interface Performance extends Stage {
  readonly afterResume: string
  readonly afterFork: string
  /** After the first compaction, in a terminal. */
  readonly screen?: string
}

type Play = () => Promise<Performance>

export function testMemory(play: Play, count: number): void {
  test("what a compaction dropped is given back, once", async () => {
    const stage = await play()
    const all = compactions(stage)
    expect(all.length).toBe(count)
    for (const compaction of all.slice(0, 2)) expectRestored(compaction)
    expectNeverTwice(stage)
  })

  test("receipts tell of each compaction that what was given back has arrived, where the host tells", async () => {
    const stage = await play()
    const { exitCode, stdout, stderr } = ctxbridge(stage.world, ["receipts", "--limit", "9", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const receipts: { delivery: string; characters: number }[] = JSON.parse(stdout).receipts.toReversed()
    const given = compactions(stage).map(({ restored }) => restored.length)
    const proof = isOld(stage.world.client) ? "untold" : "arrived"
    expect(receipts.map(({ delivery, characters }) => [delivery, characters])).toEqual(
      given.map((length) => [proof, length]),
    )
  })

  test("the user is told in a line that the model does not get", async () => {
    const stage = await play()
    const starts = hookCalls(stage.world).filter((c) => c.event === "SessionStart" && c.detail === "compact")
    for (const { stdout } of starts) expect(JSON.parse(stdout).systemMessage).toStartWith(LINE)
    expect(stage.mock.requests.filter(({ text }) => text.includes(LINE))).toEqual([])
    if (stage.screen !== undefined) expect(stage.screen).toContain(LINE)
  })

  test("the context is as large as the model's API has counted, and its window is the model's", async () => {
    const { world, mock } = await play()
    const { exitCode, stdout, stderr } = ctxbridge(world, ["status", "--json"])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    const last = mock.requests.findLast(({ kind, body }) => kind === "main" && body.messages !== undefined)
    const { tokens, window, estimated } = JSON.parse(stdout).context
    expect({ tokens, window, estimated }).toEqual({
      tokens: countedTokens(last!.body),
      window: last!.body.model!.includes("-5-5") ? 1_000_000 : 200_000,
      estimated: false,
    })
  })

  test("a handle of a restored text opens what it stands for", async () => {
    const stage = await play()
    const line = compactions(stage)[0]!
      .restored.split("\n")
      .find((text) => text.includes(FAILING))
    const handle = /ctx:[0-9a-z]+/.exec(line ?? "")?.[0] ?? "no handle"
    const { exitCode, stdout, stderr } = ctxbridge(stage.world, ["show", handle])
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" })
    expect(stdout).toContain("Run the tests and look around")
    expect(stdout).toContain(FAILING)
    expect(stdout).toContain("FAIL parser: unexpected token in line 3")
  })

  test("a prompt that an automatic compaction swallows is given back", async () => {
    const stage = await play()
    expectSwallowedPrompt(stage, compactions(stage)[1]!)
  })

  test("the summarizing model is told what is archived", async () => {
    for (const compaction of compactions(await play())) expectInstructions(compaction)
  })

  test("resume and fork have the restored text once", async () => {
    const stage = await play()
    expectResumed(stage, "Resumed: where were we?", stage.afterResume)
    expectResumed(stage, "Forked: where were we?", stage.afterFork)
  })
}

export function testHarmlessness(play: Play): void {
  test("every byte of every transcript is in the vault", async () => {
    const stage = await play()
    expect(transcripts(stage.world).length).toBeGreaterThan(1)
    await expectArchived(stage)
  })
  test("hooks succeed and say nothing on standard error", async () => expectQuietHooks(await play(), EVENTS))
  test("nothing is injected while all is well", async () => expectReserve(await play()))
}
