/** A hook and the background job make the database at the same moment: neither finds it locked. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** Without waiting for each other, one pair in twenty failed. */
const ROUNDS = 30

test("what was said before /clear is given back, also when the job begins with the archive", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    using machine = new Machine()
    const old = machine.session().turn("Always write a changelog entry.").flush()
    // It starts the job, and does not wait for it.
    expect(await machine.hook("session-end", old, { reason: "clear" })).toMatchObject({ code: 0, stderr: "" })
    const { code, stdout, stderr } = await machine.hook("session-start", machine.session(), {
      source: "clear",
    })
    const log = join(machine.dataHome, "state", "ctxbridge.log")
    const said = existsSync(log) ? readFileSync(log, "utf8") : ""
    expect({ round, code, stderr, said }).toEqual({ round, code: 0, stderr: "", said: "" })
    expect(stdout).toContain("changelog entry")
  }
})
