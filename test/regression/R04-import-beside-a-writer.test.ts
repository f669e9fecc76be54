/**
 * While another process held the database, `import` gave up each transcript after its first piece ("database is locked"):
 * the rest was not archived at all, although the vault needs no database.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { openDatabase } from "../../src/archive/database.ts"
import { run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("the vault takes all of it, and the views follow", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const first = machine.session().turn("the first of them").flush()
  expect(await cli("import")).toMatchObject({ code: 0, stderr: "" })
  // More than is taken between two looks at the database.
  for (let n = 0; n < 12; n++) first.turn(`turn ${n}`, [{ tool: "Bash", input: {}, output: words(n) }])
  first.flush()
  machine.session().turn("the second of them").flush()

  const writer = openDatabase(machine.dataHome, { wait: 5000 })
  writer.run("BEGIN IMMEDIATE")
  try {
    const { code, stdout, stderr } = await cli("import", "--json")
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" })
    const done = doneIn(stdout)
    expect(done["files"]).toMatchObject([{}, {}])
    expect(done).toMatchObject({ ok: false, indexError: expect.stringContaining("locked") })
    for (const file of done["files"] as { error?: string; size: number; archived: number }[]) {
      expect(file.error).toBeUndefined()
      expect(file.archived).toBe(file.size)
    }
  } finally {
    writer.run("ROLLBACK")
    writer.close()
  }
  expect(await cli("verify")).toMatchObject({ code: 0, stderr: "" })
  expect((await cli("search", "second of them")).stdout).toContain("the second of them")
})

/** A megabyte that is not the same twice, so that it takes the time of one. */
function words(seed: number): string {
  let text = ""
  for (let n = seed * 1_000_003; text.length < 1 << 20; n += 7919) text += `${(n * 2654435761) >>> 0} `
  return text
}
