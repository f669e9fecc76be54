/**
 * Users of one server need not upgrade at once: an older program and this one work on the same tables, whichever of them
 * made these, for the owner and for ordinary users. The older one is the program as it was before there were steps.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { serverAddress } from "../../src/sync/targets/postgres-address.ts"
import { ADMINISTRATOR_SCRIPT } from "../../src/sync/targets/postgres-migrations.ts"
import { PARTITIONING_SCRIPT } from "../../src/sync/targets/postgres-partitions.ts"
import { openPostgresTarget } from "../../src/sync/targets/postgres-target.ts"
import type { Target } from "../../src/sync/targets/target.ts"
import { closing } from "../support/closing.ts"
import { type OlderProgram, olderProgram, olderSource } from "../support/older-source.ts"
import { NO_VARIABLES, postgresVersions, psql, startPostgres, type TestServer } from "../support/postgres.ts"
import { tempFolder } from "../support/temp.ts"
import { draft, piece } from "../unit/sync/contract.ts"

setDefaultTimeout(120_000)

/** The last commit whose program knows of no steps. */
const OLDER = "af5688af"

const folder = tempFolder()
const source = olderSource(OLDER, folder.path)
const versions = source === undefined ? [] : postgresVersions()

afterAll(() => folder[Symbol.dispose]())

if (versions.length === 0) test.skip(`PostgreSQL or the history with ${OLDER} is not here`, () => {})

const newer: OlderProgram = { open: openPostgresTarget, script: ADMINISTRATOR_SCRIPT }

const older = (): Promise<OlderProgram> => olderProgram(source!)

let rounds = 0

/** What two programs do at one target, one after the other and at once: both see the same, and nothing is lost or twice. */
async function workTogether(one: Target, other: Target): Promise<void> {
  const round = ++rounds
  const session = `round-${round}`
  const at = { sessionId: session, project: `/src/round-${round}` }
  expect(one.id).toBe(other.id)
  const [first, second, both] = [
    draft({ ...at, content: "about the swordfish", vector: [1, 0] }),
    draft({ ...at, content: "about the swordfish and the marlin", vector: [0, 1] }),
    draft({ ...at, content: "about the tuna" }),
  ] as const
  const grown = draft({ ...both.metadata, content: "about the tuna, and more", messages: 9 })
  expect(grown.key).toBe(both.key)
  expect(await one.put([first, both])).toEqual({ stored: 2, known: 0, refused: 0 })
  expect(await other.put([first, second, grown])).toEqual({ stored: 2, known: 1, refused: 0 })
  expect(await one.put([second, both])).toEqual({ stored: 0, known: 2, refused: 0 })
  // At once.
  const crowd = Array.from({ length: 40 }, (_, n) => draft({ ...at, content: `herring ${n}` }))
  const reports = await Promise.all([one.put(crowd.slice(0, 30)), other.put(crowd.slice(10))])
  expect(reports.reduce((sum, { stored }) => sum + stored, 0)).toBe(crowd.length)
  const wanted = { session, limit: 99 }
  for (const query of [
    { words: "swordfish", ids: [first.id, second.id] },
    { words: "tuna", ids: [grown.id] },
    { words: "herring", ids: crowd.map(({ id }) => id) },
    { words: "marlin tuna", isAny: true, ids: [second.id, grown.id] },
  ])
    for (const target of [one, other]) {
      const found = await target.find({ ...wanted, ...query })
      expect(found.map(({ id }) => id).toSorted()).toEqual(query.ids.toSorted())
    }
  for (const target of [one, other]) {
    expect(await target.find({ ...wanted, limit: 1, vector: first.vector! })).toMatchObject([
      { id: first.id },
    ])
    expect(await target.get(second.id)).toEqual(second)
    expect(await target.get(both.id)).toBeUndefined()
    const sent = [first, second, grown].map(({ key, id, metadata }) => ({
      key,
      id,
      session,
      messages: metadata.messages,
    }))
    expect(await target.lacking(sent)).toEqual([])
  }

  const bytes = [
    piece("one\n", { session, copy: `c${round}a` }),
    piece("two\n", { session, copy: `c${round}b` }),
  ]
  expect(await one.frames!.put([bytes[0]!])).toMatchObject({ stored: 1 })
  expect(await other.frames!.put([bytes[1]!])).toMatchObject({ stored: 1 })
  expect(await other.frames!.put([bytes[1]!])).toMatchObject({ stored: 0, known: 1 })
  const names = await one.frames!.list()
  expect(await other.frames!.list()).toEqual(names)
  const own = names.filter(({ session: of }) => of === session)
  expect(own).toHaveLength(2)
  expect(await other.frames!.get(own)).toEqual(await one.frames!.get(own))

  // What one forgets, the other refuses.
  expect(await one.forget({ ids: [first.id] })).toBe(1)
  expect(await other.get(first.id)).toBeUndefined()
  expect(await other.put([first])).toEqual({ stored: 0, known: 0, refused: 1 })
  expect(await other.forget({ sessions: [session] })).toBe(crowd.length + 2)
  expect(await one.put([second])).toEqual({ stored: 0, known: 0, refused: 1 })
  expect(await one.frames!.put([bytes[0]!])).toMatchObject({ stored: 0, refused: 1 })
  const kept = draft({ content: `kept of round ${round}`, sessionId: `kept-${round}` })
  expect(await other.put([kept])).toMatchObject({ stored: 1 })
  expect(await one.get(kept.id)).toEqual(kept)
  expect(await one.stats()).toEqual(await other.stats())
  expect(await one.tally!()).toEqual(await other.tally!())
  expect(await one.forgottenThere()).toBe(await other.forgottenThere())
}

