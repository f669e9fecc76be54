/** In the home folder, where the project's settings are the user's, status and doctor told of one file twice. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { symlinkSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test.each(["home", "link"])("once, with HOME=%s", async (name) => {
  using machine = new Machine()
  symlinkSync(machine.home, join(machine.root, "link"))
  const env = { ...machine.env, HOME: join(machine.root, name) }
  const cli = (...args: string[]) => run(args, { env, cwd: machine.home })
  expect((await cli("install", "--no-import")).code).toBe(0)
  const { hooks } = JSON.parse((await cli("status", "--json")).stdout)
  expect(hooks).toMatchObject([{ scope: "user", missing: [], stale: [] }])
  const { findings } = JSON.parse((await cli("doctor", "--json")).stdout)
  const told = findings.filter(({ check }: { check: string }) => check === "settings" || check === "hooks")
  expect(told.map(({ text }: { text: string }) => text)).toEqual(["sound JSON: user", "user settings: all 6"])
})
