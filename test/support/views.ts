/** The whole content of the views, for comparing two archives. */
import type { Database } from "../../src/views/database.ts"
import { unpackVectors } from "../../src/views/vectors.ts"

const TABLES = [
  "projects",
  "sessions",
  "transcripts",
  "turns",
  "messages",
  "tool_calls",
  "files",
  "usage",
  "results",
  "notes",
  "facts",
  "boundaries",
  "lineage",
]

/** Rows by table, without the copies' ids, which differ between two archives of the same bytes. */
export function dumpViews(db: Database): Record<string, unknown[]> {
  const dump: Record<string, unknown[]> = {}
  for (const table of TABLES) {
    const rows = db.query<Record<string, unknown>, []>(`SELECT * FROM ${table}`).all()
    dump[table] = rows.map(({ copy_id: _name, ...row }) => row)
  }
  return dump
}

/** What replaces a row's number in each column that holds one. */
const NAMES: Readonly<Record<string, string>> = {
  turn: "SELECT handle AS name FROM turns WHERE id = ?",
  transcript: "SELECT copy AS name FROM transcripts WHERE id = ?",
  project: "SELECT path AS name FROM projects WHERE id = ?",
  use: "SELECT CAST(key AS TEXT) AS name FROM messages WHERE id = ?",
  since: "SELECT handle AS name FROM turns WHERE id = ?",
  latest: "SELECT CAST(key AS TEXT) AS name FROM messages WHERE id = ?",
  result: "SELECT CAST(key AS TEXT) AS name FROM messages WHERE id = ?",
}

/** The same for rebuilt views: sorted, and without numbers that depend only on the order in which rows were made. */
export function namedViews(db: Database): Record<string, string[]> {
  const named: Record<string, string[]> = {}
  for (const [table, rows] of Object.entries(dumpViews(db))) {
    const own = !["sessions", "tool_calls"].includes(table)
    named[table] = rows
      .map((row) => {
        const entries = Object.entries(row as Record<string, unknown>)
          .filter(([column]) => !(own && column === "id"))
          .map(([column, value]) => {
            const query = NAMES[column]
            if (query === undefined || value === null) return [column, String(value)]
            const found = db.query<{ name: string }, [number]>(query).get(value as number)
            return [column, found?.name ?? `no ${value}`]
          })
        return JSON.stringify(entries)
      })
      .sort()
  }
  return named
}

/** Which words lead to which messages, and the vectors of each turn, without numbers of rows. */
export function namedSearch(db: Database): { words: string[]; vectors: string[]; totals: unknown } {
  const keys = new Map(
    db
      .query<{ id: number; key: string }, []>("SELECT id, CAST(key AS TEXT) AS key FROM messages")
      .all()
      .map(({ id, key }) => [id, key]),
  )
  const projects = new Map(
    db
      .query<{ id: number; path: string }, []>("SELECT id, path FROM projects")
      .all()
      .map(({ id, path }) => [id, path]),
  )
  db.run("CREATE VIRTUAL TABLE temp.told USING fts5vocab(main, words, instance)")
  const words = db
    .query<{ term: string; doc: number }, []>("SELECT term, doc FROM temp.told")
    .all()
    .map(({ term, doc }) => {
      const named = term.replace(/^(§[pw])(\d+)$/, (_, mark, id) => `${mark}${projects.get(Number(id))}`)
      return `${named} ${keys.get(doc) ?? `no ${doc}`}`
    })
    .sort()
  db.run("DROP TABLE temp.told")
  const vectors = db
    .query<{ handle: string; last: number; vectors: Uint8Array; dimension: number }, []>(
      "SELECT t.handle, v.last, v.vectors, v.dimension FROM vectors v LEFT JOIN turns t ON t.id = v.turn",
    )
    .all()
    .map(({ handle, last, vectors, dimension }) => {
      const pieces = [...unpackVectors(vectors, dimension)]
      return JSON.stringify([handle, last, pieces.map((one) => [keys.get(one.message), [...one.data]])])
    })
    .sort()
  const { rows, averages } = db
    .query<{ averages: string; rows: number }, []>(
      "SELECT hex(block) AS averages, (SELECT count(*) FROM words_docsize) AS rows FROM words_data WHERE id = 1",
    )
    .get()!
  // Of an index that was emptied, and of one that never held a word.
  return { words, vectors, totals: { rows, averages: averages.replace(/^0+$/, "") } }
}

/** Every word of every message, and how many each message has. */
export function dumpWords(db: Database): { words: unknown[]; counts: unknown[] } {
  db.run("CREATE VIRTUAL TABLE temp.every_word USING fts5vocab(main, words, instance)")
  return {
    words: db.query("SELECT term, doc FROM temp.every_word").values(),
    counts: db.query("SELECT id, sz FROM words_docsize").values(),
  }
}
