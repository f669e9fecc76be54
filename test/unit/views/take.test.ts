/** What of a transcript is read again. */
import { expect, test } from "bun:test"
import { statSync } from "node:fs"
import { CopyReader } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

/** A hook runs at every prompt, and transcripts grow to hundreds of megabytes. */
test("a call without new bytes leaves the copy as it is, one with new bytes adds them alone", () => {
  using archive = new Archive()
  const transcript = archive.session("s1")
  for (let n = 0; n < 200; n++) transcript.turn(`prompt ${n}`)
  const first = archive.follow(transcript.flush())
  const copy = archive.file(first)
  const { size, mtimeMs } = statSync(copy)
  const again = archive.follow(transcript)
  expect(again.captured).toMatchObject({ state: "current", taken: 0 })
  expect(statSync(copy)).toMatchObject({ size, mtimeMs })

  transcript.turn("one more")
  const added = Buffer.byteLength(transcript.text)
  const third = archive.follow(transcript.flush())
  expect(third.captured.taken).toBe(added)
  expect(third.fresh.reduce((sum, { content }) => sum + content.length, 0)).toBe(added)
  const reader = new CopyReader(copy)
  expect([...reader.pieces()].map(({ length }) => length)).toEqual([first.captured.archived, added])
  reader.close()
})
