/** Another tool's database is checked before anything is taken of it. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { openUntouched } from "../../../src/job/import/untouched-sqlite.ts"
import { tempFolder } from "../../support/temp.ts"

test("a page that is damaged is told once, with what to do about it", () => {
  using folder = tempFolder()
  const file = join(folder.path, "memory.db")
  const db = new Database(file)
  db.run("CREATE TABLE entries (text TEXT)")
  const fill = db.prepare("INSERT INTO entries VALUES (?)")
  db.transaction(() => {
    for (let n = 0; n < 200; n++) fill.run("x".repeat(500))
  })()
  fill.finalize()
  db.close()
  const bytes = readFileSync(file)
  bytes.fill(0xff, bytes.length - 4096)
  writeFileSync(file, bytes)
  let error: unknown
  try {
    openUntouched(file, folder.path).close()
  } catch (cause) {
    error = cause
  }
  expect(error).toMatchObject({
    code: "foreign-damaged",
    message: expect.stringMatching(/^the database is damaged: (?!the database)/),
    hint: "nothing of it was taken; the sqlite3 program's .recover may save the rest",
  })
})
