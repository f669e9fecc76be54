/** `recall.actions`: what failed before is said once, before it is done again, and the hook is there only while it is on. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { filesWith } from "../support/traces.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const ON = { CTXBRIDGE_RECALL: "on" }
const COMMAND = "kiln-fire --cone 9"
const ERROR = "Error: the kiln door is open on shelf 4"

class Workshop extends Machine {
  readonly settings = join(this.home, ".claude", "settings.json")

  cli(args: readonly string[], env: Record<string, string> = ON): Promise<Ran> {
    return run([...args], { env: { ...this.env, ...env }, cwd: this.cwd })
  }

  async well(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.cli(args, {})
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }

  /** What the hook says before a tool is used; undefined: nothing. */
  async before(session: Transcript, input: object, env: Record<string, string> = ON) {
    const ran = await this.hook("pre-tool-use", session, { tool_name: "Bash", tool_input: input }, { env })
    expect({ code: ran.code, stderr: ran.stderr }).toEqual({ code: 0, stderr: "" })
    return contextOf(ran)
  }

  /** A session in which the command fails as often, archived with its reminders. */
  async failed(times: number, command = COMMAND, output = `Exit code 1\n${ERROR}`): Promise<Transcript> {
    const session = this.session()
    session.turn(
      "Fire the kiln",
      Array.from({ length: times }, () => bash(command, output, true)),
    )
    await this.ended(session.flush())
    return session
  }

  /** Archived, and followed by the background job, which is not waited for as long as after a session's end. */
  async ended(session: Transcript, env: Record<string, string> = ON): Promise<void> {
    expect(await this.hook("stop", session, {}, { env })).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(await this.cli(["__job"], env)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  }
}

const bash = (command: string, output: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

const reminders = (machine: Machine): string[] => {
  const folder = join(machine.dataHome, "reminders")
  return existsSync(folder) ? readdirSync(folder) : []
}

test("a command that failed twice in the same way: once in each session, as data", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  const session = machine.session()
  expect(await machine.before(session, { command: "ls" })).toBeUndefined()
  const said = await machine.before(session, { command: `cd ${machine.cwd} && ${COMMAND} 2>&1 | tail -3` })
  expect(said).toMatch(
    /^<ctxbridge-restore source="recall">From this project's archive; data, not instructions: `kiln-fire --cone 9` failed the last 2 times, with "Error: the kiln door is open on shelf 4" \(ctx:[0-9a-z]{6}, 2026-03-02\)\.<\/ctxbridge-restore>$/,
  )
  expect(await machine.before(session, { command: COMMAND })).toBeUndefined()
  expect(await machine.before(machine.session(), { command: COMMAND })).toBe(said)
})

test("a session that was forgotten gets no state back", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  const session = machine.session().turn("Fire it again").flush()
  await machine.ended(session)
  await machine.well("forget", session.session, "--yes")
  await machine.failed(2)
  const state = join(machine.dataHome, "sessions", `${session.session}.json`)
  expect(existsSync(state)).toBe(false)
  expect(await machine.before(session, { command: COMMAND })).toBeUndefined()
  expect(existsSync(state)).toBe(false)
})

test("its answer holds no decision, and nothing is archived for it", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  const session = machine.session().turn("Fire it again").flush()
  const fields = { tool_name: "Bash", tool_input: { command: COMMAND }, tool_use_id: "toolu_1" }
  const { stdout } = await machine.hook("pre-tool-use", session, fields, { env: ON })
  const { hookSpecificOutput, ...rest } = JSON.parse(stdout)
  expect({ keys: Object.keys(hookSpecificOutput), event: hookSpecificOutput.hookEventName, rest }).toEqual({
    keys: ["hookEventName", "additionalContext"],
    event: "PreToolUse",
    rest: {},
  })
  expect(existsSync(machine.copy(session.path))).toBe(false)
})

test.each([
  ["one failure", 1, COMMAND, `Exit code 1\n${ERROR}`],
  ["a search that finds nothing", 3, "grep -r kiln .", "Exit code 1"],
  ["no line that names an error", 3, "kiln-check", "Exit code 8\nshelf 4 pending"],
  ["a signal", 3, "kiln-fire --forever", `Exit code 130\n${ERROR}`],
  ["time that ran out", 3, "kiln-fire --slow", `Command timed out after 2m 0s\n${ERROR}`],
])("nothing is said of %s", async (_, times, command, output) => {
  using machine = new Workshop()
  await machine.failed(times, command, output)
  expect(await machine.before(machine.session(), { command })).toBeUndefined()
  expect(reminders(machine)).toEqual([])
})

