/** However Claude Code writes its document, the hook archives and ends. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import { start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/** A payload that stalls half-way is no reason for a stack. */
test("half a payload that never goes on: exit 0 and silence", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("first").flush()
  const { child, ended } = start(["hook", "user-prompt-submit"], { env: machine.env })
  child.stdin.write(machine.payload("user-prompt-submit", transcript, { prompt: "x" }).slice(0, 60))
  child.stdin.flush()
  expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" })
  child.stdin.end()
})

/** Claude Code is slow at times; what comes late is not lost in silence. */
test("a payload that comes after half a second is archived", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("first").flush()
  const { child, ended } = start(["hook", "stop"], { env: machine.env })
  await Bun.sleep(500)
  child.stdin.write(machine.payload("stop", transcript))
  child.stdin.end()
  expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(existsSync(machine.copy(transcript.path))).toBe(true)
})

/** Some versions of Claude Code never close the pipe: a hook that waited for that would stay for hours. */
test("the hook ends although stdin does not", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("first").flush()
  const { child, ended } = start(["hook", "stop"], { env: machine.env })
  child.stdin.write(machine.payload("stop", transcript))
  child.stdin.flush()
  const ran = await ended
  expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
  expect(ran.ms).toBeLessThan(10_000)
  expect(existsSync(machine.copy(transcript.path))).toBe(true)
  child.stdin.end()
})
