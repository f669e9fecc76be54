/** While stdin stayed open, the reference stayed alive: for hours, with the recommended timeout. */

import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

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
