/** Whose spool is whose. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { contentOf, Machine } from "../support/machine.ts"

/**
 * `CTXBRIDGE_HOME=/x/` and `/x` are one archive, but each had a spool of its own. With `TMPDIR=/tmp/`, as macOS ends it,
 * `status` counted what was spooled twice.
 */
describe("folders that end in a slash", () => {
  /** Spools a session, with a slash after each folder in the environment. */
  async function spooled(machine: Machine, blocked: readonly string[]): Promise<void> {
    mkdirSync(machine.dataHome)
    for (const name of blocked) writeFileSync(join(machine.dataHome, name), "")
    const session = machine.session().turn("What was asked.").flush()
    const { HOME, CTXBRIDGE_HOME, TMPDIR } = machine.env
    const env = { HOME: `${HOME}/`, CTXBRIDGE_HOME: `${CTXBRIDGE_HOME}/`, TMPDIR: `${TMPDIR}//` }
    expect(await machine.hook("stop", session, {}, { env })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
  }

  test("what was spooled for one moves to the other", async () => {
    using machine = new Machine()
    await spooled(machine, ["vault"])
    rmSync(join(machine.dataHome, "vault"))
    const verified = await run(["verify", "--json"], { env: machine.env })
    expect(verified).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(verified.stdout).totals).toMatchObject({ complete: 1, missing: 0 })
  })

  test("a folder is named once, and as people write it", async () => {
    using machine = new Machine()
    await spooled(machine, ["vault", "state"])
    const env = { ...machine.env, TMPDIR: `${machine.root}/` }
    const status = await run(["status", "--json"], { env, cwd: machine.cwd })
    const { spool } = JSON.parse(status.stdout)
    expect(spool).toHaveLength(1)
    expect(spool[0].folder).toStartWith(join(machine.root, `ctxbridge-${process.getuid?.()}`, "spool"))
  })
})

/**
 * What hooks wrote elsewhere because the archive could not be written went past the user's own patterns, and moved over
 * into the vault as it was.
 */
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
