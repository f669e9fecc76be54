/** The reference numbered turns within a sliding window: two of them were number 30. */
import { expect, test } from "bun:test"
import { turnsOf } from "../../src/archive/queries/turns.ts"
import { Archive } from "../support/archive.ts"

test("turns keep their number, whenever they are read", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  const handles: string[] = []
  for (let n = 0; n < 60; n++) {
    transcript.turn(`prompt ${n}`).flush()
    if (n % 7 === 0) archive.follow(transcript)
  }
  archive.follow(transcript)
  const turns = turnsOf(archive.db, "s1")
  expect(turns.map(({ seq }) => seq)).toEqual(Array.from({ length: 60 }, (_, n) => n + 1))
  for (const { handle } of turns) handles.push(handle)
  expect(new Set(handles).size).toBe(60)
})
