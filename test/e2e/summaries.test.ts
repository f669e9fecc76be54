/**
 * `ctxbridge summarize` with a client that answers what it is told to; real ones are in test/host/summaries.test.ts.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run, start } from "../support/binary.ts"
import { ClaudeStandIn } from "../support/claude-stand-in.ts"
import { contentOf, Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { filesWith } from "../support/traces.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

async function json<T>(machine: Machine, ...args: string[]): Promise<T> {
  const { stdout, stderr } = await cli(machine, ...args, "--json")
  expect(stderr).toBe("")
  return JSON.parse(stdout) as T
}

const archived = async (machine: Machine, session: Transcript): Promise<void> => {
  expect(await machine.hook("stop", session.flush())).toMatchObject({ code: 0, stdout: "", stderr: "" })
}

interface Shown {
  readonly summary: { readonly kind: string; readonly observations: readonly { readonly title: string }[] }
  readonly turns: readonly { readonly handle: string }[]
}

/** What a model would write about the session's first turn. */
async function answerAbout(machine: Machine, { session }: Transcript, title = "Retries are exponential") {
  const { turns } = await json<Shown>(machine, "show", session)
  const turn = turns[0]!.handle
  return JSON.stringify({
    summary: { request: "Retries for the client", completed: "Exponential backoff, tests pass" },
    observations: [{ type: "decision", title, narrative: "Jitter spreads the load.", turns: [turn] }],
  })
}

/** A session of one turn, about which the model has written. */
async function summarised(machine: Machine): Promise<{ claude: ClaudeStandIn; session: Transcript }> {
  const claude = new ClaudeStandIn(machine)
  const session = machine.session().turn("Add retries to the client")
  await archived(machine, session)
  claude.answers(await answerAbout(machine, session))
  await cli(machine, "summarize", "--yes")
  return { claude, session }
}

const copyOf = (machine: Machine, { session }: Transcript): string =>
  join(machine.dataHome, "vault", "summaries", `${session}.jsonl.zst`)

test.concurrent("--dry-run tells what would be sent; nobody is asked for leave without a terminal", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  const session = machine.session().turn("Add retries to the client")
  await archived(machine, session)
  const dry = await cli(machine, "summarize", "--dry-run")
  expect(dry).toMatchObject({ code: 0, stderr: "" })
  expect(dry.stdout).toMatch(
    /^1 session, about \d+ tokens for haiku, sent by \/.*\/claude:\n {2}5e551011 {2}1 turn · about \d+ tokens\n$/,
  )
  expect(await cli(machine, "summarize")).toMatchObject({
    code: 64,
    stderr:
      "ctxbridge: this sends what your sessions say to the model, and there is no terminal to ask on\n" +
      "hint: --dry-run shows what would happen, --yes goes ahead\n",
  })
  expect(claude.calls).toBe(0)
  expect(existsSync(copyOf(machine, session))).toBe(false)
})

test.concurrent("the client gets an empty folder, no tools and no hooks; what it wrote is shown with its origin", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  const session = machine.session().turn("Add retries to the client")
  await archived(machine, session)
  claude.answers(await answerAbout(machine, session))
  machine.env["CLAUDECODE"] = "1"
  const done = await cli(machine, "summarize", "--yes", "--model", "sonnet")
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(done.stdout).toEndWith(
    "  1 observation · $0.01\n1 session summarised · $0.01 by Claude Code's account\n",
  )
  const args = claude.last("args").split("\n")
  for (const one of ["-p", "--strict-mcp-config", "--no-session-persistence", '{"disableAllHooks":true}'])
    expect(args).toContain(one)
  expect([args[args.indexOf("--tools") + 1], args[args.indexOf("--model") + 1]]).toEqual(["", "sonnet"])
  expect(claude.last("files")).toBe("")
  expect(claude.last("env")).toContain("CTXBRIDGE_CAPTURE=off\n")
  expect(claude.last("env")).not.toContain("CLAUDECODE=")
  const shown = await cli(machine, "show", session.session)
  expect(shown.stdout).toContain("\nSummary, written by a model (claude-haiku-4-5), of turns up to ctx:")
  expect(shown.stdout).toContain("  done: Exponential backoff, tests pass\n")
  expect(shown.stdout).toMatch(/\n {2}obs:\w+ decision: Retries are exponential\n/)
  // Nothing in the folder for temporary files, and nothing to do.
  expect(readdirSync(machine.root).filter((name) => name.includes("summary"))).toEqual([])
  expect(await cli(machine, "summarize", "--yes")).toMatchObject({
    code: 0,
    stdout: "Nothing to summarise: a model has read all of it\n",
  })
  expect(claude.calls).toBe(1)
})