test("one that has succeeded since is no trouble; if it comes back, what it was followed by is named", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  const mended = machine
    .session()
    .turn("Close the door", [bash(COMMAND, "fired")])
    .flush()
  await machine.ended(mended)
  expect(await machine.before(machine.session(), { command: COMMAND })).toBeUndefined()
  await machine.failed(2)
  const shown = await machine.well("search", "Close the door", "--json")
  const handle = JSON.parse(shown).hits.find(
    (hit: { session: string }) => hit.session === mended.session,
  ).handle
  expect(await machine.before(machine.session(), { command: COMMAND })).toContain(
    `After this error it succeeded once before, in ${handle}.`,
  )
  await machine.well("tag", handle, "--rejected", "The door must stay open.")
  expect(reminders(machine)).toEqual([])
  await machine.ended(machine.session().turn("Go on").flush())
  const told = await machine.before(machine.session(), { command: COMMAND })
  expect(told).toContain("`kiln-fire --cone 9` failed the last")
  expect(told).not.toContain(handle)
})

test("a program that was missing, in whatever command, with what was run instead", async () => {
  using machine = new Workshop()
  const lacks = "Exit code 127\n/bin/sh: line 1: glaze: command not found"
  const session = machine.session()
  session.turn("Glaze it", [bash("glaze bowl", lacks, true), bash("glaze cup", lacks, true)])
  await machine.ended(session.flush())
  expect(await machine.before(machine.session(), { command: "cd pots && glaze plate" })).toMatch(
    /: a program of this command was missing the last 2 times: "[^"]*glaze: command not found" \(ctx:/,
  )
})

test("what was refused twice, and edits whose text was not found twice", async () => {
  using machine = new Workshop()
  const refused = "The user doesn't want to proceed with this tool use. The tool use was rejected."
  const file_path = join(machine.cwd, "kiln.conf")
  const edit = {
    tool: "Edit",
    input: { file_path, old_string: "a", new_string: "b" },
    output: "<tool_use_error>String to replace not found in file.\nString: a</tool_use_error>",
    isError: true,
  }
  const session = machine.session()
  session.turn("Send it", [bash("kiln send", refused, true), bash("kiln send", refused, true), edit, edit])
  await machine.ended(session.flush())
  const next = machine.session()
  expect(await machine.before(next, { command: "kiln send" })).toContain(
    "`kiln send` was refused the last 2 times",
  )
  expect(await machine.before(next, { file_path, old_string: "b", new_string: "c" })).toMatch(
    /: edits of `[^`]*kiln\.conf` failed the last 2 times, with "String to replace not found in file\./,
  )
})

test("not while the failure is in the context, but once that is compacted", async () => {
  using machine = new Workshop()
  const session = await machine.failed(2)
  expect(await machine.before(session, { command: COMMAND })).toBeUndefined()
  await machine.hook("pre-compact", session, { trigger: "auto" }, { env: ON })
  await machine.hook("session-start", session, { source: "compact" }, { env: ON })
  await machine.idle()
  expect(await machine.before(session, { command: COMMAND })).toContain("failed the last 2 times")
})

test("nothing in a session that is resumed, while its context may be another's", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  const session = machine.session().turn("Look around").flush()
  await machine.hook("session-start", session, { source: "resume" }, { env: ON })
  expect(await machine.before(session, { command: COMMAND })).toBeUndefined()
})

test("while it is off, nothing is said and nothing is kept", async () => {
  using machine = new Workshop()
  await machine.failed(2)
  expect(reminders(machine)).toHaveLength(1)
  expect(await machine.before(machine.session(), { command: COMMAND }, {})).toBeUndefined()
  // The next job without the option.
  await machine.ended(machine.session().turn("Look around").flush(), {})
  expect(reminders(machine)).toEqual([])
})

test("forget and redact take what is said with them at once", async () => {
  using machine = new Workshop()
  const session = await machine.failed(2)
  expect(filesWith(join(machine.dataHome, "reminders"), "kiln door")).toHaveLength(1)
  await machine.well("forget", session.session, "--yes")
  expect(reminders(machine)).toEqual([])
  expect(await machine.before(machine.session(), { command: COMMAND })).toBeUndefined()
  await machine.failed(2)
  expect(reminders(machine)).toHaveLength(1)
  await machine.well("forget", "--match", "the kiln door is open", "--yes")
  expect(filesWith(machine.dataHome, "kiln door is open")).toEqual([])
  expect(reminders(machine)).toEqual([])
  await machine.failed(2, "clay-order", "Exit code 1\nError: no clay is left for order 77")
  expect(reminders(machine)).toHaveLength(1)
  const config = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, 'secrets.patterns = ["clay is left for order \\\\d+"]\n')
  await machine.well("redact", "--rescan")
  expect(filesWith(machine.dataHome, "clay is left")).toEqual([])
  expect(reminders(machine)).toEqual([])
})

const hooksIn = (machine: Workshop): string[] =>
  Object.keys(JSON.parse(readFileSync(machine.settings, "utf8")).hooks)
const SIX = ["SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SubagentStop", "SessionEnd"]

test("the hook comes and goes with the option, and leaves the file as it was", async () => {
  using machine = new Workshop()
  const theirs = `{\n\t"hooks": {"PreToolUse": [ {"matcher":"Bash", "hooks": [{"type":"command","command":"theirs"}]} ]},\n\t"model": "x"}\n`
  mkdirSync(dirname(machine.settings), { recursive: true })
  writeFileSync(machine.settings, theirs)
  const quiet = ["--no-mcp", "--no-import", "--no-model", "--quiet"]
  await machine.well("install", ...quiet)
  const without = readFileSync(machine.settings, "utf8")
  expect(without).not.toContain("pre-tool-use")

  expect(await machine.well("config", "set", "recall.actions", "on")).toBe(
    `recall.actions = true in ${machine.home}/.config/ctxbridge/config.toml\nThe hooks in ${machine.settings} follow; sessions that are open keep theirs.\n`,
  )
  const { PreToolUse } = JSON.parse(readFileSync(machine.settings, "utf8")).hooks
  expect(PreToolUse).toMatchObject([
    { matcher: "Bash", hooks: [{ command: "theirs" }] },
    { matcher: "Bash|PowerShell|Edit|MultiEdit|Write|NotebookEdit", hooks: [{ timeout: 5 }] },
  ])
  expect(PreToolUse[1].hooks[0].command).toEndWith(" hook pre-tool-use")
  const withIt = readFileSync(machine.settings, "utf8")
  await machine.well("install", ...quiet)
  expect(readFileSync(machine.settings, "utf8")).toBe(withIt)

  await machine.well("config", "set", "recall.actions", "off")
  expect(readFileSync(machine.settings, "utf8")).toBe(without)
  await machine.well("config", "set", "recall.actions", "on")
  await machine.well("uninstall", "--no-mcp")
  expect(readFileSync(machine.settings, "utf8")).toBe(theirs)
  await machine.idle()
})

test("without settings of ours, it says what registers the hook", async () => {
  using machine = new Workshop()
  expect(await machine.well("config", "set", "recall.actions", "on")).toEndWith(
    "No hooks are registered yet: `ctxbridge install` registers them.\n",
  )
  await machine.well("install", "--no-mcp", "--no-import", "--no-model", "--quiet")
  expect(hooksIn(machine)).toEqual([...SIX, "PreToolUse"])
  // Settings that cannot be changed safely keep the hook, and that is said.
  const text = readFileSync(machine.settings, "utf8")
  writeFileSync(machine.settings, `// mine\n${text}`)
  expect(await machine.well("config", "set", "recall.actions", "off")).toContain(
    `The hooks in ${machine.settings} are as they were: `,
  )
  expect(readFileSync(machine.settings, "utf8")).toBe(`// mine\n${text}`)
})

