/** The reference's errors went to a stderr that its own wiring threw away. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lastError } from "../../src/util/log.ts"
import { Machine } from "../support/machine.ts"

test("what goes wrong in a hook is in the log, and no word of the transcript", async () => {
  using machine = new Machine()
  mkdirSync(machine.dataHome)
  writeFileSync(join(machine.dataHome, "archive.db"), "no database, ".repeat(100))
  const transcript = machine.session().turn("a private word").flush()
  const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const error = lastError(join(machine.dataHome, "state"))
  expect(error).toMatchObject({ event: "pre-compact", session: transcript.session, code: "SQLITE_NOTADB" })
  expect(JSON.stringify(error)).not.toContain("private")
})
