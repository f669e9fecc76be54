/** What stands in the archive, or in a repository's settings, does not steer the terminal of who looks at it. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(60_000)

const HOSTILE = "Before\u001b]0;owned\u0007\u009b2J\u202eafter"

async function archived(machine: Machine): Promise<string> {
  const session = machine.session().turn(HOSTILE, [], HOSTILE).flush()
  await machine.hook("stop", session)
  return session.session
}

const inTerminal = async (machine: Machine, ...args: string[]): Promise<string> =>
  (await runAtTerminal(machine, args)).text

test.each(["--md", "--jsonl"])(
  "export %s: to a person without what steers, to a file whole",
  async (format) => {
    using machine = new Machine()
    const session = await archived(machine)
    const shown = await inTerminal(machine, "export", session, format)
    expect(shown).toContain("after")
    expect(shown).not.toMatch(/[\x1b\x07\u009b\u202e]/)
    const { stdout } = await run(["export", session, format], { env: machine.env, cwd: machine.cwd })
    expect(stdout).toContain("\u009b2J\u202eafter")
  },
)

test("install --scope project --dry-run: the settings that a repository brings", async () => {
  using machine = new Machine()
  mkdirSync(join(machine.cwd, ".claude"))
  writeFileSync(
    join(machine.cwd, ".claude", "settings.json"),
    `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "\u009b2J\u202e"}]}]}}\n`,
  )
  const args = ["install", "--scope", "project", "--dry-run"]
  const { code, stdout } = await run(args, { env: machine.env, cwd: machine.cwd })
  expect(code).toBe(0)
  expect(stdout).toContain("command")
  expect(stdout).not.toMatch(/[\u009b\u202e]/)
})

test("documents for programs: escaped, and the same", async () => {
  using machine = new Machine()
  const session = await archived(machine)
  const cli = (...args: string[]) => run([...args, "--json"], { env: machine.env, cwd: machine.cwd })
  for (const args of [["show", session], ["sessions"], ["search", "Before"], ["show", HOSTILE]]) {
    const { stdout } = await cli(...args)
    expect(stdout).toContain("\\u009b")
    expect(stdout).not.toMatch(/[\x1b\x07\u009b\u202e]/)
  }
  const { turns } = JSON.parse((await cli("show", session)).stdout)
  expect(turns[0].prompt).toBe(HOSTILE)
})
