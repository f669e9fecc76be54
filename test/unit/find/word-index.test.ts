import { expect, test } from "bun:test"
import { search } from "../../../src/find/search-turns.ts"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { Archive } from "../../support/archive.ts"

const found = (archive: Archive, query: string): number => {
  const readers = new CopyReaders()
  try {
    return search(archive.db, archive.dataHome, { query, limit: 10 }, readers).hits.length
  } finally {
    readers.close()
  }
}

test("words are removed with their message", () => {
  using archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000001")
  transcript.turn("the xylophonist plays", [], "a marimbaphone instead").flush()
  archive.follow(transcript)
  expect(found(archive, "xylophonist")).toBe(1)
  expect(found(archive, "marimbaphone")).toBe(1)
  archive.db.run("DELETE FROM messages WHERE role = 'human'")
  expect(found(archive, "xylophonist")).toBe(0)
  expect(found(archive, "marimbaphone")).toBe(1)
})

test("a line that is indexed again is not found twice", () => {
  using archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000002")
  transcript.turn("the xylophonist plays").flush()
  archive.follow(transcript)
  archive.db.run("UPDATE transcripts SET indexed = 0")
  archive.follow(transcript)
  const rows = archive.db.query("SELECT rowid FROM words WHERE words MATCH 'xylophonist'").all()
  expect(rows).toHaveLength(2) // prompt, and the answer that repeats it
})

test("results of a search by meaning are merged with those by words, or used alone", () => {
  using archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000003")
  for (const topic of ["otter", "falcon", "beetle"]) transcript.turn(`about the ${topic}`, [], "noted")
  transcript.flush()
  archive.follow(transcript)
  const readers = new CopyReaders()
  const seqs = (query: string, more: object): number[] =>
    search(archive.db, archive.dataHome, { query, limit: 10, ...more }, readers).hits.map(({ seq }) => seq)
  const similar = [
    { turn: 3, score: 0.9 },
    { turn: 2, score: 0.8 },
  ]
  expect(seqs("falcon", {})).toEqual([2])
  expect(seqs("falcon", { similar })).toEqual([2, 3])
  expect(seqs("falcon", { similar, byWords: false })).toEqual([3, 2])
  expect(seqs("falcon AND about", { similar })).toEqual([2])
  readers.close()
})
