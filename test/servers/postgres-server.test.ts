/**
 * An administrator's day at a real PostgreSQL, by one who is no superuser: who may, how much and for how long, and what
 * becomes of it. Users can neither call what is his, nor get around what he has set.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import { run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import {
  freePort,
  NO_VARIABLES,
  postgresVersions,
  psql,
  startPostgres,
  type TestServer,
  usersOf,
} from "../support/postgres.ts"
import { draft, piece } from "../unit/sync/contract.ts"

setDefaultTimeout(120_000)

const pgbouncer = Bun.which("pgbouncer")

/** @param ignored what a pooler takes, and leaves out; undefined: there is none in between */
async function poolerOf(
  address: string,
  ignored: string | undefined,
): Promise<{ address: string } & AsyncDisposable> {
  if (ignored === undefined) return { address, [Symbol.asyncDispose]: async () => {} }
  const { hostname, port, username, password, pathname } = new URL(address)
  const own = freePort()
  const folder = mkdtempSync(join(tmpdir(), "ctxbridge-pooler-"))
  const settings = join(folder, "pgbouncer.ini")
  await Bun.write(
    settings,
    `[databases]
* = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${own}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
ignore_startup_parameters = options, ${ignored}
`,
  )
  chmodSync(folder, 0o755)
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : []
  const child = Bun.spawn([pgbouncer!, ...user, settings], { stdout: "ignore", stderr: "pipe" })
  let log = ""
  for await (const bytes of child.stderr) {
    log += new TextDecoder().decode(bytes)
    if (log.includes("process up")) break
  }
  if (!log.includes("process up")) throw new Error(log)
  return {
    address: `postgres://owner@127.0.0.1:${own}${pathname}`,
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await child.exited
      rmSync(folder, { recursive: true })
    },
  }
}

const versions = postgresVersions()

if (versions.length === 0) test.skip("no PostgreSQL is installed", () => {})

