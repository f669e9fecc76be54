/** Lines of other sessions: whose they may be, in which order they come, and what of them is seen. */
import { expect, test } from "bun:test"
import { HASHED_ID } from "../../../src/find/embed/hashed-words.ts"
import { quantise, toLengthOne } from "../../../src/find/embed/quantise.ts"
import { gather } from "../../../src/restore/gather.ts"
import { renderRestore } from "../../../src/restore/render.ts"
import type { Database } from "../../../src/views/database.ts"
import { packVectors, putVectors } from "../../../src/views/vectors.ts"
import { Archive } from "../../support/archive.ts"

const HERE = "Is the roof of the otter holt done?"

function archived(archive: Archive, sessions: Readonly<Record<string, string>>): void {
  for (const [id, prompt] of Object.entries(sessions)) {
    archive.follow(archive.session(id).turn(prompt, [], `Answer of ${id}`).flush())
  }
}

const answers = (db: Database, session = "here"): string[] =>
  gather(db, session, { related: 3 }).related.map(({ answer }) => answer)

/** A vector of the turn that the session begins with, in a plane: 0° and 90° have nothing in common. */
function putVector(db: Database, session: string, embedder: string, degrees: number): void {
  const { id, last } = db
    .query<{ id: number; last: number }, [string]>("SELECT id, last FROM turns WHERE session = ? AND seq = 1")
    .get(session)!
  const values = new Float32Array(384)
  values[0] = Math.cos((degrees * Math.PI) / 180)
  values[1] = Math.sin((degrees * Math.PI) / 180)
  const vectors = packVectors([{ message: id, ...quantise(toLengthOne(values)) }], 384)
  putVectors(db, [{ turn: id, embedder, dimension: 384, last, vectors }])
}

test("a model's vectors choose among turns related by their words", () => {
  using archive = new Archive()
  const { db } = archive
  archived(archive, { here: HERE, first: "The otter holt has a roof", second: "The roof of the otter holt" })
  const byWords = ["Answer of second", "Answer of first"]
  expect(answers(db)).toEqual(byWords)
  // What hashed words find alike says nothing new.
  for (const [session, degrees] of [
    ["here", 0],
    ["first", 10],
    ["second", 80],
  ] as const)
    putVector(db, session, HASHED_ID, degrees)
  expect(answers(db)).toEqual(byWords)
  putVector(db, "here", "model-a", 0)
  expect(answers(db)).toEqual(byWords)
  // Of another model: not compared.
  putVector(db, "first", "model-b", 10)
  expect(answers(db)).toEqual(byWords)
  putVector(db, "first", "model-a", 10)
  putVector(db, "second", "model-a", 80)
  expect(answers(db)).toEqual(["Answer of first", "Answer of second"])
})

test.each([
  ["half a vector", "dimension = 384, vectors = substr(vectors, 1, 100)"],
  ["a dimension below zero", "dimension = -8"],
  ["none, of an endless dimension", "dimension = 9007199254740991, vectors = x''"],
])("a damaged vector is not compared: %s", (_name, damage) => {
  using archive = new Archive()
  const { db } = archive
  archived(archive, { here: HERE, first: "The otter holt has a roof", second: "The roof of the otter holt" })
  putVector(db, "here", "model-a", 0)
  putVector(db, "first", "model-a", 10)
  putVector(db, "second", "model-a", 80)
  expect(answers(db)).toEqual(["Answer of first", "Answer of second"])
  db.run(`UPDATE vectors SET ${damage} WHERE turn IN (SELECT id FROM turns WHERE session = 'here')`)
  expect(answers(db)).toEqual(["Answer of second", "Answer of first"])
})

test("similarity alone does not make a turn related", () => {
  using archive = new Archive()
  archived(archive, { here: HERE, other: "Paint the fence" })
  putVector(archive.db, "here", "model-a", 0)
  putVector(archive.db, "other", "model-a", 0)
  expect(answers(archive.db)).toEqual([])
})

test("nothing from a session joined by a fork, nor from the one before /clear", () => {
  using archive = new Archive()
  const { db } = archive
  const text = "The otter holt has a roof"
  archived(archive, { here: HERE, parent: text, sibling: text, cleared: text, before: text, other: text })
  const join = db.query("INSERT INTO lineage (child, parent, kind) VALUES (?, ?, ?)")
  join.run("here", "parent", "fork")
  join.run("sibling", "parent", "fork")
  join.run("here", "cleared", "clear")
  // Not given when this session began: that was the restore of the one after it.
  join.run("cleared", "before", "clear")
  expect(answers(db).sort()).toEqual(["Answer of before", "Answer of other"])
})

test("a long prompt is shown from where the words are", () => {
  using archive = new Archive()
  const { db } = archive
  archived(archive, { here: HERE, other: `${"Well, ".repeat(60)}the otter holt has a roof` })
  const [line] = gather(db, "here", { related: 3 }).related
  expect(line!.prompt).toBe("… Well, Well, Well, the otter holt has a roof")
  expect(line!.words).toEqual(["otter", "roof", "holt"])
})

test("as many as wanted, within their room, and none with 0", () => {
  using archive = new Archive()
  const { db } = archive
  const other = (n: number) => [`s${n}`, `The otter holt has a roof, number ${n}`] as const
  archived(archive, { here: HERE, ...Object.fromEntries([1, 2, 3, 4].map(other)) })
  const lines = (related: number, budget = 9500): number =>
    renderRestore(gather(db, "here", { related }), { source: "compact", budget, summary: "", related })
      .split("\n")
      .filter((line) => line.includes("Answer of s")).length
  expect([0, 1, 2, 3].map((related) => lines(related))).toEqual([0, 1, 2, 3])
  expect(lines(3, 450)).toBe(1)
})

test("an unreadable index loses these lines and nothing else", () => {
  using archive = new Archive()
  const { db } = archive
  archived(archive, { here: HERE, other: "The otter holt has a roof" })
  expect(answers(db)).toHaveLength(1)
  db.run("DROP TABLE words")
  expect(() => db.query("SELECT rowid FROM words WHERE words MATCH 'otter'").all()).toThrow()
  const { related, turns } = gather(db, "here", { related: 3 })
  expect(related).toEqual([])
  expect(turns).toHaveLength(1)
})
