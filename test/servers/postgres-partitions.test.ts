/** Tables by month in a real PostgreSQL, made by an administrator who is no superuser: which turns are where, and how the old ones go. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPostgres,
  type TestServer,
  usersOf,
} from "../support/postgres.ts"
import { draft } from "../unit/sync/contract.ts"

setDefaultTimeout(120_000)

const versions = postgresVersions()

if (versions.length === 0) test.skip("no PostgreSQL is installed", () => {})

describe.each(versions)("turns by month in PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  let databases = 0
  const { addressOf, as, rows } = usersOf(() => server, programs)
  const machine = new Machine()

  beforeAll(async () => {
    server = await startPostgres(programs)
    await server.run("CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'sesame'")
    for (const user of ["alice", "bob"]) await server.run(`CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
  })
  afterAll(async () => {
    machine[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  /** A database of its own, and what is said and asked there. */
  async function made(...options: string[]) {
    const name = `months${"abcdefgh"[databases++]}`
    await rows("dba", `CREATE DATABASE ${name}`, "postgres")
    const said = async (...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await run(["server", ...words], {
        env: { ...machine.env, CTXBRIDGE_SYNC_TO: addressOf("dba", name) },
        cwd: machine.cwd,
      })
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" })
      return stdout
    }
    const printed = await said("init", ...options)
    // From another database, they are users already.
    for (const user of ["alice", "bob"]) await said("grant", user)
    return {
      name,
      said,
      printed,
      open: (user: string) =>
        closing(openPostgresTarget(serverAddress(addressOf(user, name), NO_VARIABLES), 5000, false, user)),
      /** Turns of each table that has any. */
      places: async (): Promise<string> =>
        (
          await rows(
            "dba",
            `SELECT replace(tableoid::regclass::text, 'ctxbridge.', '') || ' ' || count(*) FROM ctxbridge.entries
             GROUP BY tableoid ORDER BY 1`,
            name,
          )
        ).replaceAll("\n", ", "),
      /** Bytes that are counted, and those that are there. */
      sizes: () =>
        rows(
          "dba",
          `SELECT t.bytes, (SELECT sum(octet_length(content) + octet_length(summary) + octet_length(metadata::text))
             FROM ctxbridge.entries WHERE tenant = 'alice') FROM ctxbridge.tenants t WHERE t.tenant = 'alice'`,
          name,
        ),
    }
  }

  const at = (timestamp: string | null, more: object = {}) =>
    draft({ timestamp, content: "about seals", ...more })

  test("each turn is with those of its month, and is there once", async () => {
    const { name, said, printed, open, places } = await made("--partitioned")
    expect(printed).toContain("Brought turns into a table for each month; older programs refuse it")
    expect(JSON.parse(await said("status", "--json"))).toMatchObject({
      ...{ version: 5, isPartitioned: true, missing: [] },
    })
    expect(await said()).toContain("version 5, a table for each month, all steps")
    await using alice = await open("alice")
    await using other = await open("alice")
    const first = at("2026-01-31T23:59:59.999Z")
    const turns = [first, at("2026-02-01T00:00:00.000Z"), at("2024-12-24T12:00:00.000Z"), at(null)]
    // Nobody makes a thousand tables.
    const odd = [at("1970-01-01T00:00:00.000Z"), at("9999-12-31T00:00:00.000Z"), at("tomorrow")]
    expect(await alice.put([...turns, ...odd])).toEqual({ stored: 7, known: 0, refused: 0 })
    expect(await places()).toBe("entries_other 7")
    await said("migrate", "--partitioned")
    expect(await places()).toBe("entries_2024_12 1, entries_2026_01 1, entries_2026_02 1, entries_other 4")
    const { sessionId, chunkIndex, timestamp } = first.metadata
    const longer = at(timestamp, { sessionId, chunkIndex, content: "about seals, and more", messages: 9 })
    expect(longer.key).toBe(first.key)
    expect(await other.put([longer, ...turns, ...odd])).toEqual({ stored: 1, known: 7, refused: 0 })
    const found = await alice.find({ words: "seals", limit: 9 })
    expect(found.map(({ id }) => id).toSorted()).toEqual(
      [longer, ...turns.slice(1), ...odd].map(({ id }) => id).toSorted(),
    )
    expect(
      await alice.find({ words: "seals", until: "2025-01-01", since: "2024-01-01", limit: 9 }),
    ).toMatchObject([{ id: turns[2]!.id }])
    await using bob = await open("bob")
    expect(await bob.put([first])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect(await bob.stats()).toMatchObject({ entries: 1 })
    // Nobody goes around the rules of the whole.
    for (const statements of [
      "SELECT * FROM ctxbridge.entries_2026_01",
      "DELETE FROM ctxbridge.entries_other",
      "DROP TABLE ctxbridge.entries_2026_01",
    ])
      expect((await as("bob", statements, name)).stderr).toMatch(/permission denied|must be owner/)
    const odder = `ARRAY['2026-13', '2026-1', '1999-01', '2090-01', 'x; DROP TABLE ctxbridge.entries', NULL]`
    await rows("bob", `SELECT ctxbridge.make_months(${odder})`, name)
    expect(
      await rows(
        "dba",
        `SELECT count(*) FROM pg_inherits WHERE inhparent = 'ctxbridge.entries'::regclass
           AND inhrelid NOT IN (SELECT tableoid FROM ctxbridge.entries) AND inhrelid::regclass::text NOT IN
             (SELECT 'ctxbridge.entries_' || to_char(now() + make_interval(months => n), 'YYYY_MM') FROM generate_series(0, 12) n)`,
        name,
      ),
    ).toBe("0")
  })

  test("turns that are there are brought over; whoever is connected is told, and goes on anew", async () => {
    const { said, open, places, sizes } = await made()
    await using alice = await open("alice")
    const turns = [at("2026-01-05T00:00:00.000Z"), at("2026-03-05T00:00:00.000Z"), at(null)]
    await alice.put(turns)
    const before = await sizes()
    expect(await said("migrate", "--partitioned", "--dry-run")).toContain("Would bring turns into a table")
    expect(await places()).toBe("entries 3")
    expect(await said("migrate", "--partitioned")).toContain("Brought turns into a table for each month")
    const after = "entries_2026_01 1, entries_2026_03 1, entries_other 1"
    expect(await places()).toBe(after)
    expect(await sizes()).toBe(before)
    await expect(alice.put([at("2026-04-05T00:00:00.000Z")])).rejects.toMatchObject({
      code: "target-closed",
      hint: "run it again to go on",
    })
    await using again = await open("alice")
    expect(again.id).toBe(alice.id)
    for (const turn of turns) expect(await again.get(turn.id)).toEqual(turn)
    expect(await again.put(turns)).toEqual({ stored: 0, known: 3, refused: 0 })
    await said("migrate")
    await said("init")
    await said("migrate", "--partitioned")
    expect(await places()).toBe(after)
    expect(await again.put([at("2026-01-06T00:00:00.000Z")])).toMatchObject({ stored: 1 })
    const [counted, there] = (await sizes()).split("|")
    expect(counted).toBe(there!)

    // A month that nobody has made keeps nobody from putting. Its turns are brought there by the administrator.
    const meanwhile = at("2026-05-05T00:00:00.000Z")
    expect(await again.put([meanwhile])).toMatchObject({ stored: 1 })
    expect(await places()).toBe("entries_2026_01 2, entries_2026_03 1, entries_other 2")
    expect(await again.get(meanwhile.id)).toEqual(meanwhile)
    const kept = await sizes()
    await said("migrate", "--partitioned")
    expect(await places()).toBe("entries_2026_01 2, entries_2026_03 1, entries_2026_05 1, entries_other 1")
    expect(await sizes()).toBe(kept)
  })

  test("no user makes months, or keeps others waiting with it; they are there ahead of time", async () => {
    const { name, said, open } = await made("--partitioned")
    const months = async () =>
      (
        await rows(
          "dba",
          `SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'ctxbridge.entries'::regclass ORDER BY 1`,
          name,
        )
      ).split("\n")
    const thirteen = await rows(
      "dba",
      `SELECT 'ctxbridge.entries_' || to_char(now() + make_interval(months => n), 'YYYY_MM')
       FROM generate_series(0, 12) n UNION ALL SELECT 'ctxbridge.entries_other' ORDER BY 1`,
      name,
    )
    expect((await months()).toSorted()).toEqual(thirteen.split("\n").toSorted())
    await using alice = await open("alice")
    const words = [`${programs}/psql`, "-qXAt", "-d", addressOf("bob", name), "-f", "-"]
    const bob = Bun.spawn(words, { stdin: "pipe", stdout: "pipe", stderr: "pipe" })
    try {
      bob.stdin.write("BEGIN; SELECT ctxbridge.make_months('{2021-03}'); SELECT 'all done';\n")
      await bob.stdin.flush()
      const reader = bob.stdout.getReader()
      for (let text = ""; !text.includes("all done"); ) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`psql ended: ${text}`)
        text += new TextDecoder().decode(value)
      }
      for (const timestamp of ["2021-03-01T00:00:00.000Z", new Date().toISOString()])
        expect(await alice.put([at(timestamp)])).toMatchObject({ stored: 1 })
    } finally {
      bob.stdin.end()
      await bob.exited
    }
    expect(await months()).not.toContain("ctxbridge.entries_2021_03")
    // Empty ones of long ago go, and those that were lacking come.
    await rows("dba", "SELECT ctxbridge.make_months('{2022-03}')", name)
    expect(await months()).toContain("ctxbridge.entries_2022_03")
    await rows("dba", `DROP TABLE ${thirteen.split("\n")[5]}`, name)
    await said("retention", "90")
    expect((await months()).toSorted()).toEqual(thirteen.split("\n").toSorted())
  })

  test("a month of which nothing may be kept is dropped; of others, what is too old goes", async () => {
    const { name, said, open, places, sizes } = await made("--partitioned")
    await using alice = await open("alice")
    await using bob = await open("bob")
    const old = [
      at("2024-01-05T00:00:00.000Z"),
      at("2024-01-06T00:00:00.000Z"),
      at("2024-02-05T00:00:00.000Z"),
    ]
    const kept = [at("2024-02-05T00:00:00.000Z"), at(new Date().toISOString())]
    await alice.put([...old, kept[1]!])
    await bob.put([kept[0]!])
    await said("migrate", "--partitioned")
    await said("retention", "off", "--role", "bob")
    const file = "SELECT count(*) FROM pg_class WHERE relname = 'entries_2024_01'"
    expect(await said("retention", "90", "--role", "alice", "--dry-run")).toContain("Would remove 3 turns")
    expect(await rows("dba", file, name)).toBe("1")
    expect(await said("retention", "90", "--role", "alice")).toContain("Removed 3 turns that were older")
    expect(await rows("dba", file, name)).toBe("0")
    const month = new Date().toISOString().slice(0, 7).replace("-", "_")
    expect(await places()).toBe(`entries_2024_02 1, entries_${month} 1`)
    const [counted, there] = (await sizes()).split("|")
    expect(counted).toBe(there!)
    expect(await bob.get(kept[0]!.id)).toEqual(kept[0]!)
    expect(await alice.put([...old, kept[1]!])).toEqual({ stored: 0, known: 1, refused: 3 })
    expect(await said("retention")).toStartWith("Removed 0 turns")
    expect(await said("retention", "90")).toContain("Removed 1 turn that was older")
    expect(await places()).toBe(`entries_${month} 1`)
  })
})
