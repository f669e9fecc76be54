/** The views opened at once: only where nothing is to be done before they are read. */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { openAtOnce } from "../../../src/archive/open-at-once.ts"
import { openForReading } from "../../../src/archive/open-for-reading.ts"
import { markPending } from "../../../src/archive/pending.ts"
import { Archive } from "../../support/archive.ts"

/** Whether it opens. */
function opens(dataHome: string): boolean {
  const db = openAtOnce(dataHome)
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

test("views that have seen the whole vault are opened, and read", () => {
  using archive = filled()
  // Nobody has looked yet whether they have.
  expect(opens(archive.dataHome)).toBe(false)
  openForReading(archive.dataHome).close()
  const db = openAtOnce(archive.dataHome)!
  expect(db.query("SELECT prompt FROM turns").get()).toEqual({ prompt: "Where is the walrus?" })
  db.close()
})

test("not where something waits for them", () => {
  using archive = filled()
  openForReading(archive.dataHome).close()
  markPending(archive.dataHome, { path: "/t.jsonl", copy: "home/t.jsonl.zst", session: "t" })
  expect(opens(archive.dataHome)).toBe(false)
  openForReading(archive.dataHome).close()
  expect(opens(archive.dataHome)).toBe(true)
})

test.each([
  "PRAGMA user_version = 99",
  "PRAGMA application_id = 7",
  "UPDATE parser SET version = version - 1",
])("not after %s", (change) => {
  using archive = filled()
  openForReading(archive.dataHome).close()
  expect(opens(archive.dataHome)).toBe(true)
  archive.db.run(change)
  expect(opens(archive.dataHome)).toBe(false)
})

test("where there is nothing, nothing is made", () => {
  using archive = new Archive()
  const none = join(archive.root, "none")
  expect(opens(none)).toBe(false)
  expect(existsSync(none)).toBe(false)
})
