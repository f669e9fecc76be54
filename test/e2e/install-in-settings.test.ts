/** Hooks and server in the settings of Qwen Code and Gemini CLI: added once, beside what is there, and removed without a trace. */
import { afterAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const machine = new Machine()
const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

afterAll(() => machine[Symbol.dispose]())

const QWEN = {
  agent: "qwen",
  variable: "QWEN_HOME",
  folder: ".qwen",
  events: [
    "PostToolUse",
    "PreCompact",
    "SessionEnd",
    "SessionStart",
    "Stop",
    "SubagentStop",
    "UserPromptSubmit",
  ],
  own: "Stop",
  tool: "PostToolUse",
  timeout: 5,
}
const GEMINI = {
  agent: "gemini",
  variable: "GEMINI_CLI_HOME",
  folder: ".gemini",
  events: ["AfterAgent", "AfterTool", "BeforeAgent", "SessionEnd", "SessionStart"],
  own: "AfterAgent",
  tool: "AfterTool",
  timeout: 5000,
}

describe.each([QWEN, GEMINI])(
  "$agent",
  ({ agent, variable, folder: name, events, own: event, tool, timeout }) => {
    const folder = join(machine.home, name)
    const settings = join(folder, "settings.json")
    const read = () => readFileSync(settings, "utf8")

    test("beside what the user has, once, and without a trace", async () => {
      mkdirSync(folder, { mode: 0o700 })
      const own = `{\n  "ui": { "theme": "Dark" },\n  "hooks": { "${event}": [{ "hooks": [{ "type": "command", "command": "bell" }] }] }\n}\n`
      writeFileSync(settings, own, { mode: 0o600 })
      expect(await cli("install", "--agent", agent, "--dry-run")).toMatchObject({ code: 0, stderr: "" })
      expect(read()).toBe(own)
      expect(await cli("install", "--agent", agent, "--no-model")).toMatchObject({ code: 0, stderr: "" })
      const done = JSON.parse(read())
      expect(Object.keys(done.hooks).sort()).toEqual(events)
      expect(done.hooks[event]).toHaveLength(2)
      expect(done.hooks[tool][0].hooks[0]).toMatchObject({
        command: expect.stringMatching(new RegExp(` hook post-tool-use ${agent}$`)),
        timeout,
      })
      expect(Object.keys(done.mcpServers)).toEqual(["ctxbridge"])
      expect(statSync(settings).mode & 0o777).toBe(0o600)
      const once = read()
      expect((await cli("install", "--agent", agent, "--no-model")).code).toBe(0)
      expect(read()).toBe(once)
      expect((await cli("uninstall", "--agent", agent)).code).toBe(0)
      expect(read()).toBe(own)
    })

    test("an uninstall of the hooks alone leaves the server, and the next one leaves nothing", async () => {
      for (const before of [undefined, "{}", '{"mcpServers":{}}\n']) {
        rmSync(settings, { force: true })
        if (before !== undefined) writeFileSync(settings, before)
        expect((await cli("install", "--agent", agent, "--no-model")).code).toBe(0)
        expect((await cli("uninstall", "--agent", agent, "--no-mcp")).code).toBe(0)
        expect(JSON.parse(read())).toEqual({
          mcpServers: { ctxbridge: expect.objectContaining({ args: ["mcp"] }) },
        })
        expect((await cli("uninstall", "--agent", agent)).code).toBe(0)
        expect(existsSync(settings) ? read() : undefined).toBe(before)
      }
    })

    test("a file that cannot be edited is named once, and the uninstall is not done", async () => {
      expect((await cli("install", "--agent", agent, "--no-model")).code).toBe(0)
      const sound = read()
      writeFileSync(settings, `${sound} // mine`)
      const { code, stdout, stderr } = await cli("uninstall", "--agent", agent)
      expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
      expect(stdout.split(settings)).toHaveLength(2)
      writeFileSync(settings, sound)
      expect((await cli("uninstall", "--agent", agent)).code).toBe(0)
    })

    test("where there was nothing, nothing is left; doctor says what is there", async () => {
      const env = { ...machine.env, [variable]: join(machine.home, "elsewhere") }
      const there = (...args: string[]) => run(args, { env, cwd: machine.cwd })
      expect((await there("install", "--agent", agent, "--no-model")).code).toBe(0)
      const { findings } = JSON.parse((await there("doctor", "--json")).stdout)
      const told = findings.filter(({ check }: { check: string }) => check === agent)
      expect(told.slice(0, 2).map(({ state }: { state: string }) => state)).toEqual(["ok", "ok"])
      // Also where the variable is no longer set.
      expect((await cli("uninstall", "--agent", agent)).code).toBe(0)
      expect(existsSync(join(machine.home, "elsewhere"))).toBe(false)
    })

    test("a hook answers with valid output or none, whatever it is told", async () => {
      for (const input of ["", "x", "[]", "{}", '{"session_id":1}', '{"session_id":"-x","prompt":"y"}'])
        for (const name of ["session-start", "user-prompt-submit", "post-tool-use", "pre-compact"])
          expect(
            await run(["hook", name, agent], { env: machine.env, cwd: machine.cwd, stdin: input }),
          ).toMatchObject({
            code: 0,
            stdout: "",
            stderr: "",
          })
    })
  },
)
