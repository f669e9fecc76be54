/** The words of all messages, as the index has them. */
import type { Database } from "../database.ts"

export interface IndexedWord {
  readonly term: string
  /** How many messages have it. */
  readonly messages: number
}

/**
 * Stems that begin with `beginning`, in order. Each one read costs as much as its list of messages is long, so the caller
 * stops when it has to.
 */
export function* wordsThatBegin(
  db: Database,
  beginning: string,
  [shortest, longest]: readonly [number, number],
): Generator<IndexedWord> {
  try {
    // A temporary table without rows of its own: nothing is written to the archive's file.
    db.run("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
  } catch {
    // Where not even that is allowed, nothing is corrected.
    return
  }
  yield* db
    .query<IndexedWord, [string, string, number, number]>(
      `SELECT term, doc AS messages FROM temp.vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?`,
    )
    .iterate(beginning, `${beginning}\u{10ffff}`, shortest, longest)
}
