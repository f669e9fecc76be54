/**
 * What a user encrypts at a real PostgreSQL: its administrator reads, forges and swaps nothing, no older program adds clear
 * text, and the user's machines go on as before.
 */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { writerName } from "../../src/sync/sync-ledger.ts"
import type { Entry } from "../../src/sync/targets/entry.ts"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { administerPostgres } from "../../src/sync/targets/postgres-admin.ts"
import { ADMINISTRATOR_SCRIPT } from "../../src/sync/targets/postgres-migrations.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import type { ServerWishes } from "../../src/sync/targets/postgres-unlock.ts"
import { SealedFolders } from "../../src/sync/targets/seal.ts"
import { type Ran, run } from "../support/binary.ts"
import { closing } from "../support/closing.ts"
import { Machine } from "../support/machine.ts"
import { olderProgram, olderSource } from "../support/older-source.ts"
import {
  NO_VARIABLES,
  postgresVersions,
  startPostgres,
  type TestServer,
  usersOf,
} from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"
import { draft, piece, targetContract } from "../unit/sync/contract.ts"

setDefaultTimeout(limit(300_000))

/** A commit whose program knows of no encryption at a server. */
const OLDER = "2aa84bf4"
const PASSPHRASE = "six plain words for a test"
const versions = postgresVersions()
const folder = tempFolder()
const older = olderSource(OLDER, folder.path)

if (versions.length === 0) test.skip("no PostgreSQL is installed", () => {})

afterAll(() => folder[Symbol.dispose]())

