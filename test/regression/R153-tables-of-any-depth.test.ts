/**
 * A repository's `.ctxbridge.toml` may nest ten thousand tables. Making full names of them took a hook longer than the host
 * waits: it was killed before it had archived anything.
 */
import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("tables are read as deep as options are named", async () => {
  using machine = new Machine()
  const deep = Array(13_000).fill("a").join(".")
  const lines = ['"restore.startup" = false', `${deep} = 1`, "[restore]", "budget = 600", `${deep} = 1`]
  writeFileSync(join(machine.cwd, ".ctxbridge.toml"), `${lines.join("\n")}\n`)
  const listed = await run(["config", "list", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(listed).toMatchObject({ code: 0, stderr: "" })
  const { options, problems, brokenFiles } = JSON.parse(listed.stdout)
  expect(brokenFiles).toEqual([])
  const [origin, isValue, message] = ["project", false, "no such option"]
  expect(problems).toEqual(["a.a", "restore.a"].map((key) => ({ key, origin, isValue, message })))
  const set = options.filter((one: { origin: string }) => one.origin === "project")
  expect(set.map(({ key, value }: { key: string; value: unknown }) => [key, value])).toEqual([
    ["restore.budget", 600],
    ["restore.startup", false],
  ])
})
