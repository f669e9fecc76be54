/** A number in the database's header that cannot be: it is damage, while a later version's database is left alone. */
import { Database } from "bun:sqlite"
import { expect, test } from "bun:test"
import { databasePath, SCHEMA_VERSION, schemaVersion } from "../../../src/views/database.ts"
import { open } from "../../../src/views/open.ts"
import { openCurrent } from "../../../src/views/open-current.ts"
import { damageOf, refuseNewer } from "../../../src/views/replace-database.ts"
import { Archive } from "../../support/archive.ts"

function flipped(archive: Archive, version: number, more = ""): void {
  archive.take(archive.session("one").turn("about the walrus").flush())
  archive.db.run(
    "INSERT INTO restores (session, source, mark, time, text) VALUES ('one', 's', 'm', '2026', 'kept')",
  )
  archive.db.close()
  const raw = new Database(databasePath(archive.dataHome))
  raw.run(`${more}; PRAGMA user_version = ${version}`)
  raw.close()
}

test("a bit flipped in the version: the views are rebuilt, and what only they know is kept", () => {
  for (const bit of [8, 12, 20, 30]) {
    using archive = new Archive()
    flipped(archive, SCHEMA_VERSION ^ (1 << bit))
    const db = openCurrent(archive.dataHome, "command")
    expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
    expect(db.query("SELECT prompt FROM turns").all()).toEqual([{ prompt: "about the walrus" }])
    expect(db.query("SELECT text FROM restores").all()).toEqual([{ text: "kept" }])
    db.close()
  }
})

test("a later version's database is never replaced, however high its number", () => {
  for (const [version, more] of [
    [SCHEMA_VERSION + 1, ""],
    [SCHEMA_VERSION + 100, ""],
    [SCHEMA_VERSION + 1000, "CREATE TABLE of_later (n INTEGER)"],
  ] as const) {
    using archive = new Archive()
    flipped(archive, version, more)
    expect(damageOf(archive.dataHome)).toBeUndefined()
    expect(() => refuseNewer(databasePath(archive.dataHome))).toThrow(`has schema ${version}`)
    expect(() => open(archive.dataHome, "write", 0)).toThrow(`has schema ${version}`)
    openCurrent(archive.dataHome, "command").close()
    const raw = new Database(databasePath(archive.dataHome))
    expect(schemaVersion(raw)).toBe(version)
    raw.close()
  }
})
