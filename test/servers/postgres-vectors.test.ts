/**
 * Searches by meaning among more turns than are compared one by one: what an index at half the precision finds, how it
 * comes to be, and that programs from before it go on. On each PostgreSQL with pgvector that is here.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { EMBEDDER, seededRows, startOf } from "../../bench/seeded-rows.ts"
import { Topics } from "../../bench/seeded-vectors.ts"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { administerPostgres } from "../../src/sync/targets/postgres-admin.ts"
import { connect } from "../../src/sync/targets/postgres-door.ts"
import { ADMINISTRATOR_SCRIPT } from "../../src/sync/targets/postgres-migrations.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import type { Target } from "../../src/sync/targets/target.ts"
import { closing } from "../support/closing.ts"
import { type OlderProgram, olderProgram, olderSource } from "../support/older-source.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPostgres,
  type TestServer,
  usersOf,
} from "../support/postgres.ts"
import { tempFolder } from "../support/temp.ts"
import { draft, padded } from "../unit/sync/contract.ts"

setDefaultTimeout(300_000)

const folder = tempFolder()
/** The last commit whose program knows of no steps. */
const OLDER = "af5688af"
const source = olderSource(OLDER, folder.path)
const newer: OlderProgram = { open: openPostgresTarget, script: ADMINISTRATOR_SCRIPT }
const withVectors = postgresVersions().filter(([, programs]) => hasVectors(programs))

afterAll(() => folder[Symbol.dispose]())

if (source === undefined || withVectors.length === 0)
  test.skip(`PostgreSQL with pgvector or the history with ${OLDER} is not here`, () => {})

/** Whether its programs come with pgvector. */
function hasVectors(programs: string): boolean {
  const { stdout } = Bun.spawnSync([`${programs}/pg_config`, "--sharedir"])
  return existsSync(join(stdout.toString().trim(), "extension", "vector.control"))
}

const TURNS = 12_500
const OTHERS = 4000
/** The nearest are hardly nearer than others. */
const topics = new Topics(1, 2)

