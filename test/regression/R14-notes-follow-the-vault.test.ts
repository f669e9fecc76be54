/** What the model has kept stands in a file of ours, too: `redact` left it there, and `forget` of anything else took it. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"

setDefaultTimeout(60_000)

test("a new pattern of the user's: redact --rescan takes it out of the notes, and they go on", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const note = async (text: string) => {
    await using peer = await Peer.connect(machine.cwd, machine.env)
    return peer.call("remember", { text })
  }
  const notes = (): string =>
    readdirSync(join(machine.dataHome, "notes"))
      .map((name) => readFileSync(join(machine.dataHome, "notes", name), "utf8"))
      .join("")
  expect((await note("The case is ACME-4711, as you know")).isError).toBe(false)
  const config = join(machine.home, ".config", "ctxbridge")
  mkdirSync(config, { recursive: true })
  writeFileSync(join(config, "config.toml"), "[secrets]\npatterns = ['ACME-\\d+']\n")
  const dry = await cli("redact", "--rescan", "--dry-run")
  expect(dry).toMatchObject({ code: 0, stderr: "" })
  expect(notes()).toContain("ACME-4711")
  expect(await cli("redact", "--rescan")).toMatchObject({ code: 0, stderr: "" })
  expect(notes()).not.toContain("ACME-4711")
  expect(notes()).toContain("The case is *********, as you know")
  expect((await note("Another one")).isError).toBe(false)
  expect((await cli("verify")).code).toBe(0)
  expect((await cli("search", "as you know")).stdout).toContain("*********")
})

test("a note that the vault could not take yet is not lost when something else is forgotten", async () => {
  using machine = new Machine()
  const session = machine.session().turn("Begin").flush()
  await machine.hook("stop", session)
  const file = join(machine.dataHome, "notes", "notes-0123456789abcdef.jsonl")
  mkdirSync(join(machine.dataHome, "notes"))
  writeFileSync(file, "{}\n")
  const { code } = await run(["forget", session.session, "--yes"], { env: machine.env, cwd: machine.cwd })
  expect(code).toBe(0)
  expect(readFileSync(file, "utf8")).toBe("{}\n")
})
