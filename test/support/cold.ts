/** What the index of words has, before and after turns were cold. */
import { expect } from "bun:test"
import { CopyReaders } from "../../src/vault/reader.ts"
import { chill, warm } from "../../src/views/cold-turns.ts"
import type { Database } from "../../src/views/database.ts"
import { wordTotals } from "../../src/views/word-index.ts"

/** Every word and mark of every message. */
function wordsIn(db: Database): string[] {
  db.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.pairs USING fts5vocab(main, words, instance)")
  return db
    .query<{ pair: string }, []>("SELECT DISTINCT doc || ' ' || term AS pair FROM temp.pairs")
    .all()
    .map(({ pair }) => pair)
    .sort()
}

export const turnsIn = (db: Database): number[] =>
  db
    .query<{ id: number }, []>("SELECT id FROM turns ORDER BY id")
    .all()
    .map(({ id }) => id)

/** Makes all turns cold, and then hot again. */
export function expectSameWordsAgain(db: Database, dataHome: string): void {
  const before = wordsIn(db)
  const turns = turnsIn(db)
  const { messages } = wordTotals(db)
  expect(before.length).toBeGreaterThan(messages)
  chill(db, turns)
  expect(wordsIn(db)).toEqual([])
  expect(wordTotals(db)).toEqual({ messages, indexed: 0, cold: messages })
  using readers = new CopyReaders()
  expect(warm(db, dataHome, turns, readers)).toEqual([])
  expect(wordTotals(db)).toEqual({ messages, indexed: messages, cold: 0 })
  expect(wordsIn(db)).toEqual(before)
}
