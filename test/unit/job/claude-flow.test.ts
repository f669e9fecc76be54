/** Rows as its code never writes them: SQLite promises no type. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { sessionsInDatabase, sessionsInJson } from "../../../src/job/import/claude-flow.ts"

test("each row is in a session, whatever names that", () => {
  using db = new Database(":memory:")
  db.run(`CREATE TABLE transcript_entries (id, session_id, chunk_index, content, created_at, metadata)`)
  const ids = ["one", "", null, 5, 2.5, new Uint8Array([1, 2]), "  "]
  for (const [n, id] of ids.entries())
    db.query("INSERT INTO transcript_entries VALUES (?, ?, 0, ?, 0, '{}')").run(n, id, `User: prompt ${n}`)
  const sessions = [...sessionsInDatabase(db, "/a/b.db")]
  expect(
    sessions
      .flatMap(({ items }) => items)
      .map(({ text }) => text)
      .sort(),
  ).toEqual(ids.map((_, n) => `User: prompt ${n}`))
  expect(new Set(sessions.map(({ id }) => id))).toEqual(new Set(["one", "unnamed", "5", "2.5"]))
})

test("entries of a session that is told by turns with another", () => {
  const entries = [0, 1, 2, 3].map((n) => ({
    content: `Entry ${n}`,
    metadata: { sessionId: n % 2 ? "odd" : "even", chunkIndex: 9 - n },
  }))
  const told = [...sessionsInJson(entries, "/a/b.json")].map(({ id, items }) => [
    id,
    items.map(({ text }) => text),
  ])
  expect(told).toEqual([
    ["even", ["Entry 2", "Entry 0"]],
    ["odd", ["Entry 3", "Entry 1"]],
  ])
})
