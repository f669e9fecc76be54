/** `sessions --all-projects` did not say of which project each session was. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("each is told with its project's name; those of one project without", async () => {
  using machine = new Machine()
  const other = join(machine.root, "elsewhere")
  mkdirSync(other)
  await machine.hook("stop", machine.session({ id: "0a1b2c3d-1" }).turn("Here").flush())
  await machine.hook("stop", machine.session({ id: "4e5f6a7b-2", cwd: other }).turn("There").flush())
  const list = async (...args: string[]): Promise<string[]> =>
    (await run(["sessions", ...args], { env: machine.env, cwd: machine.cwd })).stdout.trimEnd().split("\n")
  const [head, ...rows] = await list("--all-projects")
  expect(head).toContain("  project  ")
  for (const [folder, prompt] of [
    ["project", "Here"],
    ["elsewhere", "There"],
  ])
    expect(rows.find((row) => row.endsWith(`  ${prompt}`))).toContain(`  ${folder}  `)
  for (const line of [head!, ...rows]) expect(line.length).toBeLessThanOrEqual(80)
  expect((await list())[0]).not.toContain("project")
})
