/** The reference stopped archiving after 500 messages: of 120 turns, 51 were lost. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { Archive } from "../support/archive.ts"
import { promptsIn } from "../support/machine.ts"

setDefaultTimeout(60_000)

const STEP = { tool: "Bash", input: { command: "make" }, output: "ok" }

test("120 turns of 14 messages, a hook at every prompt: every turn is there, at once", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const prompts: string[] = []
  for (let n = 1; n <= 120; n++) {
    prompts.push(`prompt ${n}`)
    transcript
      .turn(
        `prompt ${n}`,
        Array.from({ length: 6 }, () => STEP),
      )
      .flush()
    archive.follow(transcript)
    expect(archive.count("turns")).toBe(n)
  }
  expect(promptsIn(archive.db, "s1")).toEqual(prompts)
  expect(archive.count("messages")).toBe(120 * 14)
})
