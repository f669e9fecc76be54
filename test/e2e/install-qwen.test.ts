/** Hooks and server in Qwen Code's settings: added once, beside what is there, and removed without a trace. */
import { afterAll, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const machine = new Machine()
const folder = join(machine.home, ".qwen")
const settings = join(folder, "settings.json")
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
const read = () => readFileSync(settings, "utf8")

afterAll(() => machine[Symbol.dispose]())

test("beside what the user has, once, and without a trace", async () => {
  mkdirSync(folder, { mode: 0o700 })
  const own =
    '{\n  "ui": { "theme": "Dark" },\n  "hooks": { "Stop": [{ "hooks": [{ "type": "command", "command": "bell" }] }] }\n}\n'
  writeFileSync(settings, own, { mode: 0o600 })
  expect(await cli("install", "--agent", "qwen", "--dry-run")).toMatchObject({ code: 0, stderr: "" })
  expect(read()).toBe(own)
  expect(await cli("install", "--agent", "qwen", "--no-model")).toMatchObject({ code: 0, stderr: "" })
  const done = JSON.parse(read())
  expect(Object.keys(done.hooks).sort()).toEqual([
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStop",
    "UserPromptSubmit",
  ])
  expect(done.hooks.Stop).toHaveLength(2)
  expect(done.hooks.PostToolUse[0].hooks[0]).toMatchObject({
    command: expect.stringMatching(/ hook post-tool-use qwen$/),
    timeout: 5,
  })
  expect(Object.keys(done.mcpServers)).toEqual(["ctxbridge"])
  expect(statSync(settings).mode & 0o777).toBe(0o600)
  const once = read()
  expect((await cli("install", "--agent", "qwen", "--no-model")).code).toBe(0)
  expect(read()).toBe(once)
  expect((await cli("uninstall", "--agent", "qwen")).code).toBe(0)
  expect(read()).toBe(own)
})

test("a file that cannot be edited is named once, and the uninstall is not done", async () => {
  expect((await cli("install", "--agent", "qwen", "--no-model")).code).toBe(0)
  const sound = read()
  writeFileSync(settings, `${sound} // mine`)
  const { code, stdout, stderr } = await cli("uninstall", "--agent", "qwen")
  expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
  expect(stdout.split(settings)).toHaveLength(2)
  writeFileSync(settings, sound)
  expect((await cli("uninstall", "--agent", "qwen")).code).toBe(0)
})

test("where there was nothing, nothing is left; doctor says what is there", async () => {
  const env = { ...machine.env, QWEN_HOME: join(machine.home, "elsewhere") }
  const there = (...args: string[]) => run(args, { env, cwd: machine.cwd })
  expect((await there("install", "--agent", "qwen", "--no-model")).code).toBe(0)
  const { findings } = JSON.parse((await there("doctor", "--json")).stdout)
  const told = findings.filter(({ check }: { check: string }) => check === "qwen")
  expect(told.slice(0, 2).map(({ state }: { state: string }) => state)).toEqual(["ok", "ok"])
  expect((await there("uninstall", "--agent", "qwen")).code).toBe(0)
  expect(existsSync(join(machine.home, "elsewhere"))).toBe(false)
})

test("a hook answers with valid output or none, whatever it is told", async () => {
  for (const input of ["", "x", "[]", "{}", '{"session_id":1}', '{"session_id":"-x","prompt":"y"}'])
    for (const event of ["session-start", "user-prompt-submit", "post-tool-use", "pre-compact"])
      expect(
        await run(["hook", event, "qwen"], { env: machine.env, cwd: machine.cwd, stdin: input }),
      ).toMatchObject({
        code: 0,
        stdout: "",
        stderr: "",
      })
})
