/** The scan: exact products, the right neighbours, and only what the filter lets through. */
import { describe, expect, test } from "bun:test"
import { Dice } from "../../../src/cli/bench/seeded-random.ts"
import { dot } from "../../../src/cli/commands/model.ts"
import { quantise, toLengthOne } from "../../../src/find/embed/quantise.ts"
import { BLOCK, createKernel, semanticSearch } from "../../../src/find/embed/semantic-search.ts"
import type { Database } from "../../../src/views/database.ts"
import {
  dropOtherVectors,
  dueTurns,
  packVectors,
  putVectors,
  vectorTotals,
} from "../../../src/views/vectors.ts"
import { Archive } from "../../support/archive.ts"

const WIDTH = 384

function randomVector(dice: Dice): Float32Array {
  // Three dice: nearer to a bell than one.
  const values = Float32Array.from({ length: WIDTH }, () => dice.unit() + dice.unit() + dice.unit() - 1.5)
  return toLengthOne(values)
}

/** Near `center`, as sentences on one subject are. */
function near(center: Float32Array, dice: Dice, distance: number): Float32Array {
  const noise = randomVector(dice)
  return toLengthOne(center.map((value, n) => value + noise[n]! * distance))
}

/** One turn with one message for each vector, without a transcript behind it. */
function fill(db: Database, vectors: readonly Float32Array[], embedder = "test", project = "/src/a"): void {
  db.transaction(() => {
    db.query("INSERT OR IGNORE INTO projects (path) VALUES (?)").run(project)
    const session = `${project}-session`
    db.query(
      "INSERT OR IGNORE INTO sessions (id, project) VALUES (?, (SELECT id FROM projects WHERE path = ?))",
    ).run(session, project)
    const turn = db.query<{ id: number }, [string, string]>(
      `INSERT INTO turns (handle, session, seq, via, prompt, transcript, first, last)
       VALUES (?1, ?2, (SELECT coalesce(max(seq), 0) + 1 FROM turns WHERE session = ?2), 'typed', '', 1, 0, 1) RETURNING id`,
    )
    const rows = vectors.map((vector, n) => {
      const { id } = turn.get(`${project}${n}`, session)!
      const packed = packVectors([{ message: id, ...quantise(vector) }], WIDTH)
      return { turn: id, embedder, dimension: WIDTH, last: 1, vectors: packed }
    })
    putVectors(db, rows)
  })()
}

describe("the kernel", () => {
  test("computes the same products as JavaScript", () => {
    const dice = new Dice(1)
    for (const width of [16, 48, 384, 768]) {
      const query = Int16Array.from({ length: width }, () => Math.floor(dice.unit() * 65_535) - 32_767)
      const kernel = createKernel({ data: query, scale: 1 })
      const rows = Array.from({ length: 37 }, (_, n) => ({
        message: 4_000_000_000 + n,
        // A power of two, so that no digit is lost.
        scale: 2 ** -20,
        data: Int8Array.from({ length: width }, () => Math.floor(dice.unit() * 255) - 127),
      }))
      kernel.rows.set(packVectors(rows, width))
      const scores = kernel.scores(rows.length)
      for (const [n, { message, data }] of rows.entries()) {
        const product = query.reduce((sum, value, at) => sum + value * data[at]!, 0)
        expect(scores[n]).toBe(Math.fround(product * 2 ** -20))
        expect(kernel.message(n)).toBe(message)
      }
    }
  })

  test("the largest numbers do not overflow", () => {
    const kernel = createKernel({ data: new Int16Array(WIDTH).fill(32_767), scale: 1 })
    const data = new Int8Array(WIDTH).fill(127)
    kernel.rows.set(
      packVectors(
        Array.from({ length: BLOCK }, () => ({ message: 1, scale: 1, data })),
        WIDTH,
      ),
    )
    const scores = kernel.scores(BLOCK)
    expect(scores[0]).toBe(Math.fround(32_767 * 127 * WIDTH))
    expect(scores.at(-1)).toBe(Math.fround(32_767 * 127 * WIDTH))
    expect(kernel.scores(0)).toHaveLength(0)
  })
})

