/** `install`, `uninstall` and `doctor` with Copilot CLI: its hooks are a file of ours, its list of servers is not. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const SERVERS = '{\n  "mcpServers": {"db": {"type": "local", "command": "db", "args": [], "tools": ["*"]}}\n}'
const HOOKS = "hooks/ctxbridge.json"
const LIST = "mcp-config.json"

function withCopilot() {
  const machine = new Machine()
  const folder = join(machine.home, ".copilot")
  mkdirSync(folder)
  const read = (name: string) => readFileSync(join(folder, name), "utf8")
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const install = () => cli("install", "--agent", "copilot", "--no-model")
  const states = async () => {
    const { findings } = JSON.parse((await cli("doctor", "--json")).stdout)
    return (findings as { check: string; state: string; text: string }[])
      .filter(({ check }) => check === "copilot")
      .map(({ state, text }) => `${state}: ${text}`)
  }
  return { machine, folder, read, cli, install, states }
}

test("it is registered, and all is as it was after an uninstall", async () => {
  const { machine, folder, read, cli, install, states } = withCopilot()
  using _ = machine
  writeFileSync(join(folder, LIST), SERVERS)
  expect((await states())[0]).toBe("skipped: Copilot CLI: no hooks of ours are registered")
  const done = await install()
  expect(done).toMatchObject({ code: 0, stderr: "" })
  expect(done.stdout).toContain(`Copilot CLI: registered in ${folder}/${HOOKS}, ${folder}/${LIST}\n`)
  const { version, hooks } = JSON.parse(read(HOOKS))
  expect(version).toBe(1)
  // One before a tool that fails would deny the tool.
  expect(Object.keys(hooks).sort()).toEqual([
    "agentStop",
    "postToolUse",
    "preCompact",
    "sessionEnd",
    "sessionStart",
    "userPromptSubmitted",
  ])
  expect(hooks.postToolUse).toEqual([
    {
      hooks: [
        { type: "command", command: expect.stringMatching(/ hook post-tool-use copilot$/), timeout: 5 },
      ],
    },
  ])
  const { mcpServers } = JSON.parse(read(LIST))
  expect(Object.keys(mcpServers)).toEqual(["db", "ctxbridge"])
  expect(mcpServers.ctxbridge).toMatchObject({ args: ["mcp"] })
  expect(statSync(join(folder, HOOKS)).mode & 0o777).toBe(0o600)
  expect((await states()).slice(0, 2)).toEqual([
    `ok: Copilot CLI: hooks are registered in ${folder}/${HOOKS}`,
    `ok: Copilot CLI: the server is registered in ${folder}/${LIST}`,
  ])

  const [was, list] = [read(HOOKS), read(LIST)]
  expect((await install()).stdout).toContain("Copilot CLI: already registered\n")
  expect([read(HOOKS), read(LIST)]).toEqual([was, list])

  const undone = await cli("uninstall", "--json")
  expect(undone).toMatchObject({ code: 0, stderr: "" })
  expect(readdirSync(folder)).toEqual([LIST])
  expect(read(LIST)).toBe(SERVERS)
})

test("where somebody has written since, only ours goes", async () => {
  const { machine, folder, read, cli, install } = withCopilot()
  using _ = machine
  await install()
  const hooks = JSON.parse(read(HOOKS))
  const theirs = { type: "command", bash: "say done", timeoutSec: 5 }
  hooks.hooks.agentStop.push(theirs)
  writeFileSync(join(folder, HOOKS), JSON.stringify(hooks))
  const list = JSON.parse(read(LIST))
  writeFileSync(join(folder, LIST), JSON.stringify({ ...list, other: true }))
  expect(await cli("uninstall", "--agent", "copilot")).toMatchObject({ code: 0 })
  expect(JSON.parse(read(HOOKS))).toEqual({ version: 1, hooks: { agentStop: [theirs] } })
  expect(JSON.parse(read(LIST))).toEqual({ other: true })
})

test("somebody else's server with our name is left alone, and so is a broken file", async () => {
  const { machine, folder, read, install, states } = withCopilot()
  using _ = machine
  const taken = '{"mcpServers": {"ctxbridge": {"command": "other"}}}'
  for (const text of [taken, "{ broken"]) {
    writeFileSync(join(folder, LIST), text)
    expect((await install()).code).not.toBe(0)
    expect(read(LIST)).toBe(text)
    expect(existsSync(join(folder, HOOKS))).toBe(false)
  }
  expect((await states())[1]).toStartWith("fail: Copilot CLI: ")
})

test("hooks that are not as they should be are mended", async () => {
  const { machine, folder, read, cli, install, states } = withCopilot()
  using _ = machine
  await install()
  const sound = read(HOOKS)
  const hooks = JSON.parse(sound)
  delete hooks.hooks.postToolUse
  writeFileSync(join(folder, HOOKS), JSON.stringify(hooks, null, 2))
  expect((await states())[0]).toBe(
    `fail: Copilot CLI: hooks in ${folder}/${HOOKS} are not as they should be: postToolUse`,
  )
  await cli("doctor", "--fix")
  expect(JSON.parse(read(HOOKS))).toEqual(JSON.parse(sound))
})

test("a list that cannot be edited keeps the hooks from nothing, and the uninstall from being done", async () => {
  const { machine, folder, read, cli, install } = withCopilot()
  using _ = machine
  writeFileSync(join(folder, LIST), SERVERS)
  expect((await install()).code).toBe(0)
  const listed = read(LIST)
  writeFileSync(join(folder, LIST), `${listed} // mine`)
  const undone = await cli("uninstall", "--agent", "copilot")
  expect(undone).toMatchObject({ code: 1, stderr: "" })
  expect(undone.stdout).toContain(`Copilot CLI: not removed: ${folder}/${LIST}: line`)
  expect(existsSync(join(folder, HOOKS))).toBe(false)
  writeFileSync(join(folder, LIST), listed)
  expect(await cli("uninstall", "--agent", "copilot")).toMatchObject({ code: 0, stderr: "" })
  expect(read(LIST)).toBe(SERVERS)
})
