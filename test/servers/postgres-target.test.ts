/** Entries and frames in real PostgreSQL servers: PGlite with and without pgvector, and those that are installed. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { Topics } from "../../bench/seeded-vectors.ts"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import type { Entry } from "../../src/sync/targets/entry.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { SET_UP } from "../../src/sync/targets/postgres-migrations.ts"
import { PARTITIONING } from "../../src/sync/targets/postgres-partitions.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { closing } from "../support/closing.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPglite,
  startPostgres,
  type TestServer,
} from "../support/postgres.ts"
import { draft, padded, targetContract } from "../unit/sync/contract.ts"

setDefaultTimeout(60_000)

const open = (address: string, writer = "") =>
  openPostgresTarget(serverAddress(address, NO_VARIABLES), undefined, false, writer)
const EMPTY = "DROP SCHEMA IF EXISTS ctxbridge CASCADE"
const EMPTY_BY_MONTH = `${EMPTY};${SET_UP};${PARTITIONING}`

/** One server for all tests of a kind; each test finds it empty. */
function kind(
  name: string,
  start: () => Promise<TestServer>,
  more?: (get: () => TestServer) => void,
  emptying = EMPTY,
) {
  describe(name, () => {
    let server: TestServer
    beforeAll(async () => {
      server = await start()
    })
    afterAll(async () => {
      await server[Symbol.asyncDispose]()
    })
    const target = async () => {
      await server.run(emptying)
      return {
        open: (writer: string) => open(server.address, writer),
        read: () => openPostgresTarget(serverAddress(server.address, NO_VARIABLES), undefined, true),
        [Symbol.asyncDispose]: async () => {},
      }
    }
    targetContract(name, target, { frames: true, isMade: emptying !== EMPTY })
    more?.(() => server)
  })
}

kind(
  "PGlite with pgvector",
  () => startPglite({ vectors: true }),
  (get) => {
    test("vectors are a column of pgvector with an index", async () => {
      await get().run(EMPTY)
      const backend = await open(get().address)
      await backend.put([draft({ vector: [1, 0] })])
      // Fails unless both are there.
      await get().run(`DO $$ BEGIN
      ASSERT EXISTS (SELECT FROM pg_indexes WHERE indexname = 'entries_halfvec' AND indexdef LIKE '%hnsw%');
      ASSERT (SELECT vector_dims(embedding) FROM ctxbridge.entries) = 384;
    END $$`)
      await backend.close()
    })

    test("among many rows the index finds the nearest, of this embedder and in this project", async () => {
      await get().run(EMPTY)
      await using backend = await closing(open(get().address))
      await get().run(`INSERT INTO ctxbridge.entries (key, id, session, project, messages, taken_back, summary, content,
          metadata, words, about)
        SELECT n::text, n::text, 's', '/src/b', 1, false, '', '', '{}', '', '{}' FROM generate_series(1, 10100) n`)
      const near = draft({ vector: [1, 0] })
      const far = draft({ vector: [0.6, 0.8], project: "/src/b" })
      await backend.put([far, near, draft({ vector: [1, 0], embedder: "other", project: "/src/b" })])
      const vector = { embedder: "minilm", values: padded([1, 0]) }
      const ids = async (more = {}) => (await backend.find({ vector, limit: 5, ...more })).map(({ id }) => id)
      expect(await ids()).toEqual([near.id, far.id])
      expect(await ids({ project: "/src/b" })).toEqual([far.id])
      expect(await ids({ project: "/src/app" })).toEqual([near.id])
      await get().run("SELECT pg_stat_force_next_flush()")
      await get().run(`DO $$ BEGIN
        ASSERT (SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'entries_halfvec') > 0;
      END $$`)
    })

    test("a vector of another length is left out, and its entry is kept", async () => {
      await get().run(EMPTY)
      const backend = await open(get().address)
      const whole = draft({ vector: [1] })
      const odd = { ...whole, vector: { embedder: "own", values: [1, 0] } }
      expect(await backend.put([odd])).toMatchObject({ stored: 1 })
      expect((await backend.get(odd.id))?.vector).toBeUndefined()
      expect(await backend.find({ vector: odd.vector, limit: 3 })).toEqual([])
      await backend.close()
    })

    test("tables of a newer version are left alone", async () => {
      await get().run(EMPTY)
      await (await open(get().address)).close()
      await get().run("UPDATE ctxbridge.target SET version = 99")
      await expect(open(get().address)).rejects.toMatchObject({
        code: "target-newer",
        message: expect.stringContaining("has tables of version 99, and this program needs version 5"),
        hint: "update it here: ctxbridge update",
      })
    })

    test("whoever only reads is told of tables of an older version, and how they are brought up to date", async () => {
      await get().run(EMPTY)
      await (await open(get().address)).close()
      await get().run("UPDATE ctxbridge.target SET version = 4")
      const reading = openPostgresTarget(serverAddress(get().address, NO_VARIABLES), undefined, true)
      await expect(reading).rejects.toMatchObject({
        code: "target-older",
        message: expect.stringContaining("has tables of version 4, and this program needs version 5"),
        hint: "ctxbridge sync brings them up to date",
      })
    })

    test("a target that was removed and made anew has another id", async () => {
      await get().run(EMPTY)
      const first = await open(get().address)
      await first.close()
      await get().run(EMPTY)
      const second = await open(get().address)
      await second.close()
      expect(second.id).not.toBe(first.id)
    })
  },
)

