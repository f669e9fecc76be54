/** Every event as every client version sends it, fed to the compiled binary: the answer is one Claude Code accepts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { writeReminders } from "../../src/views/reminders.ts"
import { binaryUnderTest, endJobs } from "./world.ts"

const GOLDEN = resolve(import.meta.dir, "../golden/hooks")

interface Fixture {
  readonly stdin: Readonly<Record<string, unknown>>
  readonly env: Readonly<Record<string, string>>
}

/** Claude Code's own limit is 10,000; PreCompact's text stays in the new context, hence its smaller one. */
const LARGEST_CONTEXT = 9_500
const LARGEST_INSTRUCTIONS = 2_000

let home = ""
beforeAll(() => {
  if (!existsSync(binaryUnderTest())) throw new Error(`${binaryUnderTest()} is missing: npm run build`)
  home = mkdtempSync(join(tmpdir(), "ctxbridge-golden-"))
})
afterAll(() => {
  endJobs(home)
  rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
})

for (const version of readdirSync(GOLDEN).sort()) {
  describe(`hook input of Claude Code ${version}`, () => {
    test.each(readdirSync(join(GOLDEN, version)).sort())("%s", async (file) => {
      const fixture = fixtureIn(version, file)
      const event = String(fixture.stdin["hook_event_name"])
      const stdin = inOurHome(fixture.stdin, version)

      const { stdout, stderr, code } = await runHook(event, stdin, fixture.env)

      expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
      expectValid(event, stdout)
    })
  })
}

const fixtureIn = (version: string, file: string): Fixture =>
  JSON.parse(readFileSync(join(GOLDEN, version, file), "utf8"))

/** The answer does not depend on the version: where one is to be given, all versions are given the same bytes. */
test("before a tool that failed here before, every version is answered alike", async () => {
  for (const version of readdirSync(GOLDEN).sort()) {
    const said = await afterFailure(version, "PreToolUse-Bash.json", ({ command }) => `run ${command}`)
    expect(said).toBe(
      '{"hookSpecificOutput":{"hookEventName":"PreToolUse","additionalContext":"It failed before."}}',
    )
    expectValid("PreToolUse", said)
  }
})

/** An edit fails for the text that it looks for, which a write of the whole file does not do. */
test("before a file is written as a whole, nothing is said of edits of it that failed", async () => {
  for (const version of readdirSync(GOLDEN).sort())
    expect(await afterFailure(version, "PreToolUse-Write.json", (input) => `edit ${input.file_path}`)).toBe(
      "",
    )
})

/** @param name of the action in the input of the tool that is to have failed before */
async function afterFailure(version: string, file: string, name: (input: Input) => string): Promise<string> {
  const { stdin, env } = fixtureIn(version, file)
  const reminder = { session: "another", time: 0, text: "It failed before." }
  const actions = new Map([[name(stdin["tool_input"] as Input), reminder]])
  // Not the other tests' archive: the job after their hooks, for which reminders are off, removes them.
  const archive = join(home, "reminded", version)
  writeReminders(archive, "/home/dev/project", actions)
  const on = { ...env, CTXBRIDGE_RECALL: "on", CTXBRIDGE_HOME: archive }
  const { stdout, stderr, code } = await runHook("PreToolUse", inOurHome(stdin, version), on)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  rmSync(archive, { recursive: true, force: true })
  return stdout
}

interface Input {
  readonly command?: string
  readonly file_path?: string
}

/** Moves the transcripts into the test's home, each with a short conversation in it. */
function inOurHome(stdin: Fixture["stdin"], version: string): Record<string, unknown> {
  const moved = { ...stdin }
  for (const field of ["transcript_path", "agent_transcript_path"]) {
    const path = moved[field]
    if (typeof path !== "string") continue
    const file = join(home, version, path.slice(path.indexOf("/.claude/")))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, transcript(version, String(stdin["session_id"]), field === "agent_transcript_path"))
    moved[field] = file
  }
  return moved
}

function transcript(version: string, sessionId: string, isSidechain: boolean): string {
  const common = {
    sessionId,
    version,
    isSidechain,
    cwd: "/home/dev/project",
    userType: "external",
    gitBranch: "",
  }
  const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
  const line = (n: number, type: string, content: unknown) => ({
    parentUuid: n === 1 ? null : id(n - 1),
    ...common,
    type,
    uuid: id(n),
    timestamp: `2026-01-01T00:00:0${n}.000Z`,
    message:
      type === "user"
        ? { role: "user", content }
        : { id: `msg_${n}`, type: "message", role: "assistant", model: "mock", content, usage: USAGE },
  })
  const lines = [
    line(1, "user", "Write the parser; never touch the lexer"),
    line(2, "assistant", [
      {
        type: "tool_use",
        id: "toolu_1",
        name: "Write",
        input: { file_path: "/home/dev/project/src/parser.ts", content: "export {}\n" },
      },
    ]),
    line(3, "user", [{ type: "tool_result", tool_use_id: "toolu_1", content: "File created" }]),
    line(4, "assistant", [{ type: "text", text: "The parser is written." }]),
  ]
  return lines.map((each) => `${JSON.stringify(each)}\n`).join("")
}

const USAGE = {
  input_tokens: 10,
  cache_read_input_tokens: 100,
  cache_creation_input_tokens: 0,
  output_tokens: 5,
}

async function runHook(event: string, stdin: Record<string, unknown>, env: Fixture["env"]) {
  const name = event.replace(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase()
  const child = Bun.spawn([binaryUnderTest(), "hook", name], {
    cwd: home,
    env: { CTXBRIDGE_HOME: join(home, "archive"), ...env, HOME: home, PATH: "/usr/bin:/bin" },
    stdin: Buffer.from(JSON.stringify(stdin)),
    stdout: "pipe",
    stderr: "pipe",
  })
  const [stdout, stderr, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { stdout, stderr, code }
}

function expectValid(event: string, stdout: string): void {
  switch (event) {
    case "SessionStart":
    case "PreToolUse":
    case "UserPromptSubmit": {
      if (stdout === "") return
      const reply = JSON.parse(stdout) as Record<string, unknown>
      const specific = (reply["hookSpecificOutput"] ?? {}) as Record<string, unknown>
      const context = specific["additionalContext"] ?? ""
      expect(context).toBeString()
      expect((context as string).length).toBeLessThanOrEqual(LARGEST_CONTEXT)
      // Claude Code rejects an answer that names another event.
      if (reply["hookSpecificOutput"] !== undefined) expect(specific["hookEventName"]).toBe(event)
      expect(["string", "undefined"]).toContain(typeof reply["systemMessage"])
      const known = ["hookSpecificOutput", "systemMessage", "suppressOutput"]
      expect(Object.keys(reply).filter((key) => !known.includes(key))).toEqual([])
      // Nor anything that would be a permission.
      const told = ["hookEventName", "additionalContext"]
      expect(Object.keys(specific).filter((key) => !told.includes(key))).toEqual([])
      return
    }
    case "PreCompact":
      expect(stdout.length).toBeLessThanOrEqual(LARGEST_INSTRUCTIONS)
      // Whatever is printed here becomes part of the prompt, JSON too.
      expect(stdout.trimStart()).not.toStartWith("{")
      return
    default:
      expect(stdout).toBe("")
  }
}
