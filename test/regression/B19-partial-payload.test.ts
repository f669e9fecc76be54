/** A payload that stalled half-way made the reference exit 1 with a stack. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("half a payload that never goes on: exit 0 and silence", async () => {
  using machine = new Machine()
  const transcript = machine.session().turn("first").flush()
  const { child, ended } = start(["hook", "user-prompt-submit"], { env: machine.env })
  child.stdin.write(machine.payload("user-prompt-submit", transcript, { prompt: "x" }).slice(0, 60))
  child.stdin.flush()
  expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" })
  child.stdin.end()
})
