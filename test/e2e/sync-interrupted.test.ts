/** A sync with a real PostgreSQL that is interrupted on either side: what was committed stays, and nothing is there twice. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { chownSync, mkdirSync } from "node:fs"
import { join } from "node:path"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { MOUNTS_REFUSED, smallDisk } from "../../src/cli/bench/torture/case-disk.ts"
import { run, start } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { installedPostgres, psql, type RealServer, startPostgres } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const programs = installedPostgres()
const TURNS = 600

/** An archive with several batches to send. */
async function archive(machine: Machine): Promise<void> {
  const session = machine.session()
  const dice = new Dice(1)
  const padding = "it went well and took a while ".repeat(250)
  for (let n = 0; n < TURNS; n++) {
    // Words that no server can compress.
    const words = Array.from({ length: 200 }, () => dice.id("w").slice(0, 10)).join(" ")
    session.turn(`turn ${n}`, [{ tool: "Bash", input: { command: "npm test" }, output: words + padding }])
  }
  session.flush()
  // No hook: its job would take the same transcript at the same time.
  expect(await run(["import"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0 })
}

describe.skipIf(programs === undefined)("Debian's PostgreSQL", () => {
  let server: RealServer
  beforeAll(async () => {
    server = await startPostgres(programs!)
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  const addressOf = (database: string): string => server.address.replace(/[a-z_0-9]+$/, database)
  const sync = (machine: Machine, database: string) =>
    run(["sync", "--json", "--to", addressOf(database)], { env: machine.env, cwd: machine.cwd })
  const starting = (machine: Machine, database: string) =>
    start(["sync", "--to", addressOf(database)], { env: machine.env, cwd: machine.cwd })
  /** Entries, and how many different ones. Empty while there are no tables. */
  /** Nothing while the server does not answer. */
  const rows = async (database: string): Promise<string> =>
    (
      await psql(
        programs!,
        addressOf(database),
        "SELECT count(*), count(DISTINCT key) FROM ctxbridge.entries",
      )
    ).stdout
  const ALL = { entries: TURNS, sessions: 1, forgotten: 0, damaged: 0 }

  test("the server crashes in the middle: it is said what is committed, and the rest is sent later", async () => {
    using machine = new Machine()
    await archive(machine)
    await server.run("CREATE DATABASE crashing")
    const { child, ended } = starting(machine, "crashing")
    while (["", "0|0"].includes(await rows("crashing"))) expect(child.exitCode).toBeNull()
    server.crash()
    const { code, stdout, stderr } = await ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(/; \d+ of 600 turns are committed there\nhint: .*\n$/)
    const committed = Number(/; (\d+) of/.exec(stderr)![1])
    expect(committed).toBeLessThan(TURNS)
    // Nobody there now: what is committed is not forgotten for that.
    expect(await starting(machine, "crashing").ended).toMatchObject({
      code: 1,
      stdout: "",
      stderr: expect.stringContaining("connection refused"),
    })
    server.start()
    const again = await sync(machine, "crashing")
    expect(again).toMatchObject({ code: 0, stderr: "" })
    const report = JSON.parse(again.stdout)
    expect(report).toMatchObject({ turns: TURNS - committed, refused: 0, there: ALL })
    expect(await rows("crashing")).toBe("600|600")
  })

  test("the server crashes at any moment: one clear line, and nothing of the package's", async () => {
    using machine = new Machine()
    await archive(machine)
    const dice = new Dice(7)
    for (let round = 0; round < 16; round++) {
      await server.run(`CREATE DATABASE crashing_${round}`)
      const { ended } = starting(machine, `crashing_${round}`)
      await Bun.sleep(dice.between(80, 500))
      server.crash()
      const { code, stderr } = await ended
      server.start()
      if (code === 0) continue
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/^ctxbridge: [^\n]*\nhint: [^\n]*\n$/),
      })
    }
  })

  test("killed twenty times at any moment, it ends with every turn there once", async () => {
    using machine = new Machine()
    await archive(machine)
    await server.run("CREATE DATABASE killing")
    const dice = new Dice(20)
    let killed = 0
    for (let round = 0; round < 20; round++) {
      const { child, ended } = starting(machine, "killing")
      await Promise.race([ended, Bun.sleep(dice.between(20, 600))])
      if (child.exitCode === null) killed++
      child.kill(9)
      await ended
    }
    expect(killed).toBeGreaterThan(5)
    const last = await sync(machine, "killing")
    expect({ code: last.code, ...JSON.parse(last.stdout) }).toMatchObject({ code: 0, refused: 0, there: ALL })
    expect(await rows("killing")).toBe("600|600")
    expect(JSON.parse((await sync(machine, "killing")).stdout)).toMatchObject({ turns: 0, there: ALL })
  })

  const mountable = ((): boolean => {
    using folder = tempFolder()
    using disk = smallDisk(folder.path, 1 << 20)
    return disk !== undefined
  })()

  test.skipIf(!mountable)(`the server's disk is full (skipped where ${MOUNTS_REFUSED})`, async () => {
    using machine = new Machine()
    await archive(machine)
    using folder = tempFolder()
    const disk = join(folder.path, "disk")
    mkdirSync(disk)
    using _small = smallDisk(disk, 14 << 20)
    const space = join(disk, "space")
    mkdirSync(space)
    chownSync(space, 65534, 65534)
    Bun.spawnSync(["chmod", "755", folder.path, disk])
    await server.run(`CREATE TABLESPACE small LOCATION '${space}'`)
    await server.run("CREATE DATABASE filling TABLESPACE small")
    const { code, stdout, stderr } = await starting(machine, "filling").ended
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toMatch(
      /the server's disk is full; \d+ of 600 turns are committed there\nhint: make room there.*\n$/,
    )
    const committed = Number(/; (\d+) of/.exec(stderr)![1])
    expect(Bun.spawnSync(["mount", "-o", `remount,size=${64 << 20}`, disk]).exitCode).toBe(0)
    // With a full disk, the server may not even count.
    expect(await rows("filling")).toBe(`${committed}|${committed}`)
    const again = await sync(machine, "filling")
    expect({ code: again.code, ...JSON.parse(again.stdout) }).toMatchObject({ code: 0, known: 0, there: ALL })
    await server.run("DROP DATABASE filling")
    await server.run("DROP TABLESPACE small")
  })
})
