/** A payload later than 200 ms was a silent loss in the reference. */

import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import { start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

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