const hasGoneOn = async (machine: Machine, { session }: Transcript): Promise<boolean> =>
  /; the\s+session has gone on since:\n/.test((await cli(machine, "show", session)).stdout)

/** What came within the turn that the model had read last was not told. */
test.concurrent("a turn that has grown since is told", async () => {
  using machine = new Machine()
  const { session } = await summarised(machine)
  session.message().say("The delay doubles each time.")
  await archived(machine, session)
  expect(await hasGoneOn(machine, session)).toBe(true)
})

test.concurrent("of a session that went on, only what is new is sent, with the former summary", async () => {
  using machine = new Machine()
  const { claude, session } = await summarised(machine)
  expect(await hasGoneOn(machine, session)).toBe(false)
  await archived(machine, session.turn("Now write the changelog"))
  expect(await hasGoneOn(machine, session)).toBe(true)
  claude.answers(await answerAbout(machine, session, "A changelog is kept"))
  await cli(machine, "summarize", session.session, "--yes")
  const sent = claude.last("stdin")
  expect(sent).toContain("> user: Now write the changelog\n")
  expect(sent).not.toContain("Add retries to the client")
  expect(sent).toContain("> request: Retries for the client\n")
  const titles = async () =>
    (await json<Shown>(machine, "show", session.session)).summary.observations.map(({ title }) => title)
  expect(await titles()).toEqual(["Retries are exponential", "A changelog is kept"])
  await cli(machine, "summarize", session.session, "--anew", "--yes")
  expect(claude.last("stdin")).toContain("> user: Add retries to the client\n")
  expect(await titles()).toEqual(["A changelog is kept"])
  expect(await cli(machine, "rebuild")).toMatchObject({ code: 0 })
  expect(await titles()).toEqual(["A changelog is kept"])
})

test.concurrent("an answer that is no use is asked for once more, then nothing is kept", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  const session = machine.session().turn("Add retries to the client")
  await archived(machine, session)
  claude.answers("Sure! Here is your summary.")
  expect(await cli(machine, "summarize", "--yes")).toMatchObject({ code: 1, stderr: "" })
  expect(claude.calls).toBe(2)
  claude.answers("Not logged in · Please run /login", { failed: true })
  const failed = await cli(machine, "summarize", "--yes")
  expect(failed).toMatchObject({ code: 1, stderr: "" })
  expect(failed.stdout).toContain(
    "claude failed: Not logged in · Please run /login\nhint: nothing was kept of it",
  )
  expect(existsSync(copyOf(machine, session))).toBe(false)
  machine.env["PATH"] = "stand-in/bin:."
  expect(await cli(machine, "summarize", "--yes")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("ctxbridge: no claude on PATH\n"),
  })
})

test.concurrent("killed between two sessions, the first is kept; the same command goes on with the second", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  const sessions = [machine.session(), machine.session({ start: Date.parse("2026-03-02T08:00:00Z") })]
  for (const one of sessions) await archived(machine, one.turn("Add retries to the client"))
  const [older, newer] = sessions as [Transcript, Transcript]
  claude.answers(await answerAbout(machine, newer))
  claude.waits(1)
  const { child, ended } = start(["summarize", "--yes"], { env: machine.env, cwd: machine.cwd })
  await until(
    () => existsSync(copyOf(machine, newer)) || existsSync(copyOf(machine, older)),
    20_000,
    "the first",
  )
  await until(() => claude.calls === 2, 20_000, "the second call")
  child.kill("SIGINT")
  await ended
  // What it had started ends as well.
  await until(() => machine.processes().length === 0, 20_000, "the client to end")
  claude.goesOn()
  const { sessions: left } = await json<{ sessions: unknown[] }>(machine, "summarize", "--dry-run")
  expect(left).toHaveLength(1)
  expect(await cli(machine, "summarize", "--yes")).toMatchObject({ code: 0 })
  expect([older, newer].map((one) => existsSync(copyOf(machine, one)))).toEqual([true, true])
})