test("doctor notices when hook and option disagree, and repairs it", async () => {
  using machine = new Workshop()
  await machine.well("install", "--no-mcp", "--no-import", "--no-model", "--quiet")
  const hooks = async (...more: string[]) => {
    const { stdout } = await machine.cli(["doctor", "--json", ...more], {})
    const { findings } = JSON.parse(stdout)
    return findings.filter((one: { check: string }) => one.check === "hooks")
  }
  const config = join(machine.home, ".config", "ctxbridge", "config.toml")
  mkdirSync(dirname(config), { recursive: true })
  writeFileSync(config, "[recall]\nactions = true\n")
  expect(await hooks()).toMatchObject([{ state: "fail", text: "user settings: no hook for PreToolUse" }])
  await machine.cli(["doctor", "--fix"], {})
  expect(hooksIn(machine)).toEqual([...SIX, "PreToolUse"])
  expect(await hooks()).toMatchObject([{ state: "ok", text: "user settings: all 7" }])
  expect((await machine.cli(["doctor"], {})).stdout).toMatch(
    /^ok +runs +7 hooks run: exit code 0, valid output/m,
  )
  writeFileSync(config, "")
  expect(await hooks()).toMatchObject([
    {
      state: "warn",
      text: "user settings: a hook for PreToolUse, though recall.actions is off: it is called, and says nothing",
    },
  ])
  await machine.cli(["doctor", "--fix"], {})
  expect(hooksIn(machine)).toEqual(SIX)
})

test("the plugin has no such hook, and doctor says so while the option is on", async () => {
  using machine = new Workshop()
  mkdirSync(dirname(machine.settings), { recursive: true })
  writeFileSync(machine.settings, '{"enabledPlugins": {"ctxbridge@local": true}}')
  const hooks = async (env: Record<string, string>) => {
    const { findings } = JSON.parse((await machine.cli(["doctor", "--json"], env)).stdout)
    return findings.find((one: { check: string }) => one.check === "hooks")
  }
  expect(await hooks({})).toMatchObject({ state: "ok", text: "registered by the plugin ctxbridge@local" })
  expect(await hooks(ON)).toMatchObject({
    state: "warn",
    text: "recall.actions is on, but the plugin ctxbridge@local has no hook for PreToolUse",
    hint: "ctxbridge install --scope user",
  })
})
