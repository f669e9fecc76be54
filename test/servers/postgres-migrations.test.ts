/** A database that an earlier version made is brought up to date by whoever comes first, and nothing in it is lost. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import type { Entry } from "../../src/sync/targets/entry.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPglite,
  startPostgres,
  type TestServer,
} from "../support/postgres.ts"
import { draft, padded } from "../unit/sync/contract.ts"

setDefaultTimeout(60_000)

/** What version 1 made, as it was released. */
const versionOne = (embedding: string): string => `
  DROP SCHEMA IF EXISTS ctxbridge CASCADE;
  CREATE SCHEMA ctxbridge;
  CREATE TABLE ctxbridge.target (id text NOT NULL, version integer NOT NULL);
  INSERT INTO ctxbridge.target VALUES ('the-first-target', 1);
  CREATE TABLE ctxbridge.entries (
    key text COLLATE "C" PRIMARY KEY, id text COLLATE "C" NOT NULL UNIQUE, session text COLLATE "C" NOT NULL,
    project text, started text COLLATE "C", messages integer NOT NULL, taken_back boolean NOT NULL,
    summary text NOT NULL, content text NOT NULL, metadata jsonb NOT NULL, words tsvector NOT NULL,
    about text[] NOT NULL, embedder text, embedding ${embedding}, stored timestamptz NOT NULL DEFAULT now());
  CREATE INDEX entries_words ON ctxbridge.entries USING gin (words);
  CREATE INDEX entries_session ON ctxbridge.entries (session, started);
  CREATE TABLE ctxbridge.forgotten (kind text NOT NULL CHECK (kind IN ('id', 'session')),
    name text COLLATE "C" NOT NULL, PRIMARY KEY (kind, name));
  INSERT INTO ctxbridge.forgotten VALUES ('session', 'gone')`

const kept = draft({ content: "about the swordfish", vector: [1, 0] })

/** A statement of version 1. */
const put = ({ key, id, summary, content, metadata }: Entry, vector: string, onConflict = ""): string => `
  INSERT INTO ctxbridge.entries (key, id, session, project, started, messages, taken_back, summary, content, metadata,
    words, about, embedder, embedding)
  VALUES ('${key}', '${id}', '${metadata.sessionId}', '${metadata.project}', '${metadata.timestamp}', 2, false,
    '${summary}', '${content}', '${JSON.stringify(metadata)}', 'swordfish', '{swordfish}', 'minilm', ${vector})
  ${onConflict}`

function migrates(name: string, start: () => Promise<TestServer>, embedding: string): void {
  describe(name, () => {
    let server: TestServer
    beforeAll(async () => {
      server = await start()
    })
    afterAll(async () => server[Symbol.asyncDispose]())
    const vector = `ARRAY[${padded([1])}]::real[]`
    const open = () => openPostgresTarget(serverAddress(server.address, NO_VARIABLES))

    test("tables of this version get the view that they lack, and keep their version", async () => {
      await server.run("DROP SCHEMA IF EXISTS ctxbridge CASCADE")
      await (await open()).close()
      await server.run("DROP VIEW ctxbridge.transcript_entries")
      const before = await server.run("SELECT version FROM ctxbridge.target")
      await (await open()).close()
      await server.run(`DO $$ BEGIN ASSERT to_regclass('ctxbridge.transcript_entries') IS NOT NULL; END $$`)
      expect(await server.run("SELECT version FROM ctxbridge.target")).toEqual(before)
    })

    test("entries and what was forgotten stay, under the same name of the target", async () => {
      await server.run(versionOne(embedding))
      await server.run(put(kept, vector))
      const machines = await Promise.all(Array.from({ length: 5 }, open))
      const backend = machines[0]!
      // So what was sent by then is not sent again.
      expect(machines.map(({ id }) => id)).toEqual(Array.from({ length: 5 }, () => "the-first-target"))
      expect(await backend.stats()).toEqual({ entries: 1, sessions: 1, forgotten: 1, damaged: 0 })
      expect(await backend.get(kept.id)).toEqual(kept)
      expect(await backend.find({ words: "swordfish", limit: 3 })).toMatchObject([{ id: kept.id }])
      expect(await backend.find({ vector: kept.vector!, limit: 3 })).toMatchObject([{ id: kept.id }])
      const later = draft({})
      const report = await backend.put([kept, later, draft({ sessionId: "gone" })])
      expect(report).toEqual({ stored: 1, known: 1, refused: 1 })
      await Promise.all(machines.map((machine) => machine.close()))
    })

    test("an older program that is still at it writes nothing, and fails", async () => {
      const former = put(draft({}), vector, "ON CONFLICT (key) DO UPDATE SET content = excluded.content")
      await expect(server.run(former)).rejects.toThrow("no unique or exclusion constraint")
    })
  })
}

migrates(
  "PGlite with pgvector",
  async () => {
    const server = await startPglite({ vectors: true })
    await server.run("CREATE EXTENSION vector")
    return server
  },
  "vector(384)",
)
for (const [version, programs] of postgresVersions())
  migrates(`PostgreSQL ${version}`, () => startPostgres(programs), "real[]")
