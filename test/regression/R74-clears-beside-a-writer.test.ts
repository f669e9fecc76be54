/** After a second `/clear`, while another program was writing the database, nothing was given back. */

import { Database } from "bun:sqlite"
import { expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { contextOf, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("each clear is given the same, also from a database that can only be read", async () => {
  using machine = new Machine()
  const first = machine.session().turn("Never touch the grammar file.").flush()
  await machine.hook("stop", first)
  await machine.hook("session-end", first, { reason: "clear" })
  const second = machine.session()
  const once = contextOf(await machine.hook("session-start", second, { source: "clear" }))
  expect(once).toContain("Never touch the grammar file.")
  second.user("<command-name>/clear</command-name>\n<command-args></command-args>").flush()
  await machine.hook("session-end", second, { reason: "clear" })

  const third = machine.session()
  const db = new Database(join(machine.dataHome, "archive.db"))
  // The background job may be writing just now.
  db.run("PRAGMA busy_timeout = 30000")
  db.run("BEGIN IMMEDIATE")
  try {
    // Half of it is spent on waiting for the other program.
    const env = { ...machine.env, CTXBRIDGE_HOOK_DEADLINE: "4000" }
    const ran = await machine.hook("session-start", third, { source: "clear" }, { env })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(contextOf(ran)).toBe(once)
  } finally {
    db.run("ROLLBACK")
    db.close()
  }
})
