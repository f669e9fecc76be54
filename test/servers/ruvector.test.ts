/**
 * The real extension ruvector, in the PostgreSQL that test/servers/build-ruvector.sh has made in CTXBRIDGE_TEST_RUVECTOR;
 * skipped without. Where that server has pgvector, too, it shows who uses which.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { Topics } from "../../bench/seeded-vectors.ts"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import type { Entry } from "../../src/sync/targets/entry.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import { NO_VARIABLES, startPostgres, type TestServer, usersOf } from "../support/postgres.ts"
import { draft, targetContract } from "../unit/sync/contract.ts"

setDefaultTimeout(120_000)

const folder = process.env["CTXBRIDGE_TEST_RUVECTOR"] ?? ""
const isThere = folder !== ""
if (!isThere) console.warn("skipped: the extension ruvector: CTXBRIDGE_TEST_RUVECTOR names no folder with it")
const programs = join(folder, "bin")
const hasPgvector =
  isThere && [...new Bun.Glob("server/**/extension/vector.control").scanSync({ cwd: folder })].length > 0

const ASKING = "?vectors=ruvector"
const TYPE = `SELECT format_type(atttypid, NULL) FROM pg_attribute
  WHERE attrelid = 'ctxbridge.entries'::regclass AND attname = 'embedding'`
/** More than a page of its index has, and more than one batch. */
const MANY = 1050

let server: TestServer
const { addressOf, as, rows } = usersOf(() => server, programs)
const open = (address: string, writer = "") =>
  closing(openPostgresTarget(serverAddress(address, NO_VARIABLES), undefined, false, writer))

beforeAll(async () => {
  if (!isThere) return
  server = await startPostgres(programs)
  await server.run("CREATE DATABASE memory")
})
afterAll(async () => server?.[Symbol.asyncDispose]())

/** The database is made anew, with the extensions that are named. */
async function afresh(...extensions: string[]): Promise<string> {
  await server.run("DROP DATABASE memory WITH (FORCE)")
  await server.run("CREATE DATABASE memory")
  for (const extension of extensions) await rows("owner", `CREATE EXTENSION ${extension}`)
  return addressOf("owner")
}

targetContract(
  "ruvector",
  async () => {
    const address = await afresh()
    return {
      open: (writer) => open(address + ASKING, writer),
      read: () => openPostgresTarget(serverAddress(address, NO_VARIABLES), undefined, true),
      [Symbol.asyncDispose]: async () => {},
    }
  },
  { frames: true, isThere },
)

