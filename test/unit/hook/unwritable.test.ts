/** What cannot be written is neither claimed nor lost without a trace. */
import { describe, expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { lastError } from "../../../src/base/log.ts"
import { Inside } from "../../support/inside.ts"

/** "All turns are archived" must not be said on a disk that took none. */
describe("what a hook claims", () => {
  test("where nothing can be written, nothing is said", async () => {
    using machine = new Inside()
    const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
    writeFileSync(machine.dataHome, "in the way")
    const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  })

  test("where the vault takes nothing, no new turn is claimed", async () => {
    using machine = new Inside()
    mkdirSync(machine.dataHome)
    writeFileSync(join(machine.dataHome, "vault"), "in the way")
    const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
    const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
    expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  })

  test("half a line that the host is still writing is not counted", async () => {
    using machine = new Inside()
    const transcript = machine.session().turn("one. Never touch the generated files.").flush()
    const half = transcript.user("two").text.slice(0, -30)
    transcript.discard()
    writeFileSync(transcript.path, half, { flag: "a" })
    const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
    expect(ran.stdout).toStartWith("ctxbridge: 1 turn of this session")
  })
})

/** Nobody sees a hook's stderr. */
test("what goes wrong in a hook is in the log, and no word of the transcript", async () => {
  using machine = new Inside()
  mkdirSync(machine.dataHome)
  writeFileSync(join(machine.dataHome, "archive.db"), "no database, ".repeat(100))
  const transcript = machine.session().turn("a private word").flush()
  const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const error = lastError(join(machine.dataHome, "state"))
  expect(error).toMatchObject({ event: "pre-compact", session: transcript.session, code: "SQLITE_NOTADB" })
  expect(JSON.stringify(error)).not.toContain("private")
})
