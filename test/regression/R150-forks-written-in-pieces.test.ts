/**
 * Where a hook had met a fork's transcript with only half a line in it, the next one took the fork for a session that the
 * views hold. So it did not index the origin first, and the fork was taken for the origin.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("the origin comes first", async () => {
  using machine = new Machine()
  mkdirSync(join(machine.dataHome, "state"), { recursive: true })
  // The background job would index the origin, sooner or later.
  await holding(machine.dataHome, "state/job.lock", async () => {
    const fork = machine.session()
    mkdirSync(dirname(fork.path), { recursive: true })
    const origin = machine.session().turn("Fire the kiln.").flush()
    const text = readFileSync(origin.path, "utf8")
    await machine.hook("stop", origin)
    writeFileSync(fork.path, text.slice(0, 100))
    await machine.hook("pre-compact", fork)
    writeFileSync(fork.path, text)
    await machine.hook("pre-compact", fork)
    using db = machine.views()
    expect(db.query("SELECT DISTINCT session FROM messages").values()).toEqual([[origin.session]])
    expect(db.query("SELECT child, parent FROM lineage").values()).toEqual([[fork.session, origin.session]])
  })
})
