/**
 * Where hooks and status line went to both ends of a long file, the difference of its lines took as many bytes as the
 * square of their number. `install` failed, and so did `uninstall` once the file had grown.
 */
import { expect, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("settings of many lines are installed into, and restored", async () => {
  using machine = new Machine()
  const file = join(machine.home, ".claude", "settings.json")
  mkdirSync(dirname(file))
  const allow = Array.from({ length: 40_000 }, (_, n) => `Read(${n})`)
  const theirs = [{ hooks: [{ type: "command", command: "true" }] }]
  const before = JSON.stringify({ hooks: { PreToolUse: theirs }, permissions: { allow } }, null, 2)
  writeFileSync(file, before)
  const options = { env: machine.env, cwd: machine.cwd }
  const tried = await run(["install", "--no-mcp", "--dry-run", "--json"], options)
  expect(tried).toMatchObject({ code: 0, stderr: "" })
  const { diff } = JSON.parse(tried.stdout)
  expect(diff.length).toBeLessThan(200)
  expect(diff).toContain("...")
  expect(await run(["install", "--no-mcp"], options)).toMatchObject({ code: 0, stderr: "" })
  expect(Object.keys(JSON.parse(readFileSync(file, "utf8")))).toEqual(["hooks", "permissions", "statusLine"])
  expect(await run(["uninstall"], options)).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file, "utf8")).toBe(before)
}, 60_000)
