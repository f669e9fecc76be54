/** `prune plugin` on a user's settings, and the question that the plugin asks. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { FakeTranscript } from "../../src/claude/fake/transcript.ts"
import { run } from "../support/binary.ts"

const SESSION = "5f0c8f8e-3d0e-4b1e-9f43-6f6f0a0b0c0d"
const SETTINGS = `{
  "env": { "EDITOR": "vi", "CLAUDE_CODE_PLUGIN_DIRS": "/my/own" },
  "model": "opus"
}
`

let root: string
let env: Record<string, string>
let settings: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ctxbridge-plugin-"))
  env = { HOME: root, CTXBRIDGE_HOME: join(root, "archive"), TMPDIR: root, PATH: "/usr/bin:/bin" }
  settings = join(root, ".claude", "settings.json")
  mkdirSync(dirname(settings))
  writeFileSync(settings, SETTINGS)
})
afterEach(() => rmSync(root, { recursive: true, force: true }))

const ask = (question: object) => run(["__compact"], { env, cwd: root, stdin: JSON.stringify(question) })

test("it is named beside the user's own plugins, and everything is as before afterwards", async () => {
  const { code, stderr, stdout } = await run(["prune", "plugin"], { env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const folder = join(root, "archive", "plugin")
  expect(stdout).toContain(folder)
  expect(readFileSync(settings, "utf8")).toBe(SETTINGS.replace("/my/own", `/my/own:${folder}`))
  for (const file of [
    ".claude-plugin/plugin.json",
    "hooks/hooks.json",
    "hooks/compact.mjs",
    "skills/recall/SKILL.md",
  ])
    expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
  // No settings have the hooks, so the plugin does.
  expect(readFileSync(join(folder, "hooks", "hooks.json"), "utf8")).toContain("hook session-start")
  expect((await run(["prune", "plugin"], { env })).stdout).toStartWith("Updated")
  expect((await run(["prune", "plugin", "--revert"], { env })).code).toBe(0)
  expect(readFileSync(settings, "utf8")).toBe(SETTINGS)
  expect(existsSync(folder)).toBe(false)
})

test("an uninstall takes it away, and with --purge nothing is left", async () => {
  for (const args of [["install"], ["prune", "plugin"], ["uninstall", "--purge", "--yes"]])
    expect({ args, code: (await run(args, { env })).code }).toEqual({ args, code: 0 })
  expect(readFileSync(settings, "utf8")).toBe(SETTINGS)
  expect(existsSync(join(root, "archive"))).toBe(false)
})

test("a dry run writes nothing, and settings that cannot be read stay as they are", async () => {
  expect((await run(["prune", "plugin", "--dry-run"], { env })).stdout).toStartWith("Would write")
  expect(existsSync(join(root, "archive", "plugin"))).toBe(false)
  writeFileSync(settings, "{ broken")
  const { code, stdout, stderr } = await run(["prune", "plugin"], { env })
  expect([code, stdout]).toEqual([1, ""])
  expect(stderr).toContain(settings)
  expect(readFileSync(settings, "utf8")).toBe("{ broken")
  expect(existsSync(join(root, "archive", "plugin"))).toBe(false)
})

test("its question is answered with what a compaction would lose, secrets filled; a bad one with nothing", async () => {
  const transcriptPath = join(root, ".claude", "projects", "-p", `${SESSION}.jsonl`)
  mkdirSync(dirname(transcriptPath), { recursive: true })
  const transcript = new FakeTranscript({ session: SESSION, cwd: root, version: "2.1.330" })
  transcript.turn("Write the kiln, never touch the lexer", [
    { tool: "Bash", input: { command: "make kiln" }, output: "FAIL in line 3", isError: true },
  ])
  transcript.turn("Now the door")
  writeFileSync(transcriptPath, transcript.take())
  const secret = `ghp_${"aB3dE5gH7jK9".repeat(3)}`
  const messages = [
    { role: "user", text: "Write the kiln, never touch the lexer", isResult: false, calls: [] },
    { role: "user", text: "Now the door", isResult: false, calls: [] },
    { role: "assistant", text: "I look.", isResult: false, calls: [] },
    {
      role: "assistant",
      text: "",
      calls: [{ tool: "Bash", input: { command: "env" }, output: `TOKEN=${secret}` }],
    },
    { role: "user", text: "", isResult: true, calls: [] },
  ]
  const { code, stdout, stderr } = await ask({ session: SESSION, transcriptPath, trigger: "auto", messages })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { context, prompt } = JSON.parse(stdout) as { context: string; prompt: number }
  expect(prompt).toBe(1)
  expect(context.length).toBeLessThanOrEqual(10_400)
  expect(context).toContain("never touch the lexer")
  expect(context).toContain('- Bash "env"')
  expect(context).not.toContain(secret)

  const manual = await ask({ session: SESSION, transcriptPath, trigger: "manual", messages })
  expect(JSON.parse(manual.stdout)).not.toHaveProperty("prompt")

  for (const bad of [
    {},
    { session: "../x", transcriptPath },
    { session: "unknown", transcriptPath: "/no/such.jsonl" },
  ])
    expect(await ask(bad)).toMatchObject({ code: 1, stdout: "", stderr: "" })
  expect(await run(["__compact"], { env, cwd: root, stdin: "not JSON" })).toMatchObject({
    code: 1,
    stdout: "",
  })
})
