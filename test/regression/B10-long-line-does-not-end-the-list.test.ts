/** In the reference the first turn too long for the budget ended the list: shorter ones behind it were left out. */
import { expect, test } from "bun:test"
import { gather } from "../../src/restore/gather.ts"
import { renderRestore } from "../../src/restore/render.ts"
import { Archive } from "../support/archive.ts"

test("a turn whose line does not fit does not keep older, shorter ones out", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript.turn("short and old", [], "Done.")
  transcript.turn("long ".repeat(40), [], "long ".repeat(40))
  transcript.turn("short and new", [], "Done.")
  archive.follow(transcript.flush())
  const options = { source: "compact", summary: "" } as const
  const text = renderRestore(gather(archive.db, "s1"), { ...options, budget: 360 })
  expect(text).toContain("short and new")
  expect(text).toContain("short and old")
  expect(text).not.toContain("long long")
})

test("nor does a constraint that does not fit", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  transcript
    .turn("Never use tabs.")
    .turn(`Never ${"ever ".repeat(50)}use spaces.`)
    .turn("Always sign commits.")
  archive.follow(transcript.flush())
  const options = { source: "compact", summary: "" } as const
  const text = renderRestore(gather(archive.db, "s1"), { ...options, budget: 900 })
  const section = text.slice(text.indexOf("## Standing"), text.indexOf("## Turns"))
  expect(section).toContain("Never use tabs.")
  expect(section).toContain("Always sign commits.")
  expect(section).not.toContain("use spaces.")
})
