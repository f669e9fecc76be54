/** No command steers the terminal of who looks at it, whatever stands in the archive, in a repository or in file names. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

/** A window's title, a C1 control sequence, the mark that reverses a line, a colour. */
const EVIL = "\u001b]0;owned\u0007\u009b2J\u202e\u001b[31m"
const STEERING = /[\0-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/
const evil = (text: string): string => `${text}${EVIL}\r`

let machine: Machine
let cwd: string
let session: Transcript
let odd: Transcript
let handle: string

const cli = (...args: readonly string[]) => run(args, { env: machine.env, cwd })

beforeAll(async () => {
  machine = new Machine()
  cwd = join(machine.root, `pro${EVIL}ject`)
  mkdirSync(join(cwd, ".claude"), { recursive: true })
  session = machine.session({ cwd, version: evil("2.1.112") })
  session.line({ type: "ai-title", aiTitle: evil("Title"), sessionId: session.session })
  const failing = evil("Exit code 1\nError: broken retry of parseCursor")
  session.turn(
    evil("Never touch parseCursor in src/x.ts"),
    [
      { tool: "Bash", input: { command: evil("npm test retry") }, output: failing, isError: true },
      {
        tool: "Edit",
        input: { file_path: `/src/${EVIL}/x.ts`, old_string: "a", new_string: "b" },
        output: "ok",
      },
      { tool: evil("Tool"), input: { [evil("key")]: evil("value") }, output: evil("out"), isError: true },
      {
        tool: "TodoWrite",
        input: { todos: [{ content: evil("todo"), status: evil("pending") }] },
        output: "ok",
      },
      { tool: "Bash", input: { command: evil("npm test retry") }, output: evil("fine") },
    ],
    evil("I decided on fetch because parseCursor is slow. "),
  )
  const message = {
    id: evil("m"),
    role: "assistant",
    model: evil("claude"),
    content: [{ type: "text", text: evil("more") }],
    usage: { input_tokens: 5, output_tokens: 6 },
  }
  session.line({ type: "assistant", message, gitBranch: evil("branch") })
  session
    .boundary(evil("auto"))
    .summary(evil("Summary"))
    .turn(evil("And again parseCursor"), [], evil("done"))
  odd = machine.session({ id: `odd${EVIL}name`, cwd }).turn(evil("odd prompt"))
  for (const one of [session.flush(), odd.flush()]) {
    await machine.hook("user-prompt-submit", one, { prompt: evil("next") })
    await machine.hook("pre-compact", one, { trigger: evil("auto") })
    await machine.hook("session-start", one, { source: "compact" })
    await machine.hook("stop", one)
  }
  fromTheRepository()
  const entry = { time: new Date().toISOString(), event: evil("e"), code: evil("c"), message: evil("m") }
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  appendFileSync(join(machine.dataHome, "state", "ctxbridge.log"), `${JSON.stringify(entry)}\n`)
  const { turns } = JSON.parse((await cli("show", session.session, "--json")).stdout)
  handle = turns[0].handle
})

afterAll(() => machine[Symbol.dispose]())

function fromTheRepository(): void {
  writeFileSync(join(cwd, ".ctxbridge.toml"), '"odd\u009bkey" = 1\n[restore]\nbudget = "x\u009b2J\u202e"\n')
  const hook = { type: "command", command: `/x${EVIL}/ctxbridge hook stop`, timeout: 99_999 }
  const settings = {
    hooks: { [evil("Stop")]: [{ matcher: evil("m"), hooks: [hook] }], Stop: [{ hooks: [hook] }] },
    env: { [evil("BUN_")]: evil("v"), BUN_OPTIONS: evil("x") },
    cleanupPeriodDays: evil("9"),
    statusLine: { type: "command", command: evil("x") },
    enabledPlugins: { [`ctxbridge${EVIL}@x`]: true },
  }
  writeFileSync(join(cwd, ".claude", "settings.json"), JSON.stringify(settings))
  const server = { command: evil("/x"), args: [evil("mcp")] }
  writeFileSync(join(cwd, ".mcp.json"), JSON.stringify({ mcpServers: { ctxbridge: server } }))
}

test.each([
  () => ["status"],
  () => ["status", "--verbose"],
  () => ["sessions"],
  () => ["sessions", "--all-projects", "--agents"],
  () => ["show", session.session],
  () => ["show", odd.session],
  () => ["show", handle],
  () => ["show", handle, "--full"],
  () => ["search", "parseCursor"],
  () => ["search", "parseCursor", "--all-projects"],
  () => ["search", "parseCursor", "--cold"],
  () => ["search", "--error"],
  () => ["show", handle, "--around", "2"],
  () => ["files", "parseCursor"],
  () => ["blame", "x.ts"],
  () => ["fix", "broken retry"],
  () => ["how", "npm test"],
  () => ["receipts"],
  () => ["resurrect", session.session, "--dry-run"],
  () => ["resurrect", odd.session, "--dry-run"],
  () => ["verify"],
  () => ["doctor"],
  () => ["doctor", "--fix", "--dry-run"],
  () => ["config", "list"],
  () => ["model", "status"],
  () => ["preview"],
  () => ["preview", "--source", "startup"],
  () => ["preview", "--source", "clear"],
  () => ["preview", "--session", odd.session],
  () => ["import"],
  () => ["redact", "--dry-run"],
  () => ["forget", "--older-than", "1d", "--dry-run"],
  () => ["forget", odd.session, "--dry-run"],
  () => ["forget", ".", "--dry-run"],
  () => ["forget", "--match", "parseCursor", "--dry-run"],
  () => ["install", "--dry-run", "--no-mcp", "--scope", "project"],
  () => ["install", "--dry-run"],
  () => ["uninstall", "--dry-run", "--scope", "project"],
  () => ["uninstall", "--purge", "--dry-run"],
  () => ["export", session.session, "--output", join(machine.root, `file${EVIL}`)],
  () => ["export", "--html", session.session],
  () => ["open", odd.session, "--output", join(machine.root, `page${EVIL}`)],
  () => ["open"],
  () => ["bench", "survive"],
  () => ["rebuild"],
  // At last, as they change what there is.
  () => ["forget", odd.session, "--yes"],
  () => ["forget", "--list"],
  () => ["forget", "--undo", odd.session],
])("%#: what there is", async (args) => {
  const { code, stdout, stderr } = await cli(...args())
  expect({ args: args(), code: args()[0] === "doctor" ? 0 : code }).toMatchObject({ code: 0 })
  expect(stdout).not.toBe("")
  expect(`${stdout}${stderr}`).not.toMatch(STEERING)
})

test.each<{ args: string[] }>([
  { args: [evil("nonsense")] },
  { args: ["help", evil("x")] },
  { args: ["search", evil("--x")] },
  { args: ["search", "x", "--since", evil("x")] },
  { args: ["search", "x", "--project", evil("x")] },
  { args: ["show", evil("zzzz")] },
  { args: ["blame", evil("/no/such")] },
  { args: ["config", "get", evil("x")] },
  { args: ["import", evil("x")] },
  { args: ["verify", evil("x")] },
  { args: ["completions", evil("x")] },
  { args: ["bench", evil("x")] },
])("%#: what there is not", async ({ args }) => {
  const { code, stdout, stderr } = await cli(...args)
  expect({ args, isRefused: code === 64 || code === 3, stdout }).toEqual({
    args,
    isRefused: true,
    stdout: "",
  })
  expect(stderr).toStartWith("ctxbridge: ")
  expect(stderr).not.toMatch(STEERING)
  expect(stderr).not.toContain("defect of ctxbridge")
})