/** The extension ruvector has pgvector's statements under names of its own. Here pgvector plays it, with its type renamed. */
const RENAMED = `CREATE EXTENSION vector;
  ALTER FUNCTION vector_dims(vector) RENAME TO ruvector_dims;
  ALTER TYPE vector RENAME TO ruvector;
  ALTER OPERATOR CLASS vector_cosine_ops USING hnsw RENAME TO ruvector_cosine_ops`
const TYPE = `(SELECT format_type(atttypid, NULL) FROM pg_attribute
  WHERE attrelid = 'ctxbridge.entries'::regclass AND attname = 'embedding')`

kind(
  "PGlite with a type named ruvector",
  async () => {
    const server = await startPglite({ vectors: true })
    await server.run(RENAMED)
    return { ...server, address: `${server.address}?vectors=ruvector` }
  },
  (get) => {
    test("who asks for it has vectors of that type, and no index of it is used", async () => {
      await get().run(EMPTY)
      await using backend = await closing(open(get().address))
      await backend.put([draft({ vector: [1, 0] })])
      await get().run(`DO $$ BEGIN
        ASSERT ${TYPE} = 'ruvector';
        ASSERT NOT EXISTS (SELECT FROM pg_indexes WHERE schemaname = 'ctxbridge' AND indexdef LIKE '%hnsw%');
      END $$`)
      // And who does not ask, but comes to tables that have it.
      await using other = await closing(open(get().address.replace(/\?.*/, "")))
      const found = await other.find({ vector: { embedder: "minilm", values: padded([1]) }, limit: 3 })
      expect(found).toHaveLength(1)
    })

    test("who does not ask for it gets none of it", async () => {
      await get().run(EMPTY)
      await using _ = await closing(open(get().address.replace(/\?.*/, "")))
      await get().run(`DO $$ BEGIN ASSERT ${TYPE} = 'real[]'; END $$`)
    })

    test("a type of that name that belongs to no extension is not used", async () => {
      await get().run(`${EMPTY}; DROP EXTENSION vector CASCADE; CREATE TYPE ruvector AS ENUM ('mine')`)
      await expect(open(get().address)).rejects.toMatchObject({
        code: "target-failed",
        message: expect.stringContaining("the extension ruvector is not there"),
      })
      // Nothing is left of the attempt.
      await get().run(`DO $$ BEGIN ASSERT to_regnamespace('ctxbridge') IS NULL; END $$`)
    })
  },
)

