/**
 * After `install --scope project` the way back was said to be `ctxbridge uninstall`, which looked into the user's settings
 * alone, found nothing and left the hooks where they were, without a word.
 */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("install says how it is undone, and uninstall what it leaves", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const settings = join(machine.cwd, ".claude", "settings.json")
  const installed = await cli("install", "--scope", "project")
  expect(installed).toMatchObject({ code: 0, stderr: "" })
  expect(installed.stdout).toContain("Undo with `ctxbridge uninstall --scope project`.")

  const other = await cli("uninstall")
  expect(other).toMatchObject({ code: 0, stderr: "" })
  const way = `cd ${machine.cwd} && ctxbridge uninstall --scope project`
  expect(other.stdout).toContain(`Still registered in ${settings}: ${way}\n`)
  expect(other.stdout).toContain(`Still registered in ${join(machine.cwd, ".mcp.json")}: ${way}\n`)
  expect(existsSync(settings)).toBe(true)
  expect(JSON.parse((await cli("uninstall", "--json")).stdout).still).toContain(settings)

  const right = await cli("uninstall", "--scope", "project")
  expect(right).toMatchObject({ code: 0, stderr: "" })
  expect(right.stdout).not.toContain("Still")
  expect(existsSync(settings)).toBe(false)
  expect((await cli("install")).stdout).toContain("Undo with `ctxbridge uninstall`.")
  const half = await cli("uninstall", "--no-mcp")
  const state = join(machine.home, ".claude.json")
  expect(half.stdout).toContain(`Still registered in ${state}: ctxbridge uninstall\n`)
})