describe.each(versions)("an older program and this one on PostgreSQL %s", (_version, programs) => {
  let server: TestServer
  let old: OlderProgram
  const addressOf = (user: string, database: string): string =>
    server.address.replace("owner:", `${user}:`).replace(/[a-z]+$/, database)
  const open = ({ open }: OlderProgram, user: string, database: string) =>
    closing(open(serverAddress(addressOf(user, database), NO_VARIABLES), undefined, false, "one"))
  const rows = async (user: string, database: string, statements: string): Promise<string> => {
    const { code, stdout, stderr } = await psql(programs, addressOf(user, database), statements)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  const steps = (database: string, user = "owner") =>
    rows(user, database, "SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM ctxbridge.steps")

  beforeAll(async () => {
    old = await older()
    server = await startPostgres(programs)
    for (const user of ["alice", "carol"]) await server.run(`CREATE ROLE ${user} LOGIN PASSWORD 'sesame'`)
    await server.run("CREATE ROLE team; GRANT team TO carol")
  })
  afterAll(async () => server?.[Symbol.asyncDispose]())

  test("an administrator who is no superuser makes the roles and the tables, and may do so again", async () => {
    await server.run("CREATE ROLE dba LOGIN CREATEROLE CREATEDB PASSWORD 'sesame'")
    await rows("dba", "postgres", "CREATE DATABASE own")
    for (let times = 0; times < 2; times++) await rows("dba", "own", newer.script)
    expect(await steps("own", "dba")).toContain("sharing")
    const owners = `SELECT DISTINCT pg_get_userbyid(relowner) FROM pg_class WHERE relnamespace = 'ctxbridge'::regnamespace`
    expect(await rows("dba", "own", owners)).toBe("ctxbridge_owner")
    await rows("dba", "own", "GRANT ctxbridge_user TO alice")
    await using one = await open(old, "alice", "own")
    await using other = await open(newer, "alice", "own")
    await workTogether(one, other)
  })

  test("whose tables they are: whoever made them, both go on, and this one takes the steps", async () => {
    for (const [database, first] of [
      ["oldest", old],
      ["newest", newer],
    ] as const) {
      await server.run(`CREATE DATABASE ${database}`)
      await using one = await open(first, "owner", database)
      const kept = draft({ content: "from the beginning" })
      await one.put([kept])
      await using other = await open(first === old ? newer : old, "owner", database)
      expect(await other.get(kept.id)).toEqual(kept)
      expect(await steps(database)).toContain("sharing")
      await workTogether(one, other)
      await workTogether(other, one)
      // Opened again, the older one changes nothing back.
      await using again = await open(old, "owner", database)
      expect(await again.get(kept.id)).toEqual(kept)
      expect(await steps(database)).toContain("sharing")
      expect(await rows("owner", database, "SELECT version FROM ctxbridge.target")).toBe("5")
    }
  })

  test("an administrator's tables: users of both go on before the script, while it runs, and after it", async () => {
    await server.run("CREATE DATABASE many")
    await rows("owner", "many", old.script)
    await server.run("GRANT ctxbridge_user TO alice, carol")
    await using before = await open(old, "alice", "many")
    await using after = await open(newer, "alice", "many")
    await workTogether(before, after)
    // Not even a superuser's sync: what he made would be his, and not the owner's.
    await using superuser = await open(newer, "owner", "many")
    expect(await superuser.stats()).toMatchObject({ entries: 0 })
    expect(await rows("owner", "many", "SELECT to_regclass('ctxbridge.steps') IS NULL")).toBe("t")
    await expect(after.shares!.offers()).rejects.toMatchObject({
      code: "target-older",
      hint: expect.stringContaining("ctxbridge server migrate"),
    })

    // One who is in the middle of something neither waits for the script, nor keeps it waiting.
    const words = [`${programs}/psql`, "-qXAt", "-d", addressOf("carol", "many"), "-f", "-"]
    const carol = Bun.spawn(words, { stdin: "pipe", stdout: "pipe", stderr: "pipe" })
    try {
      carol.stdin.write(
        `BEGIN; SELECT count(*) FROM ctxbridge.entries, ctxbridge.target; INSERT INTO ctxbridge.forgotten (kind, name)
             VALUES ('id', 'x'); SELECT 'all done';\n`,
      )
      await carol.stdin.flush()
      const reader = carol.stdout.getReader()
      for (let text = ""; !text.includes("all done"); ) {
        const { value, done } = await reader.read()
        if (done) throw new Error(`psql ended: ${text}`)
        text += new TextDecoder().decode(value)
      }
      await rows("owner", "many", `SET lock_timeout = '10s';\n${newer.script}`)
    } finally {
      carol.stdin.end()
      await carol.exited
    }
    // Neither was opened anew.
    await workTogether(before, after)
    await using anew = await open(newer, "alice", "many")
    await workTogether(before, anew)
    const turn = draft({ content: "to be shared", project: "/src/shared" })
    await before.put([turn])
    await using other = await open(newer, "carol", "many")
    const seen = async () => (await other.find({ words: "shared", limit: 9 })).map(({ id }) => id)
    await anew.shares!.offer("/src/shared", "team")
    await other.shares!.accept("alice", "/src/shared")
    expect(await seen()).toEqual([turn.id])
    // An older program knows nothing of it, and shows nobody anything.
    await using unaware = await open(old, "carol", "many")
    expect(await unaware.find({ words: "shared", limit: 9 })).toEqual([])

    // Somebody runs the older script again.
    await rows("owner", "many", old.script)
    await workTogether(before, anew)
    expect(await seen()).toEqual([turn.id])
    expect(await steps("many")).toContain("sharing")
  })

  test("tables by month: the older program says that it must be upgraded, and changes nothing", async () => {
    await server.run("CREATE DATABASE months")
    await rows("owner", "months", old.script)
    await server.run("GRANT ctxbridge_user TO alice")
    await using before = await open(old, "alice", "months")
    const kept = draft({ content: "from the beginning" })
    await before.put([kept])
    await rows("owner", "months", `${newer.script}${PARTITIONING_SCRIPT}`)
    await expect(open(old, "alice", "months")).rejects.toMatchObject({
      code: "target-newer",
      message: expect.stringContaining("was set up by a newer version of ctxbridge (105)"),
      hint: "upgrade ctxbridge on this machine",
    })
    // Its script knows nothing of them either, and does no harm.
    await rows("owner", "months", old.script)
    // One that was there before reads and removes, and puts nothing.
    expect(await before.get(kept.id)).toEqual(kept)
    await expect(before.put([draft({})])).rejects.toMatchObject({ code: "target-failed" })
    expect(await before.forget({ ids: [kept.id] })).toBe(1)
    await using after = await open(newer, "alice", "months")
    expect(await after.put([kept, draft({})])).toEqual({ stored: 1, known: 0, refused: 1 })
  })

  test("tables of this program's script: users of the older one go on", async () => {
    await server.run("CREATE DATABASE fresh")
    await rows("owner", "fresh", newer.script)
    await server.run("GRANT ctxbridge_user TO alice, carol")
    await rows("owner", "fresh", "UPDATE ctxbridge.target SET version = 6")
    const script = await psql(programs, addressOf("owner", "fresh"), newer.script)
    expect(script).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("this script knows version 5"),
    })
    await rows("owner", "fresh", "UPDATE ctxbridge.target SET version = 5")
    await using one = await open(old, "alice", "fresh")
    await using other = await open(newer, "alice", "fresh")
    await workTogether(one, other)
    await workTogether(other, one)
    // A quota binds both: the older one says what the server says.
    await rows("owner", "fresh", "INSERT INTO ctxbridge.limits (tenant, quota) VALUES ('alice', 100)")
    for (const [program, code] of [
      [one, "target-failed"],
      [other, "target-quota"],
    ] as const)
      await expect(program.put([draft({ content: "x".repeat(500) })])).rejects.toMatchObject({
        code,
        message: expect.stringMatching(/the quota of alice is 100 bytes.*nothing is lost at home/),
      })
  })
})
