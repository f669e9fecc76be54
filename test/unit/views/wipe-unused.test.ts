/** A database file holds nothing outside its rows any more, and all its rows; a damaged one is not written to. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { closeSync, openSync, readFileSync, rmSync, statSync, writeSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { databasePath } from "../../../src/views/database.ts"
import { followRemoval, wipeUnused } from "../../../src/views/removal.ts"
import { Archive } from "../../support/archive.ts"
import { tempFolder } from "../../support/temp.ts"

const change = fc.record({
  row: fc.nat(60),
  what: fc.constantFrom("insert", "insert", "longer", "delete"),
  // Some fill several pages.
  length: fc.oneof(fc.nat(200), fc.nat(12_000)),
})

const textOf = (n: number, length: number): string => `only-${n}-only `.repeat(1 + Math.floor(length / 10))

const rootsOf = (db: Database): number[] =>
  db
    .query<{ root: number }, []>("SELECT rootpage AS root FROM sqlite_schema WHERE rootpage > 1")
    .all()
    .map(({ root }) => root)

test("rows that were written, grew and were deleted, with indexes and long rows", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 120 }), fc.constantFrom(512, 4096, 65_536), (changes, page) => {
      using folder = tempFolder()
      const path = join(folder.path, "some.db")
      const db = new Database(path)
      db.run(`PRAGMA page_size = ${page}`)
      db.run("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT) STRICT")
      db.run("CREATE TABLE u (text TEXT PRIMARY KEY) STRICT, WITHOUT ROWID")
      db.run("CREATE INDEX t_text ON t (text)")
      for (const [n, { row, what, length }] of changes.entries()) {
        const text = textOf(n, length)
        if (what === "insert") db.query("INSERT OR REPLACE INTO t VALUES (?, ?)").run(row, text)
        else if (what === "longer") db.query("UPDATE t SET text = ? WHERE id = ?").run(text, row)
        else db.query("DELETE FROM t WHERE id = ?").run(row)
        db.query("INSERT OR IGNORE INTO u SELECT text FROM t WHERE id = ?").run(row)
        if (what === "delete") db.run("DELETE FROM u WHERE text NOT IN (SELECT text FROM t)")
      }
      const rows = () => db.query("SELECT text FROM t UNION ALL SELECT text FROM u").all()
      const before = rows()
      const roots = rootsOf(db)
      wipeUnused(path, roots)
      // What SQLite has in its cache does not count.
      const again = new Database(path)
      expect(again.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
      expect(again.query("SELECT text FROM t UNION ALL SELECT text FROM u").all()).toEqual(before)
      again.close()
      db.close()
      const held = JSON.stringify(before)
      const bytes = readFileSync(path).toString("latin1")
      for (const n of changes.keys())
        if (!held.includes(`only-${n}-only`)) expect(bytes).not.toContain(`only-${n}-only`)
      expect(wipeUnused(path, roots)).toBe(0)
    }),
    { numRuns: 40 },
  )
})

test("a page in no place is damage; then the views are made anew", () => {
  using archive = new Archive()
  const gone = archive.session("11111111-0000-4000-8000-000000000000").turn("gone").flush()
  const kept = archive.session("22222222-0000-4000-8000-000000000000").turn("kept").flush()
  const { copy } = archive.follow(gone)
  archive.follow(kept)
  archive.db.run("PRAGMA wal_checkpoint(TRUNCATE)")
  const path = databasePath(archive.dataHome)
  const [first, ...roots] = rootsOf(archive.db)
  archive.db.close()
  expect(first).toBeGreaterThan(1)
  const before = readFileSync(path)
  expect(() => wipeUnused(path, roots)).toThrow("in no place")
  expect(() => wipeUnused(path, [first!, first!, ...roots])).toThrow("in two places")

  // The list of free pages leads nowhere.
  const fd = openSync(path, "r+")
  writeSync(fd, Uint8Array.of(0, 0, 0, 3), 0, 4, 32)
  closeSync(fd)
  expect(before.length).toBe(statSync(path).size)
  rmSync(join(archive.dataHome, "vault", copy))
  const { ino } = statSync(path)
  const removed = (session: string) => (session === gone.session ? ("whole" as const) : undefined)
  expect(followRemoval(archive.dataHome, removed, { now: 1, wait: 0, most: 1 })).toMatchObject({ turns: 1 })
  expect(statSync(path).ino).not.toBe(ino)
  expect(readFileSync(path).includes("gone")).toBe(false)
})
