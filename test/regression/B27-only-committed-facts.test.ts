/** The reference said "All 5 turns have been archived" on a disk that took none. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Machine } from "../support/machine.ts"

test("where nothing can be written, nothing is said", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
  writeFileSync(machine.dataHome, "in the way")
  const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
})

test("where the vault takes nothing, no new turn is claimed", async () => {
  using machine = new Machine()
  mkdirSync(machine.dataHome)
  writeFileSync(join(machine.dataHome, "vault"), "in the way")
  const transcript = machine.session().turn("one. Never touch the generated files.").turn("two").flush()
  const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
})

test("half a line that the host is still writing is not counted", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("one. Never touch the generated files.").flush()
  const half = transcript.user("two").text.slice(0, -30)
  transcript.discard()
  writeFileSync(transcript.path, half, { flag: "a" })
  const ran = await machine.hook("pre-compact", transcript, { trigger: "auto" })
  expect(ran.stdout).toStartWith("ctxbridge: 1 turn of this session")
})
