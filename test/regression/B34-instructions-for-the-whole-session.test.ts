/** The reference's instructions spoke of the last 500 messages only. */
import { expect, test } from "bun:test"
import { gather } from "../../src/restore/gather.ts"
import { renderInstructions } from "../../src/restore/instructions.ts"
import { Archive } from "../support/archive.ts"

test("what was asked in the first of 400 turns is still asked", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").turn("Never touch the generated files.")
  for (let n = 0; n < 400; n++)
    transcript.turn(`step ${n}`, [{ tool: "Bash", input: { command: "ls" }, output: "" }])
  archive.follow(transcript.flush())
  const text = renderInstructions(gather(archive.db, "s1"), 2000)
  expect(text).toContain("401 turns")
  expect(text).toContain("Never touch the generated files.")
})
