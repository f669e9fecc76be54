/** The reference left up to two new turns unarchived until a third came. */
import { expect, test } from "bun:test"
import { Archive } from "../support/archive.ts"
import { promptsIn } from "../support/machine.ts"

test("one new turn is archived by the next hook, however many there were", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 0; n < 10; n++) transcript.turn(`old ${n}`)
  archive.follow(transcript.flush())
  archive.follow(transcript.turn("one more").flush())
  expect(promptsIn(archive.db, "s1").at(-1)).toBe("one more")
  archive.follow(transcript.turn("and another").flush())
  expect(promptsIn(archive.db, "s1")).toHaveLength(12)
})
