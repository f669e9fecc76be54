import { expect, test } from "bun:test"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

test("a phrase is found despite many newer messages that contain its words separately", () => {
  using archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000004")
  transcript.turn("the amber lamp is lit", [], "So it is.")
  for (let n = 0; n < 100; n++) transcript.turn(`lamp ${n}, and another amber`, [], "Noted.")
  transcript.turn("the amber lamp and a walrus", [], "Strange.").flush()
  archive.follow(transcript)
  const readers = new CopyReaders()
  const seqs = (query: string): number[] =>
    search(archive.db, archive.dataHome, { query, limit: 10 }, readers).hits.map(({ seq }) => seq)
  expect(seqs('"amber lamp"').toSorted()).toEqual([1, 102])
  // A word beside the phrase ranks, and is not required.
  expect(seqs('walrus "amber lamp"')).toEqual([102, 1])
  expect(seqs('"amber lamp" AND NOT walrus')).toEqual([1])
  expect(seqs('"amber lamp" AND "walrus"')).toEqual([102])
  // Nobody has said this; its words count then.
  expect(seqs('"walrus amber"')[0]).toBe(102)
  readers.close()
})