describe.skipIf(!isThere)("whoever asks for ruvector", () => {
  test("has vectors of its type, and all that is counted and found is right", async () => {
    const address = await afresh()
    await using target = await open(address + ASKING)
    expect(await rows("owner", TYPE)).toBe("ruvector")
    const dice = new Dice(3)
    const topics = new Topics(1)
    const entries = Array.from({ length: MANY }, (_, n) =>
      draft({ vector: [...topics.near(dice)], sessionId: n < 50 ? "few" : "many", content: `turn ${n}` }),
    )
    expect(await target.put(entries)).toMatchObject({ stored: MANY })
    expect(await target.put(entries)).toMatchObject({ stored: 0 })
    expect(await target.stats()).toEqual({ entries: MANY, sessions: 2, forgotten: 0, damaged: 0 })
    expect(await target.get(entries[7]!.id)).toMatchObject({ id: entries[7]!.id, content: "turn 7" })

    const sought = [...topics.near(dice)]
    const nearest = nearestOf(entries, sought, 10)
    const found = await target.find({ vector: { embedder: "minilm", values: sought }, limit: 10 })
    expect(found.map(({ id }) => id)).toEqual(nearest)
    expect(await target.find({ words: "turn", limit: MANY })).toHaveLength(MANY)

    expect(await target.forget({ ids: [], sessions: ["few"] })).toBe(50)
    expect(await target.stats()).toEqual({ entries: MANY - 50, sessions: 1, forgotten: 1, damaged: 0 })
    const left = await target.find({ vector: { embedder: "minilm", values: sought }, limit: 2 * MANY })
    expect(left).toHaveLength(MANY - 50)
  })

  test("is not misled by its index: there is none, as that does not see the rows", async () => {
    await using target = await open((await afresh()) + ASKING)
    await target.put(Array.from({ length: MANY }, (_, n) => draft({ vector: [1, n] })))
    const counted = "SET enable_seqscan = off; SET client_min_messages = error; SELECT count(*) FROM"
    expect(await rows("owner", `${counted} ctxbridge.entries`)).toBe(String(MANY))
    // When this fails, docs/adr/0016 has no reason any longer.
    await rows("owner", "CREATE TABLE public.probe AS SELECT * FROM ctxbridge.entries")
    await rows(
      "owner",
      `ALTER TABLE public.probe ALTER COLUMN embedding TYPE ruvector(384);
       CREATE INDEX ON public.probe USING hnsw (embedding ruvector_cosine_ops)`,
    )
    expect(await rows("owner", `${counted} public.probe`)).toBe("0")
  })

  test("the program, with its variables alone: syncs, finds, forgets", async () => {
    const { port } = new URL(await afresh())
    using machine = new Machine()
    using other = new Machine()
    const variables = {
      RUVECTOR_HOST: "127.0.0.1",
      RUVECTOR_PORT: port,
      RUVECTOR_USER: "owner",
      RUVECTOR_PASSWORD: "sesame",
      RUVECTOR_DATABASE: "memory",
    }
    const told = async (who: Machine, ...args: string[]) => {
      const env = { ...who.env, ...variables }
      const { code, stdout, stderr } = await run([...args, "--json"], { env, cwd: who.cwd })
      expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" })
      return JSON.parse(stdout)
    }
    const session = machine.session().turn("Why is the pool exhausted?").turn("And the walrus?").flush()
    await machine.hook("stop", session)
    expect(await told(machine, "sync", "--to", `postgres:${ASKING}`)).toMatchObject({
      kind: "postgres",
      target: `postgres://owner@127.0.0.1:${port}/memory`,
      stored: 2,
      there: { entries: 2, sessions: 1 },
    })
    expect(await rows("owner", TYPE)).toBe("ruvector")
    // Tables keep what they were made with: from here on, nobody has to ask.
    expect(await told(machine, "sync")).toMatchObject({ turns: 0, stored: 0, there: { entries: 2 } })
    expect((await told(other, "search", "--everywhere", "pool")).hits).toMatchObject([
      { session: session.session },
    ])
    await told(machine, "forget", session.session, "--yes")
    expect(await told(machine, "sync")).toMatchObject({ forgotten: 2, there: { entries: 0, sessions: 0 } })
    expect(await rows("owner", "SELECT count(*) FROM ctxbridge.entries")).toBe("0")
  })

  test("users of an administrator's tables have it, and none fails another's search", async () => {
    await afresh()
    await server.run("CREATE ROLE alice LOGIN PASSWORD 'sesame'; CREATE ROLE bob LOGIN PASSWORD 'sesame'")
    await server.run("CREATE ROLE team; GRANT team TO bob")
    using machine = new Machine()
    const env = { ...machine.env, CTXBRIDGE_SYNC_TO: addressOf("owner") + ASKING }
    const administer = async (words: string) =>
      expect(await run(["server", ...words.split(" ")], { env, cwd: machine.cwd })).toMatchObject({
        code: 0,
        stderr: "",
      })
    for (const words of ["init", "grant alice", "grant bob"]) await administer(words)
    expect(await rows("owner", TYPE)).toBe("ruvector")
    await using alice = await open(addressOf("alice"))
    await using bob = await open(addressOf("bob"))
    const hers = draft({ vector: [1, 0], project: "/src/alice/.git" })
    expect(await alice.put([hers])).toMatchObject({ stored: 1 })
    expect(await alice.find({ vector: hers.vector!, limit: 3 })).toMatchObject([{ id: hers.id }])
    expect(await bob.find({ vector: hers.vector!, limit: 3 })).toEqual([])
    expect(await bob.stats()).toMatchObject({ entries: 0 })
    expect(await alice.shares!.offer("/src/alice/.git", "team")).toBe(true)
    expect(await bob.shares!.accept("alice", "/src/alice/.git")).toBe(1)
    expect(await bob.find({ vector: hers.vector!, limit: 3 })).toMatchObject([{ id: hers.id, by: "alice" }])
    // Its type takes any number of numbers, whatever the column says.
    const misfit = () => as("alice", "UPDATE ctxbridge.entries SET embedding = '[1,2]'")
    const refused = { code: 3, stderr: expect.stringContaining('violates check constraint "entries_length"') }
    expect(await misfit()).toMatchObject(refused)
    // Nor in a table a month.
    await administer("migrate --partitioned")
    expect(await misfit()).toMatchObject(refused)
    expect(await alice.find({ vector: hers.vector!, limit: 3 })).toMatchObject([{ id: hers.id }])
  })
})

describe.skipIf(!isThere)("whoever does not ask for ruvector", () => {
  test("has arrays in a database with ruvector, where pgvector cannot be", async () => {
    await using target = await open(await afresh("ruvector"))
    expect(await rows("owner", TYPE)).toBe("real[]")
    const one = draft({ vector: [1, 0] })
    await target.put([one])
    expect(await target.find({ vector: one.vector!, limit: 3 })).toMatchObject([{ id: one.id }])
  })

  test.skipIf(!hasPgvector)(
    "has pgvector where both can be had (needs pgvector in that server)",
    async () => {
      const address = await afresh()
      await using _ = await open(address)
      expect(await rows("owner", TYPE)).toBe("vector")
      expect(await rows("owner", "SELECT string_agg(extname, ',') FROM pg_extension")).toBe("plpgsql,vector")
      // Tables keep what they were made with, whoever asks for what.
      await using asking = await open(address + ASKING)
      expect(await asking.put([draft({ vector: [1, 0] })])).toMatchObject({ stored: 1 })
      await rows("owner", "DROP SCHEMA ctxbridge CASCADE")
      await expect(open(address + ASKING)).rejects.toMatchObject({
        code: "target-failed",
        message: expect.stringContaining('ruvector is not there: access method "hnsw" already exists'),
        hint: expect.stringContaining("leave out ?vectors=ruvector"),
      })
    },
  )
})

const nearestOf = (entries: readonly Entry[], sought: readonly number[], limit: number): string[] => {
  const likeness = ({ vector }: Entry): number =>
    vector!.values.reduce((sum, value, at) => sum + value * sought[at]!, 0)
  return entries
    .map((entry) => ({ id: entry.id, likeness: likeness(entry) }))
    .sort((a, b) => b.likeness - a.likeness)
    .slice(0, limit)
    .map(({ id }) => id)
}
