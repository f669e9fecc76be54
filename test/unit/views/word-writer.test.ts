/** The first texts that a process indexes are split by another function than those that follow. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { WordWriter } from "../../../src/views/word-index.ts"

const TEXT = "getUserName reads org.example.caches, größe and 日本 twice: getUserName"

test("a text has the same words in the index, however much was indexed before", () => {
  using db = new Database(":memory:")
  db.run("CREATE VIRTUAL TABLE words USING fts5(text, content = '', detail = none, tokenize = 'ascii')")
  db.run("CREATE VIRTUAL TABLE found USING fts5vocab('words', 'instance')")
  const writer = new WordWriter(db)
  writer.add(1, TEXT, { role: "human" })
  writer.add(2, "a long listing, line by line ".repeat(20_000), {})
  writer.add(3, TEXT, { role: "human" })
  writer.add(4, "", {})
  writer.flush()
  const wordsOf = (message: number) =>
    db
      .query<{ term: string }, [number]>("SELECT term FROM found WHERE doc = ? ORDER BY term")
      .all(message)
      .map(({ term }) => term)
  expect(wordsOf(1)).toContain("getusername")
  expect(wordsOf(1)).toContain("§rhuman")
  expect(wordsOf(3)).toEqual(wordsOf(1))
  expect(wordsOf(4)).toEqual([])
})
