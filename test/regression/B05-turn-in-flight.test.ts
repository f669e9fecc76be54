/** The reference stored a turn that was read while it grew twice: once half, once whole. */
import { expect, test } from "bun:test"
import { appendFileSync } from "node:fs"
import { turnsOf } from "../../src/archive/queries/turns.ts"
import { Archive } from "../support/archive.ts"

test("a turn that is read line by line is one row that grows", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const step = { tool: "Bash", input: { command: "make" }, output: "ok" }
  archive.follow(transcript.user("build it").message().flush())
  const handle = turnsOf(archive.db, "s1")[0]!.handle
  for (let tools = 1; tools <= 5; tools++) {
    archive.follow(transcript.step(step).flush())
    expect(turnsOf(archive.db, "s1")).toMatchObject([{ handle, prompt: "build it", tools, answer: "" }])
  }
  archive.follow(transcript.say("built").flush())
  expect(turnsOf(archive.db, "s1")).toMatchObject([{ handle, tools: 5, answer: "built" }])
  expect(archive.count("messages")).toBe(12)
})

test("and so is one that is read byte by byte", () => {
  using archive = new Archive()
  const transcript = archive.session("s1").turn("build it 語").turn("again")
  const whole = Buffer.from(transcript.text)
  transcript.discard()
  transcript.flush()
  for (let at = 0; at < whole.length; at += 97) {
    appendFileSync(transcript.path, whole.subarray(at, at + 97))
    archive.follow(transcript)
  }
  expect(turnsOf(archive.db, "s1").map(({ prompt }) => prompt)).toEqual(["build it 語", "again"])
  expect(archive.count("messages")).toBe(4)
})
