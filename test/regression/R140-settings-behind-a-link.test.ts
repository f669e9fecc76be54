/** Where the host's files are links, `uninstall --purge` named each of them twice. */
import { expect, test } from "bun:test"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("each file is named once", async () => {
  using machine = new Machine()
  const there = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const behind = join(machine.root, "kept-elsewhere")
  mkdirSync(behind)
  const files = [join(behind, "settings.json"), join(behind, "state.json")]
  for (const file of files) writeFileSync(file, "{}\n")
  symlinkSync(behind, join(machine.home, ".claude"))
  symlinkSync(files[1]!, join(machine.home, ".claude.json"))
  expect(await there("install")).toMatchObject({ code: 0, stderr: "" })
  for (const how of ["--dry-run", "--yes"]) {
    const { code, stdout, stderr } = await there("uninstall", "--purge", how, "--json")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const { settings } = JSON.parse(stdout)
    expect(settings.map(({ file }: { file: string }) => file).sort()).toEqual(files)
  }
  // What no install has recorded is looked for under the host's own names.
  const { settings } = JSON.parse((await there("uninstall", "--purge", "--yes", "--json")).stdout)
  expect(settings.map(({ action }: { action: string }) => action)).toEqual(["none", "none"])
})
