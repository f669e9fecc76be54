/**
 * What hooks wrote elsewhere because the archive could not be written went past the user's own patterns, and moved over
 * into the vault as it was.
 */
import { expect, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"

test("the user's patterns hold in the spool, too", async () => {
  using machine = new Machine()
  const config = join(machine.home, ".config", "ctxbridge")
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, "config.toml"), "[secrets]\npatterns = ['ACME-\\d+']\n")
  writeFileSync(machine.dataHome, "in the way")
  const session = machine.session().turn("The case is ACME-4711, as you know").flush()
  expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stdout: "", stderr: "" })
  rmSync(machine.dataHome)
  const spools = [...new Bun.Glob("**/*.jsonl.zst").scanSync({ cwd: machine.root, dot: true })]
  expect(spools).toHaveLength(1)
  expect(contentOf(join(machine.root, spools[0]!)).toString()).not.toContain("ACME-4711")

  expect(await run(["status"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
  const kept = contentOf(machine.copy(session.path)).toString()
  expect(kept).not.toContain("ACME-4711")
  expect(kept).toContain("The case is *********, as you know")
  expect(kept).toHaveLength(readFileSync(session.path, "utf8").length)
})
