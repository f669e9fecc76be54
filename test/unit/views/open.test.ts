/** The archive's database as it is: what is opened for whom, what is made, and what is waited for. */
import { Database } from "bun:sqlite"
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { withLockFile } from "../../../src/base/lock.ts"
import { databasePath, SCHEMA_VERSION, schemaVersion } from "../../../src/views/database.ts"
import { gatePath, open, openReady } from "../../../src/views/open.ts"
import { openCurrent } from "../../../src/views/open-current.ts"
import { markPending } from "../../../src/views/pending.ts"
import { alone } from "../../../src/views/replace-database.ts"
import { Archive } from "../../support/archive.ts"
import { tempFolder } from "../../support/temp.ts"

const READERS = ["read-only-hook", "check", "look"] as const
const WRITERS = ["hook", "write"] as const

describe("where there is nothing", () => {
  test.each(WRITERS)("%s makes the database", (purpose) => {
    using folder = tempFolder()
    using db = open(folder.path, purpose)
    expect(schemaVersion(db)).toBe(SCHEMA_VERSION)
  })

  test("erase makes a file without tables", () => {
    using folder = tempFolder()
    using db = open(folder.path, "erase")
    expect(schemaVersion(db)).toBe(0)
    expect(db.query("SELECT count(*) AS n FROM sqlite_schema").get()).toEqual({ n: 0 })
  })

  test.each(READERS)("%s makes nothing", (purpose) => {
    using folder = tempFolder()
    expect(() => open(folder.path, purpose)).toThrow("unable to open database file")
    expect(readdirSync(folder.path)).toEqual([])
  })

  test("a search makes nothing, not even the folder", () => {
    using folder = tempFolder()
    const none = join(folder.path, "none")
    expect(openReady(none)).toBeUndefined()
    expect(existsSync(none)).toBe(false)
  })
})

describe("a database of an earlier version", () => {
  function ofVersion(version: number, dataHome: string): void {
    open(dataHome, "write").close()
    const raw = new Database(databasePath(dataHome))
    raw.run(`PRAGMA user_version = ${version}; DROP TABLE parser`)
    raw.close()
  }

  test.each([...READERS, "erase"] as const)("%s leaves it as it is", (purpose) => {
    using folder = tempFolder()
    ofVersion(SCHEMA_VERSION - 1, folder.path)
    using db = open(folder.path, purpose)
    expect(schemaVersion(db)).toBe(SCHEMA_VERSION - 1)
  })

  test.each(READERS)("%s writes nothing", (purpose) => {
    using folder = tempFolder()
    open(folder.path, "write").close()
    using db = open(folder.path, purpose)
    expect(() => db.run("DELETE FROM turns")).toThrow("attempt to write a readonly database")
  })

  test.each([...WRITERS, "erase"] as const)("%s refuses that of a later one", (purpose) => {
    using folder = tempFolder()
    ofVersion(SCHEMA_VERSION + 1, folder.path)
    expect(() => open(folder.path, purpose)).toThrow(`has schema ${SCHEMA_VERSION + 1}`)
  })
})

describe("while somebody waits to replace it", () => {
  const shut = (dataHome: string, work: () => void): void =>
    withLockFile(gatePath(dataHome), 0, work, () => expect.unreachable())

  test.each([...READERS, ...WRITERS, "erase"] as const)("%s is told so, after its time", (purpose) => {
    using folder = tempFolder()
    open(folder.path, "write").close()
    shut(folder.path, () => {
      const start = performance.now()
      expect(() => open(folder.path, purpose, 40)).toThrow("the views are being replaced")
      expect(performance.now() - start).toBeGreaterThanOrEqual(39)
    })
  })

  test("a search does not wait", () => {
    using archive = filled()
    openCurrent(archive.dataHome, "command").close()
    shut(archive.dataHome, () => {
      const start = performance.now()
      expect(opens(archive.dataHome)).toBe(false)
      expect(performance.now() - start).toBeLessThan(1000)
    })
    expect(opens(archive.dataHome)).toBe(true)
  })
})

test("a database that was deleted keeps nobody from replacing the one made since", () => {
  using folder = tempFolder()
  const old = open(folder.path, "write", 0)
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  rmSync(databasePath(folder.path))
  const anew = open(folder.path, "write", 0)
  expect(() => alone(folder.path, 0, () => {})).toThrow("has the archive open")
  anew.close()
  expect(alone(folder.path, 0, () => "replaced")).toBe("replaced")
  old.close()
})

/** Whether a search opens it. */
function opens(dataHome: string): boolean {
  const db = openReady(dataHome)
  db?.close()
  return db !== undefined
}

function filled(): Archive {
  const archive = new Archive()
  const transcript = archive.session("11111111-0000-4000-8000-000000000010")
  transcript.turn("Where is the walrus?", [], "In the cellar.").flush()
  archive.follow(transcript)
  return archive
}

describe("a search", () => {
  test("opens views that have seen the whole vault", () => {
    using archive = filled()
    // Nobody has looked yet whether they have.
    expect(opens(archive.dataHome)).toBe(false)
    openCurrent(archive.dataHome, "command").close()
    using db = openReady(archive.dataHome)!
    expect(db.query("SELECT prompt FROM turns").get()).toEqual({ prompt: "Where is the walrus?" })
  })

  test("not where something waits for them", () => {
    using archive = filled()
    openCurrent(archive.dataHome, "command").close()
    markPending(archive.dataHome, { path: "/t.jsonl", copy: "home/t.jsonl.zst", session: "t" })
    expect(opens(archive.dataHome)).toBe(false)
    openCurrent(archive.dataHome, "command").close()
    expect(opens(archive.dataHome)).toBe(true)
  })

  test.each([
    "PRAGMA user_version = 99",
    "PRAGMA application_id = 7",
    "UPDATE parser SET version = version - 1",
  ])("not after %s", (change) => {
    using archive = filled()
    openCurrent(archive.dataHome, "command").close()
    expect(opens(archive.dataHome)).toBe(true)
    archive.db.run(change)
    expect(opens(archive.dataHome)).toBe(false)
  })

  test("not a file that is no database, and nothing keeps others from replacing it", () => {
    using archive = filled()
    archive.db.close()
    const path = databasePath(archive.dataHome)
    for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true })
    writeFileSync(path, "x".repeat(8192))
    expect(opens(archive.dataHome)).toBe(false)
    expect(alone(archive.dataHome, 0, () => "replaced")).toBe("replaced")
  })
})

describe("what is looked for elsewhere, too", () => {
  test("needs no archive here", () => {
    using folder = tempFolder()
    expect(openCurrent(folder.path, "elsewhere")).toBeUndefined()
    expect(() => openCurrent(folder.path, "command")).toThrow("nothing is archived in")
    expect(readdirSync(folder.path)).toEqual([])
  })

  test("reads that which is here", () => {
    using archive = filled()
    using db = openCurrent(archive.dataHome, "elsewhere")
    expect(db!.query("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 1 })
  })
})
