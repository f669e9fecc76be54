/** Indexing what was captured just now, while others change the vault. */
import { expect, test } from "bun:test"
import { index } from "../../../src/archive/indexing.ts"
import { take } from "../../../src/archive/take.ts"
import { rewriteCopy } from "../../../src/vault/rewrite.ts"
import { emptyTombstone, fill, lineHash, type Span, writeTombstone } from "../../../src/vault/tombstones.ts"
import { Archive } from "../../support/archive.ts"

test("a text that is forgotten between archiving and indexing does not get into the views", () => {
  using archive = new Archive()
  const session = archive.session("one").turn("The word is walrus").flush()
  const place = { dataHome: archive.dataHome, home: archive.root }
  const now = Date.now()
  const taken = take(place, session.path, { now, deadline: Number.POSITIVE_INFINITY, lastLine: "whole" })
  const word = new TextEncoder().encode("walrus")
  const tombstone = emptyTombstone("one", now)
  const lines: Record<string, Span[]> = {}
  rewriteCopy(archive.file(taken), (content) => {
    const edited = new Uint8Array(content)
    for (let start = 0; start < edited.length; ) {
      const end = edited.indexOf(0x0a, start)
      const line = edited.subarray(start, end)
      const at = Buffer.from(line).indexOf(word)
      if (at >= 0) {
        const spans: Span[] = [[at, at + word.length]]
        lines[lineHash(tombstone.key, line)] = spans
        fill(line, spans)
      }
      start = end + 1
    }
    return edited
  })
  writeTombstone(archive.dataHome, { ...tombstone, lines })
  archive.db
    .transaction(() => index(archive.db, archive.dataHome, taken, () => false, taken.fresh))
    .immediate()
  expect(archive.db.query("SELECT prompt FROM turns").all()).toEqual([{ prompt: "The word is ******" }])
})
