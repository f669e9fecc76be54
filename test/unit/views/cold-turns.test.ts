import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { CopyReaders } from "../../../src/vault/reader.ts"
import { chill, warm } from "../../../src/views/cold-turns.ts"
import { emptyDatabase } from "../../../src/views/database.ts"
import { changeJoined, withJoin } from "../../../src/views/joined-projects.ts"
import { hasCold } from "../../../src/views/queries/turns.ts"
import { dueTurns, packVectors, putVectors, vectorTotals } from "../../../src/views/vectors.ts"
import { Archive } from "../../support/archive.ts"
import { expectSameWordsAgain, turnsIn } from "../../support/cold.ts"
import { syntheticSession } from "../../support/session.ts"

test("turns that come back are found by exactly the words that they had", () => {
  using archive = new Archive()
  const one = archive.session("11111111-2222-3333-4444-555555555555")
  for (const line of syntheticSession()) one.raw(line.trimEnd())
  one.flush()
  archive.follow(one)
  expectSameWordsAgain(archive.db, archive.dataHome)
})

test("a file beside a transcript is found in the project of its folder, whatever that is joined with", () => {
  using archive = new Archive()
  const { db, root } = archive
  const one = archive.session("11111111-2222-3333-4444-555555555558", { cwd: "/old" })
  archive.follow(one.turn("Look at the otter", [], "Done.").flush())
  changeJoined(db, root, (file) => withJoin(file, { from: "/old", to: "/new", by: "hand" }))
  const path = join(one.path.replace(/\.jsonl$/, ""), "tool-results", "b1.txt")
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, "the falcon is fine\n")
  archive.follow({ path } as typeof one)
  expect(archive.count("messages WHERE role = 'tool'")).toBe(1)
  expectSameWordsAgain(db, archive.dataHome)
})

test("a prompt that waited in the queue is still found only where it was taken out", () => {
  using archive = new Archive()
  const one = archive.session("11111111-2222-3333-4444-555555555556")
  const timestamp = "2026-03-02T08:00:30.000Z"
  const queue = { type: "queue-operation", timestamp, sessionId: one.session }
  one.turn("the first").raw(JSON.stringify({ ...queue, operation: "enqueue", content: "then the gasket" }))
  one
    .raw(JSON.stringify({ ...queue, operation: "dequeue" }))
    .turn("then the gasket", [], "It fits.")
    .flush()
  archive.follow(one)
  expectSameWordsAgain(archive.db, archive.dataHome)
})

test("only the turns named are out of the index; their rows stay, and no vectors are made for them", () => {
  using archive = new Archive()
  const one = archive.session("11111111-2222-3333-4444-555555555557")
  one.turn("about the otter").turn("about the falcon").flush()
  archive.follow(one)
  const { db } = archive
  const vectors = packVectors([{ message: 1, scale: 0, data: new Int8Array(4) }], 4)
  putVectors(
    db,
    turnsIn(db).map((turn) => ({ turn, embedder: "e", dimension: 4, last: 0, vectors })),
  )
  const rows = db.query("SELECT * FROM messages").all()
  chill(db, [1])
  const found = (word: string) => db.query("SELECT rowid FROM words WHERE words MATCH ?").all(word).length
  expect([found("otter"), found("falcon")]).toEqual([0, 2])
  expect(db.query("SELECT * FROM messages").all()).toEqual(rows)
  expect(db.query("SELECT turn FROM vectors").all()).toEqual([{ turn: 2 }])
  expect(dueTurns(db, "other", 100, 10).map(({ id }) => id)).toEqual([2])
  expect(vectorTotals(db, "e")).toEqual({ turns: 1, embedded: 0 })
  // A turn that grows while it is cold has words for what is new, once.
  one.say("The otter came back.").flush()
  db.run("UPDATE transcripts SET turn = 1")
  archive.follow(one)
  expect(found("otter")).toBe(1)
  using readers = new CopyReaders()
  expect(warm(db, archive.dataHome, [1], readers)).toEqual([])
  expect(found("otter")).toBe(3)
})

test("views of an earlier version have no cold turns, and can be asked", () => {
  const db = emptyDatabase(1)
  expect(hasCold(db)).toBe(false)
  db.close()
})