describe("semanticSearch", () => {
  test("finds at least 98 % of the ten nearest that an exact search finds", () => {
    using archive = new Archive()
    const dice = new Dice(2)
    const centers = Array.from({ length: 60 }, () => randomVector(dice))
    // More than a block, so that the scan goes round.
    const vectors = Array.from({ length: BLOCK + 300 }, (_, n) => near(centers[n % 60]!, dice, 1.1))
    fill(archive.db, vectors)
    let found = 0
    const queries = Array.from({ length: 20 }, (_, n) => near(centers[n]!, dice, 1.1))
    for (const values of queries) {
      const exact = vectors
        .map((vector, n) => ({ turn: n + 1, score: dot(values, vector) }))
        .sort((a, b) => b.score - a.score)
        .slice(0, 10)
      const hits = semanticSearch(archive.db, { embedder: "test", values }, { limit: 10 })
      expect(hits).toHaveLength(10)
      const turns = new Set(exact.map(({ turn }) => turn))
      found += hits.filter(({ turn }) => turns.has(turn)).length
      expect(Math.abs(hits[0]!.score - exact[0]!.score)).toBeLessThan(0.01)
      expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).sort((a, b) => b - a))
    }
    expect(found / 200).toBeGreaterThanOrEqual(0.98)
  })

  test("only the requested project or session is searched", () => {
    using archive = new Archive()
    const dice = new Dice(3)
    const center = randomVector(dice)
    const some = (distance: number) => Array.from({ length: 50 }, () => near(center, dice, distance))
    fill(archive.db, some(0.1), "test", "/src/near")
    fill(archive.db, some(2), "test", "/src/far")
    const search = (filter: object) =>
      semanticSearch(archive.db, { embedder: "test", values: center }, { limit: 10, ...filter })
    const sessionOf = (turn: number) =>
      archive.db.query<{ session: string }, [number]>("SELECT session FROM turns WHERE id = ?").get(turn)!
        .session
    const sessions = (filter: object) => new Set(search(filter).map(({ turn }) => sessionOf(turn)))
    expect(sessions({})).toEqual(new Set(["/src/near-session"]))
    // All ten, though the fifty nearest are elsewhere.
    expect(search({ project: "/src/far" })).toHaveLength(10)
    expect(sessions({ project: "/src/far" })).toEqual(new Set(["/src/far-session"]))
    expect(sessions({ session: "/src/far-session" })).toEqual(new Set(["/src/far-session"]))
    expect(search({ project: "/src/none" })).toEqual([])
    expect(search({ project: "/src/near", session: "/src/far-session" })).toEqual([])
    expect(search({ limit: 0 })).toEqual([])
  })

  test("vectors of another embedder or dimension are never compared", () => {
    using archive = new Archive()
    const vector = randomVector(new Dice(4))
    fill(archive.db, [vector], "one")
    fill(archive.db, [vector], "two", "/src/b")
    const search = (embedder: string, values = vector) =>
      semanticSearch(archive.db, { embedder, values }, { limit: 10 }).map(({ turn }) => turn)
    expect(search("one")).toEqual([1])
    expect(search("two")).toEqual([2])
    expect(search("three")).toEqual([])
    expect(search("one", vector.slice(0, 128))).toEqual([])
    expect(search("one", new Float32Array(WIDTH))).toEqual([])
  })

  test("a message with several pieces is one hit, by its nearest piece", () => {
    using archive = new Archive()
    const dice = new Dice(5)
    const [a, b] = [randomVector(dice), randomVector(dice)]
    fill(archive.db, [a])
    const pieces = [b, a].map((vector) => ({ message: 7, ...quantise(vector) }))
    putVectors(archive.db, [
      { turn: 1, embedder: "test", dimension: WIDTH, last: 1, vectors: packVectors(pieces, WIDTH) },
    ])
    const hits = semanticSearch(archive.db, { embedder: "test", values: a }, { limit: 10 })
    expect(hits).toHaveLength(1)
    expect(hits[0]).toMatchObject({ message: 7, turn: 1 })
    expect(hits[0]!.score).toBeGreaterThan(0.99)
  })
})

describe("rows", () => {
  test("a turn is due without vectors, after growing, and for another embedder", () => {
    using archive = new Archive()
    fill(archive.db, [randomVector(new Dice(6)), randomVector(new Dice(7))])
    const due = (embedder: string, below = 1000) =>
      dueTurns(archive.db, embedder, below, 10).map(({ id }) => id)
    expect(due("test")).toEqual([])
    expect(due("other")).toEqual([2, 1])
    expect(due("other", 2)).toEqual([1])
    expect(vectorTotals(archive.db, "test")).toEqual({ turns: 2, embedded: 2 })
    archive.db.run("UPDATE turns SET last = 9 WHERE id = 1")
    expect(due("test")).toEqual([1])
    expect(vectorTotals(archive.db, "test")).toEqual({ turns: 2, embedded: 1 })
    dropOtherVectors(archive.db, "test")
    expect(archive.count("vectors")).toBe(2)
    dropOtherVectors(archive.db, "other")
    expect(archive.count("vectors")).toBe(0)
  })

  test("deleting a turn or one of its messages deletes its vectors", () => {
    using archive = new Archive()
    fill(archive.db, [randomVector(new Dice(8)), randomVector(new Dice(9))])
    archive.db.run(
      "INSERT INTO messages (key, session, turn, transcript, offset, length, role) VALUES (1, 's', 1, 1, 0, 1, 'human')",
    )
    archive.db.run("DELETE FROM messages WHERE turn = 1")
    expect(archive.db.query("SELECT turn FROM vectors").all()).toEqual([{ turn: 2 }])
    archive.db.run("DELETE FROM turns WHERE id = 2")
    expect(archive.count("vectors")).toBe(0)
  })

  test("vectors for a turn that no longer exists are left out", () => {
    using archive = new Archive()
    const row = { turn: 5, embedder: "test", dimension: WIDTH, last: 1, vectors: new Uint8Array(0) }
    putVectors(archive.db, [row])
    expect(archive.count("vectors")).toBe(0)
  })
})