describe.each(versions)("an administrator's day on PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  const { addressOf, as, rows } = usersOf(() => server, programs)
  const open = (user: string) =>
    closing(openPostgresTarget(serverAddress(addressOf(user), NO_VARIABLES), undefined, false, user))
  const machine = new Machine()
  const cli = (user: string, ...words: string[]) =>
    run(["server", ...words], {
      env: { ...machine.env, CTXBRIDGE_SYNC_TO: addressOf(user) },
      cwd: machine.cwd,
    })
  const said = async (user: string, ...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cli(user, ...words)
    expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" })
    return stdout
  }
  const status = async (user: string) => JSON.parse(await said(user, "status", "--json"))
  const lineOf = async (role: string) =>
    (await status("dba")).users.find((one: { role: string }) => one.role === role)
  const turn = (content: string, more: object = {}) => draft({ content, sessionId: "of-alice", ...more })
  /** As the sizes are counted. */
  const counted = (user: string) =>
    rows(
      "dba",
      `SELECT coalesce((SELECT sum(octet_length(content) + octet_length(summary) + octet_length(metadata::text)
             + CASE WHEN embedding IS NULL THEN 0 ELSE 1536 END) FROM ctxbridge.entries WHERE tenant = '${user}'), 0)
           + coalesce((SELECT sum(octet_length(frame) + octet_length(about::text)) FROM ctxbridge.frames
             WHERE tenant = '${user}'), 0)`,
    )

  beforeAll(async () => {
    server = await startPostgres(programs)
    await server.run("CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'sesame'")
    await psql(programs, server.address.replace("owner:", "dba:"), "CREATE DATABASE memory")
    for (const user of ["alice", "bob", "eve"])
      await rows("dba", `CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
  })
  afterAll(async () => {
    machine[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  test("the tables are made, and users are let in", async () => {
    expect(await cli("dba", "status")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("there are no tables yet"),
    })
    expect(await said("dba", "init", "--dry-run")).toStartWith("Would make tables of version 5")
    expect(await rows("dba", "SELECT to_regnamespace('ctxbridge') IS NULL")).toBe("t")
    expect(await said("dba", "init")).toStartWith("Made tables of version 5")
    expect(await said("dba", "init")).toContain("is up to date: version 5, with all steps")
    expect(await said("dba", "init", "--print")).toContain("CREATE ROLE ctxbridge_owner NOLOGIN")
    expect(await said("dba", "grant", "alice", "--dry-run")).toStartWith("Would let alice use")
    for (const user of ["alice", "bob"]) expect(await said("dba", "grant", user)).toStartWith("Let ")
    expect(await said("dba", "grant", "bob")).toContain("may use")
    expect(await cli("dba", "grant", "nobody")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has no role nobody"),
    })
    expect((await cli("eve", "status")).stderr).toContain("permission denied")
  })

  test("status: all users for the administrator, his own line for each of them", async () => {
    await using alice = await open("alice")
    await alice.put([turn("about walruses", { vector: [1, 0] }), turn("about seals")])
    await alice.frames!.put([piece("bytes\n", { session: "of-alice" })])
    const all = await status("dba")
    expect(all).toMatchObject({ isAdministrator: true, version: 5, missing: [], user: "dba" })
    expect(all.users).toMatchObject([
      { role: "alice", state: "active", turns: 2, frames: 1, quota: null, days: null },
      { role: "bob", state: "active", turns: 0, frames: 0, bytes: 0, last: null },
    ])
    expect(String(all.users[0].bytes)).toBe(await counted("alice"))
    const sizes = all.tables.map(({ bytes }: { bytes: number }) => bytes)
    expect(sizes).toEqual(sizes.toSorted((a: number, b: number) => b - a))
    expect(all.tables.map(({ table }: { table: string }) => table)).toContain("entries")
    expect((await status("alice")).users.map(({ role }: { role: string }) => role)).toEqual(["alice"])
    expect((await status("bob")).users).toMatchObject([{ role: "bob", turns: 0, bytes: 0 }])
    expect(await said("dba")).toContain("alice: 2 turns, 1 frame, ")
    // What is replaced or removed is counted, too.
    await alice.put([turn("about seals, and more", { messages: 9 }), turn("about walruses")])
    await alice.forget({ ids: [turn("about walruses").id], sessions: ["of-alice"] })
    expect(await lineOf("alice")).toMatchObject({ turns: 0, frames: 0, bytes: 0 })
  })

  test("what is the administrator's is nobody else's, by commands and by SQL", async () => {
    for (const words of [
      ["migrate"],
      ["init"],
      ["grant", "eve"],
      ["revoke", "alice", "--delete"],
      ["revoke", "alice", "--hand-over-to", "bob"],
      ["quota", "1TB"],
      ["retention", "1"],
      ["retention"],
      ["vacuum"],
    ])
      expect({ words, ...(await cli("bob", ...words)) }).toMatchObject({
        words,
        code: 1,
        stderr: expect.stringContaining("bob is not its administrator"),
      })
    for (const statements of [
      "INSERT INTO ctxbridge.limits VALUES ('bob', 1, NULL)",
      "UPDATE ctxbridge.limits SET quota = NULL",
      "DELETE FROM ctxbridge.limits",
      "UPDATE ctxbridge.tenants SET bytes = 0",
      "DELETE FROM ctxbridge.tenants",
      "TRUNCATE ctxbridge.entries",
      "ALTER TABLE ctxbridge.entries DISABLE TRIGGER ALL",
      "DROP TRIGGER count_insert ON ctxbridge.entries",
      "SET session_replication_role = replica",
      "BEGIN; LOCK TABLE ctxbridge.tenants IN EXCLUSIVE MODE",
      "SELECT * FROM ctxbridge.tenants FOR UPDATE",
      "SELECT ctxbridge.count_entries()",
      "GRANT ctxbridge_user TO eve",
      "SET ROLE ctxbridge_owner",
    ]) {
      const { code, stderr } = await as("bob", statements)
      expect({ statements, code, stderr }).toMatchObject({
        statements,
        code: 3,
        stderr: expect.stringMatching(
          /permission denied|must be owner|can only be called as triggers|admin option/,
        ),
      })
    }
    expect(await rows("bob", "SELECT tenant FROM ctxbridge.tenants WHERE tenant <> 'bob'")).toBe("")
  })

  test("a trigger at a table of one's own counts for nobody", async () => {
    await rows("dba", "GRANT CREATE ON DATABASE memory TO bob")
    const before = await lineOf("alice")
    await rows(
      "bob",
      `CREATE SCHEMA own; CREATE TABLE own.entries (tenant text, content text, summary text, metadata jsonb, embedding text);
         CREATE TRIGGER forged AFTER INSERT ON own.entries REFERENCING NEW TABLE AS added
           FOR EACH STATEMENT EXECUTE FUNCTION ctxbridge.count_entries();
         INSERT INTO own.entries VALUES ('alice', repeat('x', 1000000), '', '{}', NULL)`,
    )
    expect(await lineOf("alice")).toEqual(before)
    await rows("bob", "DROP SCHEMA own CASCADE")
  })

  test("a quota holds, also for several connections at once; nothing is lost, and removing goes on", async () => {
    expect(await said("dba", "quota", "100KB", "--role", "bob", "--dry-run")).toStartWith(
      "Would set the quota",
    )
    expect(await lineOf("bob")).toMatchObject({ quota: null })
    await said("dba", "quota", "1GB")
    expect(await said("dba", "quota", "100KB", "--role", "bob")).toBe("Set the quota of bob to 100 KB\n")
    expect((await status("bob")).users).toMatchObject([{ quota: 100_000 }])
    expect(await lineOf("alice")).toMatchObject({ quota: 1e9 })
    const many = await Promise.all(Array.from({ length: 6 }, () => open("bob")))
    const big = (n: number) => draft({ content: `${n} ${"x".repeat(30_000)}`, sessionId: `big-${n}` })
    const done = await Promise.allSettled(many.map((one, n) => one.put([big(n)])))
    expect(done.filter(({ status }) => status === "fulfilled")).toHaveLength(3)
    for (const one of done)
      if (one.status === "rejected")
        expect(one.reason).toMatchObject({
          code: "target-quota",
          message: expect.stringMatching(/the quota of bob is 100000 bytes.*nothing is lost at home/),
          hint: expect.stringContaining("ctxbridge server status"),
        })
    const size = await lineOf("bob")
    expect(size.turns).toBe(3)
    expect(size.bytes).toBeLessThanOrEqual(100_000)
    expect(String(size.bytes)).toBe(await counted("bob"))
    // Nor by frames, nor by a row that grows, nor by SQL.
    await using bob = many[0]!
    const frames = [piece(Array.from({ length: 6000 }, (_, n) => Math.sin(n)).join(), { session: "s" })]
    await expect(bob.frames!.put(frames)).rejects.toMatchObject({ code: "target-quota" })
    const grow = "UPDATE ctxbridge.entries SET content = repeat('x', 90000)"
    expect((await as("bob", grow)).stderr).toContain("the quota of bob")
    const forged = `INSERT INTO ctxbridge.entries (tenant, key, id, session, messages, taken_back, summary, content, metadata,
        words, about) VALUES ('alice', 'k', 'i', 's', 1, false, '', 'x', '{}', '', '{}')`
    expect((await as("bob", forged)).stderr).toContain("row-level security")
    expect(await bob.forget({ sessions: ["big-0", "big-1", "big-2", "big-3", "big-4", "big-5"] })).toBe(3)
    expect(await lineOf("bob")).toMatchObject({ turns: 0, bytes: 0 })
    await using alice = await open("alice")
    expect(await alice.put([turn("x".repeat(200_000), { sessionId: "large" })])).toMatchObject({
      stored: 1,
    })
    const told = await said("dba", "quota", "1k")
    expect(told).toContain("alice has 200 KB: sends nothing more; what is there stays")
    await said("dba", "quota", "1GB", "--role", "alice")
    expect(await said("dba", "quota", "1k")).not.toContain("alice")
    await said("dba", "quota", "off", "--role", "alice")
    await said("dba", "quota", "off")
    await said("dba", "quota", "off", "--role", "bob")
    expect(await lineOf("bob")).toMatchObject({ quota: null })
    for (const one of many) await one.close()
  })

  test("what is older than its rule goes, and is not sent again", async () => {
    await using alice = await open("alice")
    const old = turn("of old", { sessionId: "old", timestamp: "2020-01-01T00:00:00.000Z" })
    const recent = turn("of today", { sessionId: "new", timestamp: new Date().toISOString() })
    await alice.put([old, recent])
    await using bob = await open("bob")
    await bob.put([old])
    expect(await said("dba", "retention", "30", "--role", "alice", "--dry-run")).toContain("Would remove")
    expect(await alice.get(old.id)).toEqual(old)
    await said("dba", "retention", "30", "--role", "alice")
    expect(await alice.get(old.id)).toBeUndefined()
    expect(await alice.get(recent.id)).toEqual(recent)
    expect(await bob.get(old.id)).toEqual(old)
    expect(await lineOf("alice")).toMatchObject({ days: 30 })
    const sent = [{ key: old.key, id: old.id, session: "old", messages: old.metadata.messages }]
    expect(await alice.lacking(sent)).toEqual([])
    expect(await alice.put([old])).toMatchObject({ stored: 0, refused: 1 })
    // As from cron: the rules as they are.
    await alice.put([turn("older", { sessionId: "older", timestamp: "2019-01-01T00:00:00.000Z" })])
    expect(await said("dba", "retention")).toStartWith("Removed 1 turn that was older")
    expect(await said("dba", "retention", "off", "--role", "alice")).toContain("to none")
    expect(await lineOf("alice")).toMatchObject({ days: null })
  })

  test("who leaves hands over or leaves nothing, and who gets his name inherits nothing", async () => {
    await using alice = await open("alice")
    const both = turn("both have it", { sessionId: "both" })
    await alice.put([both])
    await using bob = await open("bob")
    await bob.put([both])
    await alice.frames!.put([piece("handed\n", { session: "handed" })])
    await alice.close()
    const had = await lineOf("alice")
    const before = await lineOf("bob")
    expect(await said("dba", "revoke", "alice", "--hand-over-to", "bob", "--dry-run")).toContain(
      "Would hand over",
    )
    expect(await lineOf("alice")).toEqual(had)
    await said("dba", "revoke", "alice")
    expect(await lineOf("alice")).toMatchObject({ state: "revoked", turns: had.turns })
    expect((await as("alice", "SELECT count(*) FROM ctxbridge.entries")).stderr).toContain(
      "permission denied",
    )
    // Who has the name now is another role.
    await rows("dba", "DROP ROLE alice; CREATE ROLE alice LOGIN PASSWORD 'sesame'")
    expect(await lineOf("alice")).toMatchObject({ state: "renamed", turns: had.turns })
    expect(await cli("dba", "grant", "alice")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("has rows of a former role alice"),
    })
    // Even if he is let in by hand, he adds nothing to it, and removes nothing.
    await rows("dba", "GRANT ctxbridge_user TO alice")
    await using other = await open("alice")
    await expect(other.put([turn("of another alice", { sessionId: "another" })])).rejects.toMatchObject({
      code: "target-denied",
      message: expect.stringContaining("is of a role that is no more"),
    })
    await expect(other.forget({ sessions: ["both"] })).rejects.toMatchObject({ code: "target-denied" })
    await other.close()
    const forgotten = "SELECT count(*) > 0, count(*) FROM ctxbridge.forgotten WHERE tenant = 'alice'"
    const left = await rows("dba", forgotten)
    expect(left).toStartWith("t|")
    const dropping = "SELECT ctxbridge.drop_clear(NULL, NULL, NULL, NULL)"
    expect(
      await rows(
        "alice",
        `BEGIN; INSERT INTO ctxbridge.seals (about) VALUES ('{}'); ${dropping}; ${forgotten}`,
      ),
    ).toBe(`0\n${left}`)
    expect(await said("dba", "revoke", "alice", "--hand-over-to", "bob")).toContain("Handed over")
    expect(await lineOf("alice")).toBeUndefined()
    expect(await bob.get(both.id)).toEqual(both)
    expect(await lineOf("bob")).toMatchObject({ turns: before.turns + had.turns - 1, frames: had.frames })
    expect(String((await lineOf("bob")).bytes)).toBe(await counted("bob"))
    await said("dba", "grant", "alice")
    await using anew = await open("alice")
    expect(await anew.stats()).toMatchObject({ entries: 0, forgotten: 0 })
    expect(await anew.put([both])).toMatchObject({ stored: 1 })
    await anew.close()
    expect(await said("dba", "revoke", "alice", "--delete")).toContain("Deleted 1 turn")
    await rows("dba", "DROP ROLE alice")
    expect((await status("dba")).users.map(({ role }: { role: string }) => role)).toEqual(["bob"])
    expect(await rows("dba", "SELECT count(*) FROM ctxbridge.forgotten WHERE tenant = 'alice'")).toBe("0")
    expect(await said("dba", "vacuum", "--dry-run")).toStartWith("Would free")
    expect(await said("dba", "vacuum")).toStartWith("Freed")
  })

  test("a server without the step says so, and gets it with what is there counted", async () => {
    await rows(
      "dba",
      `SET ROLE ctxbridge_owner; DROP TRIGGER count_insert ON ctxbridge.entries; DROP TRIGGER count_update ON ctxbridge.entries;
         DROP TRIGGER count_delete ON ctxbridge.entries; DROP TRIGGER count_insert ON ctxbridge.frames;
         DROP TRIGGER count_update ON ctxbridge.frames; DROP TRIGGER count_delete ON ctxbridge.frames;
         DROP FUNCTION ctxbridge.count_entries, ctxbridge.count_frames; DROP TABLE ctxbridge.tenants, ctxbridge.limits;
         DELETE FROM ctxbridge.steps WHERE name = 'limits'`,
    )
    const shown = await said("dba", "status")
    expect(shown).toContain("version 5, without limits: ctxbridge server migrate")
    expect(shown).toMatch(/bob: \d+ turns/)
    expect(await cli("dba", "quota", "1GB")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("lacks limits"),
    })
    expect(await said("dba", "migrate", "--dry-run")).toContain("  limits: ")
    expect((await status("dba")).missing).toEqual(["limits"])
    expect(await said("dba", "migrate")).toContain("  limits: ")
    expect(await lineOf("bob")).toMatchObject({ bytes: Number(await counted("bob")), state: "active" })
  })

  test("tables that somebody has for himself become those of many, and what he has stays his", async () => {
    await psql(programs, server.address.replace("owner:", "dba:"), "CREATE DATABASE alone")
    const to = ["--to", addressOf("dba").replace(/memory$/, "alone")]
    const own = () =>
      closing(openPostgresTarget(serverAddress(to[1]!, NO_VARIABLES), undefined, false, "dba"))
    await using before = await own()
    const mine = turn("mine", { sessionId: "mine" })
    await before.put([mine])
    expect(await said("dba", "migrate", ...to)).toContain("is up to date")
    const owner = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = 'ctxbridge.entries'::regclass"
    const ownerNow = async () => (await psql(programs, to[1]!, owner)).stdout
    expect(await ownerNow()).toBe("dba")
    await said("dba", "init", ...to)
    expect(await ownerNow()).toBe("ctxbridge_owner")
    await using after = await own()
    expect([after.id, await after.get(mine.id)]).toEqual([before.id, mine])
  })

  describe.each([
    ["directly", undefined],
    ["through a pooler that refuses a search path", "extra_float_digits"],
    ["through one that leaves it out", "search_path"],
  ])("%s", (_how, ignored) => {
    test.skipIf(ignored !== undefined && pgbouncer === null)(
      "no function or operator that a user has left in public is called",
      async () => {
        const name = `path_${ignored}`
        await server.run(`CREATE DATABASE ${name}`)
        await server.run(`CREATE ROLE of_${name} LOGIN PASSWORD 'sesame'`)
        await rows("owner", `GRANT CREATE ON SCHEMA public TO of_${name}`, name)
        const traps = `CREATE FUNCTION public.format(text, text) RETURNS text LANGUAGE sql
            AS $$SELECT 'ALTER ROLE of_${name} SUPERUSER'$$;
          CREATE FUNCTION public.trap(oid, regclass) RETURNS boolean LANGUAGE plpgsql
            AS $$BEGIN EXECUTE 'ALTER ROLE of_${name} SUPERUSER'; RETURN $1 = $2::oid; END$$;
          CREATE OPERATOR public.= (LEFTARG = oid, RIGHTARG = regclass, FUNCTION = public.trap)`
        await rows(`of_${name}`, traps, name)
        const supers = () => rows("owner", "SELECT rolname FROM pg_roles WHERE rolsuper", name)
        await using pooler = await poolerOf(addressOf("owner", name), ignored)
        const script = await said("dba", "init", "--print")
        expect(await as("owner", script, name)).toMatchObject({ code: 0, stderr: "" })
        expect(await supers()).toBe("owner")
        for (const words of [["migrate"], ["grant", `of_${name}`], ["vacuum"], ["revoke", `of_${name}`]])
          expect({ words, ...(await cli("owner", ...words, "--to", pooler.address)) }).toMatchObject({
            ...{ words, code: 0, stderr: "" },
          })
        expect(await supers()).toBe("owner")
        await using target = await closing(
          openPostgresTarget(serverAddress(pooler.address, NO_VARIABLES), undefined, false, "owner"),
        )
        const put = turn("about walruses")
        expect(await target.put([put])).toEqual({ stored: 1, known: 0, refused: 0 })
        expect(await target.find({ words: "walruses", limit: 1 })).toMatchObject([{ id: put.id }])
        expect(await supers()).toBe("owner")
        // Others who get the same connection from a pooler have theirs.
        expect((await psql(programs, pooler.address, "SHOW search_path")).stdout).toBe('"$user", public')
      },
    )
  })

  test("words that cannot be meant are refused before anybody is asked", async () => {
    const env = { ...machine.env, CTXBRIDGE_SYNC_TO: "postgres://dba@127.0.0.1:1/memory" }
    for (const [words, problem] of [
      [["grnat"], "unknown action: grnat"],
      [["grant"], "which role?"],
      [["status", "x"], "unexpected argument: x"],
      [["quota", "much"], "quota needs a size, or off"],
      [["retention", "0"], "retention needs a number of days, or off"],
      [["retention", "--role", "bob"], "how many days?"],
      [["grant", "bob", "--delete"], "--delete goes with revoke"],
      [["revoke", "bob", "--delete", "--hand-over-to", "eve"], "cannot be used together"],
      [["revoke", "bob", "--hand-over-to", "bob"], "names the same role"],
    ] as const)
      expect({
        words,
        ...(await run(["server", ...words], { env, cwd: machine.cwd })),
      }).toMatchObject({ words, code: 64, stderr: expect.stringContaining(problem) })
    const help = await said("dba", "--help")
    expect(help.trimEnd().split("\n").length).toBeLessThanOrEqual(24)
  })
})
