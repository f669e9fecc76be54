/** Of several `install` or `uninstall` at once, some failed, and an empty `.claude.json` could be left behind. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

const AT_ONCE = 6
const ROUNDS = 3
const BEFORE = '{ "model": "opus" }\n'

test("several installs register everything once, and several uninstalls leave nothing", async () => {
  using machine = new Machine()
  const settings = join(machine.home, ".claude", "settings.json")
  const state = join(machine.home, ".claude.json")
  mkdirSync(join(machine.home, ".claude"))
  writeFileSync(settings, BEFORE)
  const together = (commands: readonly string[]) =>
    Promise.all(commands.map((name) => run([name], { env: machine.env, cwd: machine.cwd })))
  const all = (name: string): string[] => Array(AT_ONCE).fill(name)
  for (let round = 0; round < ROUNDS; round++) {
    for (const ran of await together(all("install"))) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(settings, "utf8").split(" hook session-start").length - 1).toBe(1)
    expect(Object.keys(JSON.parse(readFileSync(state, "utf8")).mcpServers)).toEqual(["ctxbridge"])
    const mixed = await together(["uninstall", "install", "uninstall", "install"])
    for (const ran of mixed) expect(ran).toMatchObject({ code: 0, stderr: "" })
    for (const ran of await together(all("uninstall"))) expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(readFileSync(settings, "utf8")).toBe(BEFORE)
    expect(existsSync(state)).toBe(false)
  }
  await together(["install"])
  const purged = await Promise.all(
    [1, 2, 3].map(() => run(["uninstall", "--purge", "--yes"], { env: machine.env, cwd: machine.cwd })),
  )
  for (const ran of purged) expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(settings, "utf8")).toBe(BEFORE)
  for (const path of [state, machine.dataHome]) expect(existsSync(path)).toBe(false)
})