describe.each(versions)("encrypted at PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  const { addressOf, rows } = usersOf(() => server, programs)
  const address = (user = "alice") => serverAddress(addressOf(user), NO_VARIABLES)
  /** What a machine remembers, by its name. */
  const memories = new Map<string, SealedFolders>()
  const memoryOf = (machine: string): SealedFolders => {
    const known = memories.get(machine) ?? new SealedFolders(join(folder.path, crypto.randomUUID()))
    memories.set(machine, known)
    return known
  }
  const open = (machine = "one", wishes: ServerWishes = {}) =>
    closing(
      openPostgresTarget(address(), undefined, false, machine, {
        passphrase: PASSPHRASE,
        seen: memoryOf(machine),
        ...wishes,
      }),
    )
  const openClear = (machine = "one") => closing(openPostgresTarget(address(), undefined, false, machine))
  const read = (wishes: ServerWishes = { passphrase: PASSPHRASE }) =>
    closing(openPostgresTarget(address(), undefined, true, "", wishes))
  /** Every column of every row, as the owner sees them. */
  const dump = async (): Promise<string> => {
    const tables = await rows(
      "owner",
      "SELECT string_agg(oid::regclass::text, ' ' ORDER BY oid) FROM pg_class WHERE relnamespace = 'ctxbridge'::regnamespace AND relkind IN ('r', 'v', 'p')",
    )
    const all = await Promise.all(
      tables.split(" ").map((table) => rows("owner", `SELECT to_jsonb(t)::text || t::text FROM ${table} t`)),
    )
    return all.join("\n")
  }
  const counted = (table: string, where = "true"): Promise<string> =>
    rows("owner", `SELECT count(*) FROM ctxbridge.${table} WHERE tenant = 'alice' AND ${where}`)
  /** As the server's administrator, whom no trigger binds. */
  const asAdministrator = (statements: string): Promise<string> =>
    rows("owner", `SET session_replication_role = replica; ${statements}`)

  const afresh = async (): Promise<void> => {
    memories.clear()
    await rows("owner", "DROP SCHEMA IF EXISTS ctxbridge CASCADE; SET client_min_messages = error")
    await rows("owner", ADMINISTRATOR_SCRIPT)
    await rows("owner", "GRANT ctxbridge_user TO alice, bob")
  }

  beforeAll(async () => {
    server = await startPostgres(programs)
    await server.run("CREATE DATABASE memory")
    for (const user of ["alice", "bob"]) await server.run(`CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
  })
  afterAll(async () => server?.[Symbol.asyncDispose]())

  const secret = draft({
    content: "the launch code is swordfish",
    sessionId: "of-alice",
    project: "/src/moonshot",
    machine: "her-laptop",
    toolNames: ["mcp__vault__peek"],
    filePaths: ["/src/moonshot/launchpad.ts"],
    vector: [1, 0],
  })
  const { vector: _, ...kept } = secret
  const bytes = piece('{"text":"the launch code is swordfish"}\n', { session: "of-alice" })
  const TELLING =
    /swordfish|moonshot|launch|laptop|mcp__|of-alice|transcript:|2026-01-01T00:00:00|minilm|marlin/

  describe("as every target", () => {
    targetContract(
      "encrypted",
      async () => {
        await afresh()
        await rows("owner", "DROP SCHEMA ctxbridge CASCADE; GRANT CREATE ON DATABASE memory TO alice")
        return {
          open: (machine: string) => open(machine),
          read: () => read(),
          [Symbol.asyncDispose]: async () => {},
        }
      },
      { frames: true, isBlind: true },
    )
    afterEach(() => rows("owner", "DROP SCHEMA IF EXISTS ctxbridge CASCADE"))
  })

  test("the server has no word of it; another machine with the passphrase has all", async () => {
    await afresh()
    await using one = await open()
    expect(one).toMatchObject({ isBlind: true, folder: { encrypted: true, made: "server" } })
    expect(await one.put([secret])).toEqual({ stored: 1, known: 0, refused: 0 })
    await one.frames!.put([bytes])
    const fills = [{ session: "of-alice", key: "marlin", lines: { launch: [[1, 5]] as const } }]
    await one.forget({ ids: [draft({ content: "launch" }).id], sessions: ["of-alice-before"], fills })
    expect(await dump()).not.toMatch(TELLING)
    expect(await counted("entries", "words <> '' OR about <> '{}' OR embedding IS NOT NULL")).toBe("0")
    await using other = await open("other")
    expect(other.folder).toEqual({ encrypted: true, made: null })
    expect(await other.get(secret.id.slice(0, 16))).toEqual(kept)
    expect(await other.frames!.get([bytes])).toEqual([bytes])
    expect(await other.frames!.fills()).toEqual(fills)
    expect(await other.frames!.forgotten(["of-alice", "of-alice-before"])).toEqual(["of-alice-before"])
    expect(await other.put([secret])).toEqual({ stored: 0, known: 1, refused: 0 })
    const grown = draft({ ...secret.metadata, content: "changed", messages: 9 })
    expect(await other.put([grown, secret])).toEqual({ stored: 1, known: 1, refused: 0 })
    expect(await one.get(secret.id)).toBeUndefined()
    expect(await one.get(grown.id)).toEqual(grown)
    expect(await one.forget({ sessions: ["of-alice"] })).toBe(1)
    expect(await other.put([grown])).toEqual({ stored: 0, known: 0, refused: 1 })
    expect([await other.stats(), await other.frames!.list()]).toMatchObject([{ entries: 0 }, []])
    expect(await one.find({ words: "", limit: 5 })).toEqual([])
  })

  test("without the passphrase or with another one, nothing is read or written", async () => {
    await afresh()
    await using one = await open()
    await one.put([secret])
    const before = await dump()
    for (const passphrase of [undefined, "none of these words"]) {
      const told = passphrase === undefined ? / is encrypted$/ : /^wrong passphrase for /
      const refused = { code: "target-locked", message: expect.stringMatching(told) }
      await expect(open("two", { passphrase })).rejects.toMatchObject(refused)
      await expect(open("two", { passphrase, isEncrypting: true })).rejects.toMatchObject(refused)
      await expect(read({ passphrase }).then((found) => found.get(secret.id))).rejects.toMatchObject(refused)
    }
    expect(await dump()).toBe(before)
  })

  test("a passphrase that is set is a wish: what is there in clear text is not added to, and not taken", async () => {
    await afresh()
    await using clear = await openClear()
    await clear.put([secret])
    const refused = { code: "target-plain", hint: expect.stringContaining("ctxbridge sync --encrypt") }
    await expect(open()).rejects.toMatchObject(refused)
    await expect(read()).rejects.toMatchObject(refused)
    expect(await counted("seals")).toBe("0")
  })

  test("what was there in clear text is encrypted, also what other machines have sent", async () => {
    await afresh()
    const many = Array.from({ length: 130 }, (_, n) => draft({ content: `marlin ${n}`, sessionId: "many" }))
    const theirs = draft({ content: "launched elsewhere", sessionId: "elsewhere", machine: "elsewhere" })
    const long = Array.from({ length: 60 }, (_, n) => piece(`${n} swordfish\n`, { copy: `c0ffee-${n}` }))
    {
      await using one = await openClear()
      await using elsewhere = await openClear("elsewhere")
      await one.put([secret, ...many])
      await elsewhere.put([theirs])
      await one.frames!.put([bytes, ...long])
      const fills = [{ session: "many", key: "marlin", lines: { launch: [[1, 5]] as const } }]
      await one.forget({ ids: [many[0]!.id], sessions: ["launches"], fills })
      await one.shares!.offer("/src/moonshot", "ctxbridge_user")
    }
    expect(await dump()).toMatch(TELLING)
    const wishes = { isEncrypting: true }
    await using one = await open("one", wishes)
    expect(one.folder).toEqual({ encrypted: true, made: "server", replaced: { turns: 131, pieces: 61 } })
    expect(await dump()).not.toMatch(TELLING)
    expect(await rows("owner", "SELECT count(*) FROM ctxbridge.offers")).toBe("0")
    expect(await one.stats()).toMatchObject({ entries: 131, sessions: 3, forgotten: 2 })
    expect(await one.get(secret.id)).toEqual(kept)
    expect(await one.put([secret, many[0]!, theirs])).toEqual({ stored: 0, known: 2, refused: 1 })
    expect(await one.lacking(many.map(sentOf))).toEqual([])
    expect((await one.ownThere("one")).length).toBe(130)
    const frames = await one.frames!.list()
    expect(frames).toHaveLength(61)
    expect((await one.frames!.get(frames)).length).toBe(61)
    expect(await one.frames!.fills()).toHaveLength(1)
    expect(await one.frames!.forgotten(["launches"])).toEqual(["launches"])
    await using elsewhere = await open("elsewhere")
    expect((await elsewhere.ownThere("elsewhere")).map(({ id }) => id)).toEqual([theirs.id])
    await using again = await open("one", wishes)
    expect(again.folder).toEqual({ encrypted: true, made: null })
  })

  test("in tables by month, it says nothing of months", async () => {
    await afresh()
    const admin = await administerPostgres(address("owner"))
    await admin.migrate(false, true, true)
    await admin.close()
    {
      await using one = await openClear()
      await one.put([secret])
    }
    await using one = await open("one", { isEncrypting: true })
    expect(one.folder).toMatchObject({ replaced: { turns: 1, pieces: 0 } })
    const early = draft({
      content: "swordfish",
      sessionId: "of-alice",
      timestamp: "2025-03-03T00:00:00.000Z",
    })
    const grown = draft({ ...early.metadata, content: "grown", messages: 9 })
    expect(await one.put([early])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect(await one.put([early, grown, secret])).toEqual({ stored: 1, known: 2, refused: 0 })
    expect([await one.get(early.id), await one.get(grown.id)]).toEqual([undefined, grown])
    expect(await rows("owner", "SELECT DISTINCT tableoid::regclass FROM ctxbridge.entries")).toBe(
      "ctxbridge.entries_other",
    )
    expect(await rows("owner", "SELECT to_regclass('ctxbridge.entries_2025_03') IS NULL")).toBe("t")
    expect(await dump()).not.toMatch(TELLING)
  })

  test("whoever is stopped while that is under way goes on, and nothing is lost", async () => {
    await afresh()
    const many = Array.from({ length: 120 }, (_, n) => draft({ content: `marlin ${n}`, sessionId: "many" }))
    {
      await using one = await openClear()
      await one.put(many)
      await one.frames!.put([bytes])
    }
    // The second batch does not go through.
    await rows(
      "owner",
      `CREATE FUNCTION ctxbridge.stop_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF (SELECT count(*) FROM ctxbridge.entries WHERE key >= '~') > 50 THEN RAISE EXCEPTION 'stopped'; END IF;
         RETURN NULL; END $$;
       CREATE TRIGGER stop_it AFTER INSERT ON ctxbridge.entries EXECUTE FUNCTION ctxbridge.stop_it()`,
    )
    await expect(open("one", { isEncrypting: true })).rejects.toMatchObject({ code: "target-failed" })
    expect([await counted("entries", "key >= '~'"), await counted("entries", "key < '~'")]).toEqual([
      "50",
      "70",
    ])
    await rows("owner", "DROP FUNCTION ctxbridge.stop_it() CASCADE")
    // Nobody else takes for the user's what is still clear.
    await using other = await open("other", { isEncrypting: true })
    expect(other.folder).toEqual({ encrypted: true, made: null })
    expect(await other.frames!.list()).toEqual([])
    await using one = await open()
    expect(one.folder).toMatchObject({ replaced: { turns: 70, pieces: 1 } })
    expect(await one.lacking(many.map(sentOf))).toEqual([])
    expect(await other.frames!.get([bytes])).toEqual([bytes])
    expect(await counted("entries", "key < '~'")).toBe("0")
  })

  test("what was there is encrypted also where the first attempt was not committed", async () => {
    await afresh()
    {
      await using one = await openClear()
      await one.put([secret])
    }
    await rows(
      "owner",
      `CREATE FUNCTION ctxbridge.stop_it() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'stopped'; END $$;
       CREATE CONSTRAINT TRIGGER stop_it AFTER INSERT ON ctxbridge.seals DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION ctxbridge.stop_it()`,
    )
    await expect(open("one", { isEncrypting: true })).rejects.toMatchObject({ code: "target-failed" })
    await rows("owner", "DROP FUNCTION ctxbridge.stop_it() CASCADE")
    expect(await counted("seals")).toBe("0")
    await expect(open("one", { isEncrypting: true })).rejects.toMatchObject({
      code: "target-changed",
      hint: expect.stringContaining("--new-key"),
    })
    await using one = await open("one", { isNewKey: true })
    expect(one.folder).toEqual({ encrypted: true, made: "key", replaced: { turns: 1, pieces: 0 } })
    expect(await one.get(secret.id)).toEqual(kept)
    expect(await dump()).not.toMatch(TELLING)
    await using again = await open("one")
    expect([again.folder, (await again.stats()).clear]).toEqual([{ encrypted: true, made: null }, undefined])
  })

  test("a quota that is nearly reached keeps nobody from encrypting what gets smaller", async () => {
    await afresh()
    const admin = await administerPostgres(address("owner"))
    const many = Array.from({ length: 60 }, (_, n) =>
      draft({ content: `swordfish ${n} `.repeat(1000), sessionId: `of-alice-${n % 2}` }),
    )
    {
      await using one = await openClear()
      await one.put(many)
      await one.frames!.put([bytes])
    }
    const bytesThere = async (): Promise<number> =>
      Number(await rows("owner", "SELECT bytes FROM ctxbridge.tenants WHERE tenant = 'alice'"))
    await admin.limit("quota", "alice", (await bytesThere()) + 500)
    {
      await using one = await open("one", { isEncrypting: true })
      expect(one.folder?.replaced).toEqual({ turns: 60, pieces: 1 })
      expect(await dump()).not.toMatch(TELLING)
    }
    await admin.close()
  })

  test("whoever is over his quota once encrypted can forget, and goes on", async () => {
    await afresh()
    const admin = await administerPostgres(address("owner"))
    const many = Array.from({ length: 60 }, (_, n) =>
      draft({ content: `swordfish ${n}`, sessionId: `of-alice-${n % 3}`, chunkIndex: n }),
    )
    {
      await using one = await openClear()
      await one.put(many)
      await one.frames!.put([piece("swordfish\n", { session: "of-alice-1/agent" })])
    }
    await admin.limit(
      "quota",
      "alice",
      Number(await rows("owner", "SELECT bytes FROM ctxbridge.tenants WHERE tenant = 'alice'")),
    )
    {
      await using one = await open("one", { isEncrypting: true })
      const left = expect.stringContaining("the quota of alice is")
      expect(one.folder?.replaced).toMatchObject({ turns: 0, left })
      expect((await one.stats()).clear).toBeGreaterThanOrEqual(60)
      expect(await one.forget({ sessions: ["of-alice-1", "of-alice-2"], ids: [many[0]!.id] })).toBe(41)
      expect([await counted("entries", "key < '~'"), await counted("frames")]).toEqual(["19", "0"])
    }
    await using one = await open()
    expect(one.folder?.replaced).toEqual({ turns: 19, pieces: 0 })
    expect(await dump()).not.toMatch(TELLING)
    expect(await one.put(many)).toEqual({ stored: 0, known: 19, refused: 41 })
    expect(await one.stats()).not.toHaveProperty("clear")
    await admin.close()
  })

  /** What an administrator does, and what the user is told: with the machine's memory, and without. */
  const ATTACKS: readonly (readonly [
    does: string,
    sql: string,
    seen: RegExp,
    unseen: RegExp,
    locked: RegExp,
  ])[] = [
    [
      "no description of the key",
      "DELETE FROM ctxbridge.seals",
      /was encrypted, and it says now that it is not/,
      /holds encrypted turns, and says that nothing is encrypted/,
      /holds encrypted turns, and says that nothing is encrypted/,
    ],
    [
      "no description, and no rows",
      "DELETE FROM ctxbridge.seals; DELETE FROM ctxbridge.entries; DELETE FROM ctxbridge.frames",
      /was encrypted, and it says now that it is not/,
      /^$/,
      /^$/,
    ],
    [
      "a step that is not there",
      "DELETE FROM ctxbridge.steps WHERE name = 'sealing'",
      /was encrypted, and it says now that it is not/,
      /holds encrypted turns, and says that nothing is encrypted/,
      /holds encrypted turns, and says that nothing is encrypted/,
    ],
    [
      "another salt",
      "UPDATE ctxbridge.seals SET about = about || jsonb_build_object('salt', 'AAAAAAAAAAAAAAAAAAAAAA==')",
      /has another key than when it was last seen here/,
      /^wrong passphrase for /,
      / is encrypted$/,
    ],
    [
      "figures that no key is made with",
      "UPDATE ctxbridge.seals SET about = about || '{\"n\": 7}'",
      /has another key than when it was last seen here/,
      /what it says of your key cannot be read/,
      /what it says of your key cannot be read/,
    ],
    [
      "tables of another name",
      "UPDATE ctxbridge.target SET id = 'theirs'",
      /has another key than when it was last seen here/,
      /^$/,
      / is encrypted$/,
    ],
  ]

  test.each(ATTACKS)("refused: %s", async (_does, sql, seen, unseen, locked) => {
    await afresh()
    {
      await using one = await open()
      await one.put([secret])
      await one.frames!.put([bytes])
    }
    await asAdministrator(sql)
    const before = await dump()
    const told = async (opening: Promise<AsyncDisposable>): Promise<string> => {
      try {
        await (await opening)[Symbol.asyncDispose]()
        return ""
      } catch (error) {
        return (error as Error).message
      }
    }
    for (const wishes of [{}, { isEncrypting: true }, { passphrase: undefined }])
      expect(await told(open("one", wishes))).toMatch(seen)
    const seenThere = { seen: memoryOf("one") }
    expect(await told(read({ passphrase: PASSPHRASE, ...seenThere }))).toMatch(seen)
    expect(await told(read(seenThere))).toMatch(seen)
    // Whoever has never seen it before.
    expect(await told(openPostgresTarget(address(), undefined, false, "new").then(asDisposable))).toMatch(
      locked,
    )
    expect(await dump()).toBe(before)
    expect(await told(open("new"))).toMatch(unseen)
    expect(await dump()).not.toMatch(TELLING)
  })

  test("rows that are changed, swapped or put back in another's place are no turns, and are sent again", async () => {
    await afresh()
    const [a, b, c, d] = ["one", "two", "three", "four"].map((content) =>
      draft({ content, sessionId: content }),
    )
    const pieces = ["k", "l", "m", "n"].map((copy) => piece(`${copy} of it\n`, { copy }))
    await using one = await open()
    await one.put([a!, b!, c!, d!])
    await one.frames!.put(pieces)
    const hidden = JSON.parse(
      await rows("owner", "SELECT jsonb_agg(key ORDER BY stored, key) FROM ctxbridge.entries"),
    )
    expect(hidden).toHaveLength(4)
    await asAdministrator(`
      UPDATE ctxbridge.entries e SET content = o.content, metadata = o.metadata, id = o.id FROM ctxbridge.entries o
        WHERE (e.key, o.key) IN (('${hidden[0]}', '${hidden[1]}'), ('${hidden[1]}', '${hidden[0]}'));
      UPDATE ctxbridge.entries SET content = overlay(content placing 'AAAA' from 30) WHERE key = '${hidden[2]}'`)
    const readable = (await Promise.all([a!, b!, c!, d!].map(({ id }) => one.get(id)))).filter(
      (it) => it !== undefined,
    )
    expect(readable).toHaveLength(1)
    expect(await one.mend()).toBe(3)
    expect(await one.lacking([a!, b!, c!, d!].map(sentOf))).toHaveLength(3)
    expect(await one.put([a!, b!, c!, d!])).toEqual({ stored: 3, known: 1, refused: 0 })
    for (const wrong of ["messages = 99", "taken_back = true", "session = '~'"]) {
      await asAdministrator(`UPDATE ctxbridge.entries SET ${wrong} WHERE key = '${hidden[3]}'`)
      expect(await one.mend()).toBe(1)
      expect(await one.put([a!, b!, c!, d!])).toEqual({ stored: 1, known: 3, refused: 0 })
    }
    const copies = JSON.parse(
      await rows("owner", "SELECT jsonb_agg(copy ORDER BY copy) FROM ctxbridge.frames"),
    )
    await asAdministrator(`
      UPDATE ctxbridge.frames e SET frame = o.frame FROM ctxbridge.frames o
        WHERE (e.copy, o.copy) IN (('${copies[0]}', '${copies[1]}'), ('${copies[1]}', '${copies[0]}'));
      UPDATE ctxbridge.frames SET about = jsonb_build_object('sealed', 'AAAA') WHERE copy = '${copies[2]}'`)
    const listed = await one.frames!.list()
    expect([listed.length, one.frames!.unreadable!()]).toEqual([3, 1])
    const got = await one.frames!.get(listed)
    expect(got.filter(({ frame }) => frame.length === 0)).toHaveLength(2)
    expect(await one.mend()).toBe(0)
    expect(await one.frames!.put(pieces)).toEqual({ stored: 1, known: 3, refused: 0 })
  })

  test("clear rows beside encrypted ones are nobody's, however they came there", async () => {
    await afresh()
    await using one = await open()
    await one.put([secret])
    const forged = draft({ content: "forged", sessionId: "forged" })
    await asAdministrator(`
      INSERT INTO ctxbridge.entries (tenant, key, id, session, project, messages, taken_back, summary, content, metadata, words, about, writer)
        VALUES ('alice', '${forged.key}', '${forged.id}', 'forged', '/x', 2, false, 'forged', 'forged',
          '${JSON.stringify(forged.metadata)}', 'forged', '{forged}', 'one');
      INSERT INTO ctxbridge.frames (tenant, writer, copy, start, session, about, frame)
        VALUES ('alice', 'x', 'x', 0, 'forged', '${JSON.stringify(aboutOf(piece("forged\n")))}', '\\x00')`)
    await using again = await open("one", { isEncrypting: true })
    expect(again.folder).toEqual({ encrypted: true, made: null })
    expect(await again.get(forged.id)).toBeUndefined()
    expect((await again.ownThere("one")).map(({ id }) => id)).toEqual([secret.id])
    expect([await again.frames!.list(), again.frames!.unreadable!()]).toEqual([[], 1])
    expect((await again.stats()).clear).toBe(2)
    expect(await again.mend()).toBe(1)
    expect((await again.stats()).clear).toBeUndefined()
    expect([await counted("entries"), await counted("frames")]).toEqual(["1", "0"])
  })

  test.skipIf(older === undefined)(
    "an older program of the user can neither add clear text nor remove anything",
    async () => {
      await afresh()
      const { open: openOlder } = await olderProgram(older!)
      const before = await openOlder(address(), undefined, false, "old")
      await before.put([draft({ content: "clear before" })])
      const one = await open("one", { isEncrypting: true })
      await one.put([secret])
      await one.close()
      const there = await dump()
      // One that was open before is told, as is one that comes later.
      for (const old of [before, await openOlder(address(), undefined, false, "old")]) {
        const refused = {
          message: expect.stringContaining("what alice keeps here is encrypted, and this is not"),
        }
        await expect(old.put([draft({ content: "swordfish" })])).rejects.toMatchObject(refused)
        await expect(old.frames!.put([bytes])).rejects.toMatchObject(refused)
        await expect(old.forget({ sessions: ["of-alice"] })).rejects.toMatchObject(refused)
        await expect(old.forget({ fills: [{ session: "s", key: "k", lines: {} }] })).rejects.toMatchObject(
          refused,
        )
        expect(await old.mend()).toBe(0)
        expect(await old.get(secret.id)).toBeUndefined()
        await old.close()
      }
      expect(await dump()).toBe(there)
    },
  )

  test.each([false, true])(
    "of this program, one that had opened it before is told what to do; by month: %p",
    async (isByMonth) => {
      await afresh()
      if (isByMonth) {
        const admin = await administerPostgres(address("owner"))
        await admin.migrate(false, true, true)
        await admin.close()
      }
      const written = (): Promise<string> =>
        rows(
          "owner",
          "SELECT sum(pg_relation_size(oid) + pg_relation_size(reltoastrelid)) FROM pg_class WHERE relnamespace = 'ctxbridge'::regnamespace AND relname ~ '^(entries|frames)' AND relkind = 'r'",
        )
      await using before = await openClear("late")
      await using one = await open("one")
      const nothing = await written()
      const refused = {
        code: "target-locked",
        message: expect.stringContaining("it was not kept"),
        hint: expect.stringContaining("CTXBRIDGE_SYNC_PASSPHRASE"),
      }
      await expect(before.put([draft({ content: "swordfish", timestamp: null })])).rejects.toMatchObject(
        refused,
      )
      await expect(before.frames!.put([bytes])).rejects.toMatchObject(refused)
      // Not even as something that was rolled back.
      expect(await written()).toBe(nothing)
      await expect(before.shares!.offer("/src/moonshot", "ctxbridge_user")).rejects.toMatchObject(refused)
      expect([await one.put([secret]), await counted("entries")]).toEqual([
        { stored: 1, known: 0, refused: 0 },
        "1",
      ])
    },
  )

  test("where there is only what was taken out, or what was shared in earlier versions, nothing stays", async () => {
    await afresh()
    const fills = [{ session: "of-alice", key: "marlin", lines: { launch: [[1, 5]] as const } }]
    {
      await using one = await openClear()
      await one.forget({ fills })
    }
    await rows("owner", "INSERT INTO ctxbridge.shared VALUES ('alice', '/src/moonshot', 'ctxbridge_user')")
    await expect(open()).rejects.toMatchObject({ code: "target-plain" })
    await using one = await open("one", { isEncrypting: true })
    expect(await one.frames!.fills()).toEqual(fills)
    expect(await dump()).not.toMatch(TELLING)
  })

  test("whoever has encrypted his own asks for no id among what others share", async () => {
    await afresh()
    await using bob = await closing(openPostgresTarget(address("bob"), undefined, false, "bob"))
    await bob.put([secret])
    await bob.shares!.offer("/src/moonshot", "ctxbridge_user")
    {
      await using clear = await openClear()
      expect(await clear.shares!.accept("bob", "/src/moonshot")).toBe(1)
      expect((await clear.shares!.get(secret.id))?.by).toBe("bob")
    }
    await using one = await open()
    expect(await one.shares!.get(secret.id)).toBeUndefined()
  })

  test("a new key: what it opens is taken, and what it does not is kept apart until --all", async () => {
    await afresh()
    const first = await open()
    await first.put([secret])
    await first.close()
    const same = await open("one", { isNewKey: true })
    expect([same.id, same.folder]).toEqual([first.id, { encrypted: true, made: null }])
    await same.close()
    const changed = { passphrase: "other words than before", isNewKey: true }
    await using one = await open("one", changed)
    expect(one.folder).toEqual({ encrypted: true, made: "key" })
    expect(one.id).not.toBe(first.id)
    expect(await one.get(secret.id)).toBeUndefined()
    expect(await one.put([secret])).toEqual({ stored: 1, known: 0, refused: 0 })
    expect((await one.stats()).entries).toBe(2)
    expect(await one.mend()).toBe(1)
    expect(await one.get(secret.id)).toEqual(kept)
    await expect(open("two")).rejects.toMatchObject({ code: "target-locked" })
    // What takes the place of a key that is gone takes no clear text of somebody else's for the user's.
    await asAdministrator("DELETE FROM ctxbridge.seals")
    await using restored = await open("one", changed)
    expect(restored.folder).toEqual({ encrypted: true, made: "key" })
    expect(await restored.mend()).toBe(1)
  })

  test("an administrator's limits hold, and nobody takes over what nobody can read", async () => {
    await afresh()
    const admin = await administerPostgres(address("owner"))
    await using one = await open()
    await using bob = await closing(openPostgresTarget(address("bob"), undefined, false, "bob"))
    await bob.put([draft({ content: "clear" })])
    await one.put([secret])
    await admin.limit("quota", "alice", 2000)
    await expect(
      one.put([draft({ content: crypto.getRandomValues(new Uint8Array(3000)).join() })]),
    ).rejects.toMatchObject({
      code: "target-quota",
    })
    await admin.limit("quota", "alice", null)
    for (const [role, to] of [
      ["alice", "bob"],
      ["bob", "alice"],
    ] as const)
      await expect(admin.revoke(role, { to }, false)).rejects.toMatchObject({
        code: "target-encrypted",
        message: expect.stringContaining("what alice keeps there is encrypted"),
      })
    await rows(
      "owner",
      "UPDATE ctxbridge.entries SET stored = now() - interval '3 days' WHERE tenant = 'alice'",
    )
    expect(await admin.expire(false, { role: "alice", days: 1 })).toBe(1)
    expect(await one.put([secret])).toEqual({ stored: 0, known: 0, refused: 1 })
    await admin.revoke("alice", "delete", false)
    expect([await counted("seals"), await counted("forgotten")]).toEqual(["0", "0"])
    await admin.close()
  })

  test("the commands: two machines come to have the same, and nothing tells what it is", async () => {
    await afresh()
    using laptop = new Machine()
    using desktop = new Machine()
    const cli = (
      machine: Machine,
      words: readonly string[],
      passphrase: string | undefined = PASSPHRASE,
    ): Promise<Ran> =>
      run(words, {
        env: {
          ...machine.env,
          CTXBRIDGE_SYNC_TO: addressOf("alice"),
          ...(passphrase !== "" && { CTXBRIDGE_SYNC_PASSPHRASE: passphrase }),
        },
        cwd: machine.cwd,
      })
    const said = async (machine: Machine, ...words: string[]): Promise<string> => {
      const { code, stdout, stderr } = await cli(machine, words)
      expect({ words, code, stderr }).toEqual({ words, code: 0, stderr: "" })
      return stdout
    }
    const step = {
      tool: "Peekaboo",
      input: { file_path: join(laptop.root, "zeppelin.ts") },
      output: "helium",
    }
    const moonshot = join(laptop.root, "moonshot")
    mkdirSync(moonshot)
    const session = laptop
      .session({ cwd: moonshot })
      .turn("Why does the walrus sleep?", [step], "Because of the moon")
      .flush()
    await laptop.hook("stop", session)
    // Whoever only fetches makes no key.
    expect(await cli(desktop, ["sync", "--pull"])).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("no machine has sent frames"),
    })
    expect(await counted("seals")).toBe("0")
    expect(await cli(laptop, ["sync"], "")).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Sent 1 turn"),
    })
    expect(await cli(laptop, ["sync"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("a passphrase is set"),
    })
    expect(await cli(laptop, ["sync", "--encrypt"], "")).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("--encrypt needs a passphrase"),
    })
    const begun = await said(laptop, "sync", "--encrypt", "--frames")
    expect(begun).toContain("Encrypted what was there before: 1 turn, 0 pieces of transcripts")
    expect(begun).toContain("ctxbridge server vacuum")
    expect(begun).toContain("(encrypted from now on)")
    expect(begun).toContain("1 turn already there")
    expect(await said(laptop, "sync", "--frames")).toContain("Nothing new for")
    await desktop.hook(
      "stop",
      desktop.session({ id: "d5e55104-0000-4000-8000-000000000001" }).turn("Feed the seals").flush(),
    )
    expect(await cli(desktop, ["sync", "--pull"], "")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(/ is encrypted\n.*CTXBRIDGE_SYNC_PASSPHRASE/s),
    })
    const everywhere = ["search", "--everywhere", "walrus"]
    const only =
      " is encrypted, so words are searched at home alone: ctxbridge sync --pull fetches what is there\n"
    const found = await cli(laptop, everywhere)
    expect(found).toMatchObject({ code: 0, stdout: expect.stringContaining("moon") })
    expect(found.stderr).toMatch(/^warning: [^\n]+\n$/)
    expect(found.stderr).toEndWith(only)
    expect(await cli(desktop, everywhere)).toMatchObject({ code: 3, stderr: expect.stringContaining(only) })
    expect(await cli(desktop, ["search", "--backend", addressOf("alice"), "walrus"])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(only),
    })
    const [id] = [JSON.parse(await said(laptop, "export", session.session, "--entries")).id.slice(0, 16)]
    expect(await said(desktop, "show", `far:${id}`)).toContain("Because of the moon")
    await said(desktop, "sync", "--pull", "--frames")
    await said(laptop, "sync", "--pull", "--frames")
    for (const [machine, words, answer] of [
      [desktop, "walrus", "moon"],
      [laptop, "seals", "Feed the seals"],
    ] as const)
      expect(await said(machine, "search", "--all-projects", words)).toContain(answer)
    // They are the user's own.
    expect(await said(desktop, "verify")).toBeTruthy()
    const all = await dump()
    for (const word of [
      ...[
        "walrus",
        "moon",
        "seals",
        "Peekaboo",
        "zeppelin",
        "helium",
        "Answer to",
        session.session,
        "d5e55104",
      ],
      ...["ctxbridge-e2e", writerName(laptop.dataHome), writerName(desktop.dataHome), '"machine"'],
    ])
      expect({ word, isThere: all.includes(word) }).toEqual({ word, isThere: false })
    expect(await cli(laptop, ["share", ".", "--with", "ctxbridge_user"])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("is encrypted, and cannot be shared"),
    })
    // Forgotten here, and gone there.
    await said(laptop, "forget", session.session, "--yes")
    expect(await said(laptop, "sync", "--frames")).toContain("Forgotten there: 1 entry")
    expect(await said(desktop, "sync", "--pull", "--frames")).toContain("forgotten on another machine")
    expect(await counted("entries")).toBe("1")
    // Lost there, and sent again.
    await asAdministrator("DELETE FROM ctxbridge.entries; DELETE FROM ctxbridge.frames")
    const again = await said(desktop, "sync", "--frames")
    expect(again).toContain("1 of these had been sent before, and was lost there")
    expect(again).toContain("1 transcript had been lost or damaged there")
    expect(await said(desktop, "status", "--verbose")).toContain("encrypted")
  })
})

const aboutOf = ({ frame: _, ...about }: ReturnType<typeof piece>) => about

const sentOf = ({ id, key, metadata: { sessionId, messages } }: Entry) => ({
  id,
  key,
  session: sessionId,
  messages,
})

const asDisposable = <T extends { close(): Promise<void> }>(target: T): AsyncDisposable => ({
  [Symbol.asyncDispose]: () => target.close(),
})