kind("PGlite without pgvector", () => startPglite({ vectors: false }))

for (const [version, programs] of postgresVersions()) {
  kind(`PostgreSQL ${version}, by month`, () => startPostgres(programs), undefined, EMPTY_BY_MONTH)
  kind(
    `PostgreSQL ${version}`,
    () => startPostgres(programs),
    (get) => {
      test("ten machines that begin at once make the tables once, and lose nothing", async () => {
        await get().run(EMPTY)
        const machines = await Promise.all(Array.from({ length: 10 }, () => open(get().address)))
        expect(new Set(machines.map(({ id }) => id)).size).toBe(1)
        const shared = draft({ vector: padded([1]) })
        const put = await Promise.all(
          machines.map(async (one, n) => {
            const reports = []
            for (let turn = 1; turn <= 30; turn++)
              reports.push(await one.put([draft({ sessionId: `machine-${n}`, chunkIndex: turn }), shared]))
            return reports
          }),
        )
        expect(put.flat().reduce((sum, { stored }) => sum + stored, 0)).toBe(301)
        expect(await machines[0]!.stats()).toEqual({ entries: 301, sessions: 11, forgotten: 0, damaged: 0 })
        await Promise.all(machines.map((one) => one.close()))
      })

      test("among very many with the words, those with all of them in the summary are found", async () => {
        await get().run(EMPTY)
        await using backend = await closing(open(get().address))
        const filler = Array.from({ length: 2400 }, (_, n) =>
          draft({ summary: "other", content: `swordfish tuna ${"and so on ".repeat(n % 7)}` }),
        )
        const short = draft({ summary: "other", content: "swordfish tuna" })
        const best = draft({
          summary: "swordfish and tuna",
          content: `swordfish tuna ${"long words follow".repeat(9)}`,
        })
        await backend.put([...filler, short, best])
        const found = await backend.find({ words: "swordfish tuna", limit: 1 })
        expect(found).toMatchObject([{ id: best.id }])
        const more = await backend.find({ words: "swordfish tuna", limit: 300 })
        expect(more[0]).toMatchObject({ id: best.id })
        expect(more).toHaveLength(300)
        const scores = more.map(({ score }) => score)
        expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      })

      test("the nearest are found, also where arrays are compared by their signs first", async () => {
        await get().run(EMPTY)
        await using backend = await closing(open(get().address))
        const dice = new Dice(3)
        const topics = new Topics(1)
        const entries = Array.from({ length: 3000 }, () => draft({ vector: [...topics.near(dice)] }))
        for (let at = 0; at < entries.length; at += 500) await backend.put(entries.slice(at, at + 500))
        let hits = 0
        for (let n = 0; n < 10; n++) {
          const sought = [...topics.near(dice)]
          const likeness = (entry: Entry): number =>
            entry.vector!.values.reduce((sum, value, at) => sum + value * sought[at]!, 0)
          const nearest = new Set(
            entries
              .map((entry) => ({ id: entry.id, likeness: likeness(entry) }))
              .sort((a, b) => b.likeness - a.likeness)
              .slice(0, 5)
              .map(({ id }) => id),
          )
          const found = await backend.find({ vector: { embedder: "minilm", values: sought }, limit: 5 })
          hits += found.filter(({ id }) => nearest.has(id)).length
        }
        expect(hits).toBeGreaterThanOrEqual(45)
      })

      test("what is forgotten while others put it does not come back", async () => {
        await get().run(EMPTY)
        const [one, other] = [await open(get().address), await open(get().address)]
        const entries = Array.from({ length: 40 }, () => draft({ sessionId: "gone" }))
        await Promise.all([
          (async () => {
            for (const entry of entries) await one.put([entry])
          })(),
          other.forget({ sessions: ["gone"] }),
        ])
        expect(await other.stats()).toMatchObject({ entries: 0 })
        await Promise.all([one.close(), other.close()])
      })
    },
  )
}
