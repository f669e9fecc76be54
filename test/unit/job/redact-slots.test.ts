/** What restores showed and left out goes when a secret is found in it, and when what was given is forgotten. */
import { expect, test } from "bun:test"
import { redactRestores } from "../../../src/job/redact-archive.ts"
import { slotTexts } from "../../../src/views/queries/restores.ts"
import { eraseTraces } from "../../../src/views/session-traces.ts"
import { Archive } from "../../support/archive.ts"
import { framed, give } from "../../support/shown-again.ts"

const filter = (text: string): string => text.replaceAll("hunter22", "********")
const CELL = "used, once, new"

const kept = (archive: Archive): string[] => slotTexts(archive.db).flatMap(({ texts }) => texts)

function given(archive: Archive): void {
  for (const [id, text, left] of [
    ["s1", "fireKiln", "hunter22"],
    ["s2", "hunter22", "glazePot"],
    ["s3", "fireKiln", "glazePot"],
  ] as const) {
    const session = archive.session(id).turn("fire the kiln", [], "done").flush()
    archive.follow(session)
    give(archive, session, framed(text), [
      ["name", text, "", CELL, 1],
      ["name", left, "", CELL, 0],
    ])
  }
}

test("a secret in what was left out, or in what was shown", () => {
  using archive = new Archive()
  given(archive)
  expect(redactRestores(archive.dataHome, filter, true)).toBe(2)
  expect(kept(archive)).toHaveLength(6)
  expect(redactRestores(archive.dataHome, filter, false)).toBe(2)
  expect(redactRestores(archive.dataHome, filter, false)).toBe(0)
  expect(kept(archive)).toEqual(["fireKiln", "glazePot"])
  const texts = archive.db.query<{ text: string }, []>("SELECT text FROM restores ORDER BY id").all()
  expect(texts.map(({ text }) => text)).toEqual([framed("fireKiln"), framed("********"), framed("fireKiln")])
})

test("sessions that are forgotten, and others that were told of them", () => {
  using archive = new Archive()
  given(archive)
  const traces = { sessions: new Set(["s1"]), whole: new Set(["s1"]), told: new Set(["s2"]) }
  expect(eraseTraces(archive.dataHome, traces)).toBe(2)
  expect(kept(archive)).toEqual(["fireKiln", "glazePot"])
})
