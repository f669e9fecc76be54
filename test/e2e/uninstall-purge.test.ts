/** `uninstall --purge` removes what is ours. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/**
 * `uninstall --purge` removed every folder with one of our names, such as `models` or `notes`, also those that a folder
 * given as CTXBRIDGE_HOME held before us.
 */
test("what had one of our names before the install stays", async () => {
  using machine = new Machine()
  const theirs = ["models/large.bin", "notes/diary.txt", "state/of-the-art.txt", "vault/keys.txt"]
  for (const name of theirs) {
    mkdirSync(join(machine.dataHome, name, ".."), { recursive: true, mode: 0o700 })
    writeFileSync(join(machine.dataHome, name), name)
  }
  const listing = () => readdirSync(machine.dataHome, { recursive: true, encoding: "utf8" }).sort()
  const before = listing()
  const options = { env: machine.env, cwd: machine.cwd }
  const session = machine.session().turn("What was asked.").flush()
  expect(await run(["install"], options)).toMatchObject({ code: 0, stderr: "" })
  expect(await machine.hook("pre-compact", session)).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  const purged = await run(["uninstall", "--purge", "--yes", "--json"], options)
  expect(purged).toMatchObject({ code: 0, stderr: "" })
  const { removed, left } = JSON.parse(purged.stdout)
  expect(removed.map(({ path }: { path: string }) => path)).toContain(join(machine.dataHome, "archive.db"))
  for (const name of ["models", "notes", "vault"]) expect(left).toContain(join(machine.dataHome, name))
  for (const name of theirs) expect(readFileSync(join(machine.dataHome, name), "utf8")).toBe(name)
  // What we have put into such a folder stays with it, and is told.
  expect(listing().filter((name) => !before.includes(name) && !name.startsWith("vault/"))).toEqual([])
})

test("a purge in a home of ours leaves nothing, however often it is installed", async () => {
  using machine = new Machine()
  const options = { env: machine.env, cwd: machine.cwd }
  machine.session().turn("What was asked.").flush()
  for (const args of [["import"], ["install"], ["uninstall"], ["install"]]) {
    expect(await run(args, options)).toMatchObject({ code: 0, stderr: "" })
  }
  const purged = await run(["uninstall", "--purge", "--yes"], options)
  expect(purged).toMatchObject({ code: 0, stderr: "" })
  expect(purged.stdout).toEndWith(`\nThe program stays: rm ${binary()}\n`)
  await machine.idle()
  expect(readdirSync(machine.root).sort()).toEqual(["home", "project"])
})

/** Where Claude Code's files are links, `uninstall --purge` named each of them twice. */
describe("the host's files are links", () => {
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
    // What no install has recorded is looked for under Claude Code's own names.
    const { settings } = JSON.parse((await there("uninstall", "--purge", "--yes", "--json")).stdout)
    expect(settings.map(({ action }: { action: string }) => action)).toEqual(["none", "none"])
  })
})