describe.each(source === undefined ? [] : withVectors)("vectors at PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  let old: OlderProgram
  const { addressOf, as, rows } = usersOf(() => server, programs)
  const open = (program: OlderProgram, user: string, database?: string) =>
    closing(program.open(serverAddress(addressOf(user, database), NO_VARIABLES)))
  const indexes = (database?: string) =>
    rows(
      "owner",
      `SELECT c.relname, i.indisvalid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
       WHERE c.relname IN ('entries_embedding', 'entries_halfvec') ORDER BY 1`,
      database,
    )
  const scans = async (index: string) =>
    Number(
      await rows(
        "owner",
        `SELECT pg_stat_clear_snapshot(); SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = '${index}'`,
      ),
    )

  /** A server counts some time after; what a connection did, at the latest when that is closed. */
  const isUsed = async (index: string, before: number): Promise<boolean> => {
    for (let n = 0; n < 200; n++) if ((await scans(index)) > before) return true
    return false
  }

  beforeAll(async () => {
    old = await olderProgram(source!)
    server = await startPostgres(programs)
    for (const user of ["alice", "bob"]) await server.run(`CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
    await server.run("CREATE ROLE team; GRANT team TO bob; CREATE DATABASE memory")
    await rows("owner", old.script)
    await rows("owner", "CREATE ROLE deputy LOGIN PASSWORD 'sesame' IN ROLE ctxbridge_owner")
    await rows("owner", "GRANT ctxbridge_user TO alice, bob; DROP INDEX ctxbridge.entries_embedding")
    for (const [tenant, count] of [
      ["alice", TURNS],
      ["bob", OTHERS],
    ] as const)
      await rows("owner", seededRows(topics, { tenant, from: 0, to: count }))
    await rows(
      "owner",
      `SET maintenance_work_mem = '256MB'; VACUUM ctxbridge.entries;
       CREATE INDEX entries_embedding ON ctxbridge.entries USING hnsw (embedding vector_cosine_ops)`,
    )
  })
  afterAll(async () => server?.[Symbol.asyncDispose]())

  /** Of each 1,000 that are the nearest, how many are found; whoever searches shows whose turns. */
  async function recall(target: Target, whose: string, narrowed: object, where: string): Promise<number> {
    const dice = new Dice(7)
    const queries = 15
    let hits = 0
    for (let n = 0; n < queries; n++) {
      const values = [...topics.near(dice)]
      const found = await target.find({ vector: { embedder: EMBEDDER, values }, limit: 10, ...narrowed })
      expect(found).toHaveLength(10)
      const scores = found.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
      // No index: what is sorted by is another expression.
      const nearest = await rows(
        "owner",
        `SELECT key FROM ctxbridge.entries WHERE tenant = '${whose}' AND embedder = '${EMBEDDER}' AND ${where}
         ORDER BY (embedding <=> '[${values}]') + 0 LIMIT 10`,
      )
      const keys = new Set(nearest.split("\n"))
      hits += found.filter(({ key }) => keys.has(key)).length
    }
    return hits / (10 * queries)
  }

  /** What leaves more turns than are compared one by one. */
  const NARROWED = [
    [{}, "true"],
    [{ project: "/src/usual" }, "project = '/src/usual'"],
    [{ since: startOf(1500) }, `started >= '${startOf(1500)}'`],
    [{ until: startOf(11_000), tool: "bash" }, `started < '${startOf(11_000)}'`],
  ] as const

  test("without the step, this program finds what the former index does", async () => {
    await using alice = await open(newer, "alice")
    const before = await scans("entries_embedding")
    expect(await recall(alice, "alice", {}, "true")).toBeGreaterThan(0.5)
    expect(await isUsed("entries_embedding", before)).toBe(true)
  })

  /** Runs the script, and does something while the index is being made. */
  async function whileMaking(
    work: (pid: string) => Promise<unknown>,
  ): Promise<{ code: number; stderr: string }> {
    const script = as("owner", newer.script)
    let isOver = false
    script.finally(() => {
      isOver = true
    })
    const asking = "SELECT pid FROM pg_stat_progress_create_index WHERE phase LIKE 'building index%'"
    let pid = ""
    while (pid === "" && !isOver) pid = await rows("owner", asking)
    expect(pid).not.toBe("")
    await work(pid)
    return script
  }

  test("ended while it makes the index, the script leaves searches as they were", async () => {
    const { code } = await whileMaking((pid) => rows("owner", `SELECT pg_terminate_backend(${pid})`))
    expect(code).not.toBe(0)
    const left = "entries_embedding|t\nentries_halfvec|f"
    expect(await indexes()).toBe(left)
    await using admin = await closing(administerPostgres(serverAddress(addressOf("owner"), NO_VARIABLES)))
    await using reader = await closing(
      Promise.resolve(connect(serverAddress(addressOf("alice"), NO_VARIABLES), 60_000)),
    )
    await reader.transaction(async (ask) => {
      await ask("SELECT count(*) FROM ctxbridge.entries")
      await expect(admin.migrate(false, true, false)).rejects.toMatchObject({
        code: "target-busy",
        message: expect.stringContaining("half-done cannot be removed while somebody is at the turns"),
      })
    })
    expect(await indexes()).toBe(left)
    await using alice = await open(old, "alice")
    expect(await recall(alice, "alice", {}, "true")).toBeGreaterThan(0.5)
  })

  test("while the index is made, turns are put and found; then the former one is gone", async () => {
    await using alice = await open(newer, "alice")
    const turn = draft({ content: "put meanwhile", vector: [1] })
    const { code, stderr } = await whileMaking(async (pid) => {
      expect(await alice.put([turn])).toMatchObject({ stored: 1 })
      expect(await alice.find({ vector: turn.vector!, limit: 1 })).toMatchObject([{ id: turn.id }])
      const still = `SELECT count(*) FROM pg_stat_progress_create_index WHERE pid = ${pid}`
      expect(await rows("deputy", "SELECT * FROM ctxbridge.waiting_indexes()")).toBe("")
      expect(await rows("owner", still)).toBe("1")
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(await indexes()).toBe("entries_halfvec|t")
    expect(await alice.find({ vector: turn.vector!, limit: 1 })).toMatchObject([{ id: turn.id }])
    expect(await rows("owner", "SELECT * FROM ctxbridge.waiting_indexes()")).toBe("")
  })

  test("this program and an older one find what is nearest, whatever the search is narrowed to", async () => {
    for (const program of [newer, old]) {
      await using alice = await open(program, "alice")
      const before = await scans("entries_halfvec")
      for (const [narrowed, where] of NARROWED)
        expect(await recall(alice, "alice", narrowed, where), where).toBeGreaterThanOrEqual(0.95)
      expect(await isUsed("entries_halfvec", before)).toBe(true)
      // Few enough to be compared.
      expect(await recall(alice, "alice", { project: "/src/rare" }, "project = '/src/rare'")).toBe(1)
      await using bob = await open(program, "bob")
      expect(await recall(bob, "bob", {}, "true")).toBe(1)
    }
  })

  test("what others share is found through it, too", async () => {
    await using alice = await open(newer, "alice")
    await alice.shares!.offer("/src/usual", "team")
    await using bob = await open(newer, "bob")
    await bob.shares!.accept("alice", "/src/usual")
    const before = await scans("entries_halfvec")
    const dice = new Dice(5)
    const vector = { embedder: EMBEDDER, values: [...topics.near(dice)] }
    const found = await bob.find({ vector, limit: 20, project: "/src/usual" })
    await bob.close()
    const nearest = await rows(
      "owner",
      `SELECT key FROM ctxbridge.entries WHERE project = '/src/usual' ORDER BY (embedding <=> '[${vector.values}]') + 0 LIMIT 20`,
    )
    const keys = new Set(nearest.split("\n"))
    expect(found.filter(({ key }) => keys.has(key)).length).toBeGreaterThanOrEqual(19)
    expect(new Set(found.map(({ by }) => by))).toEqual(new Set(["alice", undefined]))
    expect(await isUsed("entries_halfvec", before)).toBe(true)
  })

  test("`server migrate` makes it, also of numbers that do not fit into half the room, and so does an owner's sync", async () => {
    for (const database of ["migrated", "synced"]) {
      await server.run(`CREATE DATABASE ${database}`)
      await using before = await open(old, "owner", database)
      const huge = draft({ vector: [1e30, 1e29] })
      const other = draft({ vector: [0, 1e-30] })
      const none = draft({ vector: padded([]) })
      await before.put([huge, other, none])
      expect(await indexes(database)).toBe("entries_embedding|t")
      if (database === "migrated") {
        await using admin = await closing(
          administerPostgres(serverAddress(addressOf("owner", database), NO_VARIABLES)),
        )
        const { steps } = await admin.migrate(false, false, false)
        expect(steps.map(({ name }) => name)).toContain("halfvec")
      }
      await using after = await open(newer, "owner", database)
      expect(await indexes(database)).toBe("entries_halfvec|t")
      expect(
        await after.find({ vector: { embedder: "minilm", values: padded([1]) }, limit: 1 }),
      ).toMatchObject([{ id: huge.id }])
      expect(await before.put([draft({ vector: [-1e38, 1e38] })])).toMatchObject({ stored: 1 })
    }
  })
})