test.concurrent("secrets in an answer never reach the disk", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  const session = machine.session().turn("Add retries to the client")
  await archived(machine, session)
  const key = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`
  claude.answers(await answerAbout(machine, session, `The token is ${key}`))
  await cli(machine, "summarize", "--yes")
  expect(contentOf(copyOf(machine, session)).toString()).toContain("The token is ")
  expect(contentOf(copyOf(machine, session)).toString()).not.toContain(key)
  const verified = await json<{ ok: boolean; totals: { summary: number } }>(machine, "verify")
  expect(verified).toMatchObject({ ok: true, totals: { summary: 1 } })
})

test.concurrent("sessions that end are summarised only with the user's leave, and so many a day", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  claude.answers(JSON.stringify({ summary: { request: "Retries" } }))
  const config = join(machine.root, "config.toml")
  machine.env["CTXBRIDGE_CONFIG"] = config
  const end = async (): Promise<void> => {
    const session = machine.session().turn("Add retries to the client")
    await machine.hook("session-end", session.flush(), { reason: "exit" })
    await machine.idle()
  }
  writeFileSync(join(machine.cwd, ".ctxbridge.toml"), '[summaries]\nauto = "session-end"\n')
  await end()
  expect(claude.calls).toBe(0)
  writeFileSync(config, '[summaries]\nauto = "session-end"\ndaily = 1\n')
  await end()
  await end()
  expect(claude.calls).toBe(1)
  const state = JSON.parse(readFileSync(join(machine.dataHome, "summaries.json"), "utf8"))
  expect(state).toMatchObject({ asked: 1, waiting: [expect.any(String)] })
  expect(readdirSync(join(machine.dataHome, "vault", "summaries"))).toHaveLength(1)
})

test.concurrent("a job that has to end ends the client, too; the session waits for the next one", async () => {
  using machine = new Machine()
  const claude = new ClaudeStandIn(machine)
  claude.waits(0)
  machine.env["CTXBRIDGE_SUMMARIES"] = "session-end"
  const session = machine.session().turn("Add retries to the client")
  await machine.hook("session-end", session.flush(), { reason: "exit" })
  await until(() => claude.calls === 1, 20_000, "the client to be asked")
  // The job stands on the views that are replaced.
  expect(await cli(machine, "rebuild")).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  const state = JSON.parse(readFileSync(join(machine.dataHome, "summaries.json"), "utf8"))
  expect(state).toMatchObject({ asked: 1, waiting: [session.session] })
  expect(filesWith(machine.root, "claude was ended")).toEqual([])
})

test("without a model, a session's summary says what came out", async () => {
  using machine = new Machine()
  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  const done = machine
    .session()
    .turn(
      "Add retries to the client",
      [
        bash("npm test 2>&1 | tail -5", "Tests:       1 failed, 2 passed, 3 total"),
        bash("npx tsc --noEmit", "Exit code 2\nFound 3 errors in 2 files.", true),
        bash("git commit -am retries && gh pr create --fill", "https://example.com/o/kiln/pull/12"),
        bash("B=~/.kiln && ls $B", "a b"),
      ],
      "Done! The client retries three times.",
    )
  await archived(machine, done)
  const waiting = machine
    .session()
    .turn("continue")
    .turn("Mend the lamp", [], "It is mended. Shall I light it?")
  await archived(machine, waiting)
  const shown = await cli(machine, "show", done.session)
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  expect(shown.stdout.replace(/\s+/g, " ")).toContain(
    "outcome: tests: 2 passed, 1 failed (npm test); type check failed: 3 errors (npx tsc --noEmit); committed; PR #12 opened said last: The client retries three times. (ctx:",
  )
  expect(await json(machine, "show", done.session)).toMatchObject({
    summary: {
      outcome: { command: "npx tsc --noEmit", failed: true, exitCode: 2 },
      results: [
        "tests: 2 passed, 1 failed (npm test)",
        "type check failed: 3 errors (npx tsc --noEmit)",
        "committed",
        "PR #12 opened",
      ],
      said: { text: "The client retries three times.", isQuestion: false },
      filesChanged: 0,
    },
  })
  const { stdout } = await cli(machine, "show", waiting.session)
  expect(stdout).toContain("asked: Mend the lamp")
  expect(stdout).toContain("waits for an answer: Shall I light it?")
  const listed = await cli(machine, "sessions", "--all-projects")
  expect(listed).toMatchObject({ code: 0, stderr: "" })
  expect(listed.stdout).toContain("Add retries to the client")
})
