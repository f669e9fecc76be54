/** `ctxbridge sync` from one machine and from several: to a folder, and to a real PostgreSQL server. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { MOUNTS_REFUSED, smallDisk } from "../../src/cli/bench/torture/case-disk.ts"
import { ADMINISTRATOR_SCRIPT } from "../../src/sync/targets/postgres-migrations.ts"
import { run, start } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { freePort, startPglite, type TestServer } from "../support/postgres.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

const cli = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

async function synced(machine: Machine, ...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await cli(machine, "sync", "--json", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

/** Whatever is written anywhere below a folder. */
const everything = (root: string): string =>
  (readdirSync(root, { recursive: true, withFileTypes: true }) ?? [])
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n")

const COMMAND = { tool: "Bash", input: { command: "npm test" }, output: "12 tests passed" }

describe("to a folder", () => {
  test("sends what is new, and nothing the second time", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const target = join(folder.path, "target")
    const session = machine
      .session()
      .turn("Add retries to the client", [COMMAND])
      .turn("Now the docs")
      .flush()
    await machine.hook("stop", session)
    const first = await synced(machine, "--to", target)
    expect(first).toMatchObject({
      target,
      kind: "folder",
      dryRun: false,
      turns: 2,
      stored: 2,
      known: 0,
      refused: 0,
    })
    expect(first["there"]).toEqual({ entries: 2, sessions: 1, forgotten: 0, damaged: 0 })
    const text = everything(target)
    for (const word of ["Add retries to the client", "npm test", "12 tests passed"])
      expect(text).toContain(word)
    const before = everything(target)
    expect(await synced(machine, "--to", target)).toMatchObject({ turns: 0, stored: 0 })
    expect(await synced(machine, "--to", target, "--all")).toMatchObject({ turns: 2, stored: 0, known: 2 })
    expect(everything(target)).toBe(before)

    await machine.hook("stop", session.turn("And a changelog").flush())
    expect(await synced(machine, "--to", target)).toMatchObject({ stored: 1, there: { entries: 3 } })
    expect(await cli(machine, "sync", "--to", target)).toMatchObject({
      code: 0,
      stderr: "",
      stdout: `Nothing new for ${target}\nThere now: 3 turns of 1 session\n`,
    })
  })

  test("entries say what the design documents say of theirs, and are exported as they are sent", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const token = `ghp_${"aB3dE5fG7hJ9".repeat(3)}`
    const session = machine
      .session()
      .turn(`Add retries with ${token}`, [COMMAND])
      .turn("Now the docs")
      .boundary("manual", 90_000)
      .summary("retries and docs")
      .turn("And a changelog")
      .flush()
    await machine.hook("stop", session)
    await synced(machine, "--to", folder.path)
    const exported = await cli(machine, "export", session.session, "--entries")
    expect(exported).toMatchObject({ code: 0, stderr: "" })
    const entries = exported.stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    for (const line of exported.stdout.trimEnd().split("\n")) expect(everything(folder.path)).toContain(line)
    const { key, type, namespace, tags, accessLevel, content, summary, metadata } = entries[0]
    expect({ type, namespace, tags, accessLevel }).toEqual({
      type: "episodic",
      namespace: "transcript-archive",
      tags: ["transcript", "compaction", session.session, "Bash"],
      accessLevel: "private",
    })
    expect(key).toBe(`transcript:${session.session}:1:${metadata.timestamp}`)
    expect(summary).toStartWith("Add retries with ")
    expect(exported.stdout).not.toContain(token)
    const contentHash = new Bun.CryptoHasher("sha256").update(content).digest("hex")
    expect(metadata).toMatchObject({ contentHash, turnRange: [1, 1], trigger: "manual", preTokens: 90_000 })
    expect(entries[1].metadata).toMatchObject({ turnRange: [2, 2], trigger: "manual", preTokens: 90_000 })
    const last = entries.at(-1).metadata
    expect(last.turnRange).toEqual([entries.length, entries.length])
    expect(last).not.toContainAnyKeys(["trigger", "preTokens"])
    expect(await cli(machine, "export", session.session, "--entries", "--conversation")).toMatchObject({
      code: 64,
      stdout: "",
      stderr: expect.stringContaining("--entries and --conversation cannot be used together"),
    })
  })

  test("what a compaction adds to a turn that was sent is no reason to send it again", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = machine.session().turn("Add retries").turn("Now the docs").flush()
    await machine.hook("stop", session)
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ stored: 2 })
    await machine.hook("stop", session.boundary("auto", 167_000).summary("so far").turn("Go on").flush())
    // The first turn; the second has grown by the summary, or the third has it.
    const second = await synced(machine, "--to", folder.path, "--all")
    expect(second["known"]).toBeGreaterThan(0)
    const there = everything(folder.path)
    expect(there.split('"chunkIndex":1,')).toHaveLength(2)
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 0, stored: 0 })
  })

  test("a turn that grows between two syncs is one entry", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = machine.session().user("Look into the crash").flush()
    await machine.hook("stop", session)
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ stored: 1 })
    await machine.hook("stop", session.say("The pool was closed twice.").flush())
    const second = await synced(machine, "--to", folder.path)
    expect(second).toMatchObject({ stored: 1, forgotten: 0, there: { entries: 1, forgotten: 0 } })
    expect(everything(folder.path)).toContain("closed twice")
  })

  test("--dry-run contacts nobody and writes nothing", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    const target = join(folder.path, "target")
    expect(await synced(machine, "--to", target, "--dry-run")).toMatchObject({
      dryRun: true,
      turns: 1,
      there: null,
    })
    expect(existsSync(target)).toBe(false)
    expect(existsSync(join(machine.dataHome, "sync"))).toBe(false)
    const nobody = `postgres://me@127.0.0.1:${freePort()}/x`
    expect(await synced(machine, "--to", nobody, "--dry-run")).toMatchObject({ turns: 1 })
    await synced(machine, "--to", target)
    expect(await synced(machine, "--to", target, "--dry-run")).toMatchObject({ turns: 0 })
  })

  test("several machines meet in one folder", async () => {
    using one = new Machine()
    using other = new Machine()
    using folder = tempFolder()
    await one.hook(
      "stop",
      one.session({ id: "aaaaaaaa-0000-4000-8000-000000000001" }).turn("from one").flush(),
    )
    await other.hook(
      "stop",
      other.session({ id: "bbbbbbbb-0000-4000-8000-000000000001" }).turn("from other").flush(),
    )
    await Promise.all([synced(one, "--to", folder.path), synced(other, "--to", folder.path)])
    expect(await synced(one, "--to", folder.path)).toMatchObject({
      turns: 0,
      there: { entries: 2, sessions: 2 },
    })
    expect(readdirSync(join(folder.path, "entries"))).toHaveLength(2)
  })

  test("a target made anew under the same name gets everything", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const target = join(folder.path, "target")
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    await synced(machine, "--to", target)
    rmSync(target, { recursive: true })
    expect(await synced(machine, "--to", target)).toMatchObject({ stored: 1, there: { entries: 1 } })
  })

  test("views that are lost take nothing away from the target", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    await synced(machine, "--to", folder.path)
    for (const name of ["archive.db", "archive.db-wal", "archive.db-shm"])
      rmSync(join(machine.dataHome, name), { force: true })
    await cli(machine, "sync", "--to", folder.path)
    expect(await cli(machine, "rebuild")).toMatchObject({ code: 0 })
    expect(await synced(machine, "--to", folder.path)).toMatchObject({
      stored: 0,
      there: { entries: 1, forgotten: 0 },
    })
  })
})

describe("what must not leave the machine", () => {
  test("secrets, even if the filter is off", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const key = `sk-ant-api03-${"Zq7Xw9Lm2Kp4Rt6Yv8Bn1Cd3".repeat(4)}-AA`
    Object.assign(machine.env, { CTXBRIDGE_SECRETS: "off" })
    await machine.hook("stop", machine.session().turn(`use ${key} for it`).flush())
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ stored: 1 })
    expect(everything(folder.path)).toContain("for it")
    expect(everything(folder.path)).not.toContain(key)
  })

  test("sessions of folders that were excluded after they were archived", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session({ cwd: "/srv/client" }).turn("about the client").flush())
    await machine.hook("stop", machine.session().turn("about us").flush())
    const config = join(machine.root, "config.toml")
    writeFileSync(config, '[capture]\nexclude = ["/srv/client"]\n')
    Object.assign(machine.env, { CTXBRIDGE_CONFIG: config })
    expect(await synced(machine, "--to", folder.path)).toMatchObject({
      turns: 1,
      excluded: 1,
      there: { entries: 1 },
    })
    expect(everything(folder.path)).not.toContain("about the client")
  })

  test("forgotten sessions: not sent, and taken away where they were", async () => {
    using one = new Machine()
    using other = new Machine()
    using folder = tempFolder()
    const id = "cccccccc-0000-4000-8000-000000000001"
    const both = [one, other].map((machine) => machine.session({ id }).turn("the code is swordfish").flush())
    await one.hook("stop", both[0]!)
    await one.hook("stop", one.session().turn("something else").flush())
    await other.hook("stop", both[1]!)
    await synced(one, "--to", folder.path)
    await synced(other, "--to", folder.path)
    expect(await cli(one, "forget", id, "--yes")).toMatchObject({ code: 0 })
    expect(await synced(one, "--to", folder.path, "--dry-run")).toMatchObject({ forgotten: 1 })
    const report = await synced(one, "--to", folder.path)
    expect(report).toMatchObject({ turns: 0, forgotten: 1, there: { entries: 1, forgotten: 2 } })
    // The other machine's own files hold it until that machine comes by, even with nothing to send.
    expect(everything(folder.path)).toContain("swordfish")
    expect(await synced(other, "--to", folder.path)).toMatchObject({ turns: 0 })
    expect(everything(folder.path)).not.toContain("swordfish")
    expect(await synced(other, "--to", folder.path, "--all")).toMatchObject({ stored: 0, refused: 1 })
    expect(everything(join(one.dataHome, "sync"))).not.toContain(id)
    // It is final there.
    expect(await cli(one, "forget", "--undo", id)).toMatchObject({ code: 0 })
    await cli(one, "import")
    expect(await synced(one, "--to", folder.path)).toMatchObject({ refused: 1, there: { entries: 1 } })
  })

  test("what `redact` has filled since, with --all", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session().turn("the ticket is TICKET-4711").flush())
    await synced(machine, "--to", folder.path)
    expect(everything(folder.path)).toContain("TICKET-4711")
    const config = join(machine.root, "config.toml")
    writeFileSync(config, '[secrets]\npatterns = ["TICKET-[0-9]+"]\n')
    Object.assign(machine.env, { CTXBRIDGE_CONFIG: config })
    expect(await cli(machine, "redact", "--rescan")).toMatchObject({ code: 0 })
    expect(await synced(machine, "--to", folder.path, "--all")).toMatchObject({
      forgotten: 1,
      there: { entries: 1 },
    })
    expect(everything(folder.path)).not.toContain("TICKET-4711")
  })

  test("a forgotten text, wherever in the turn it was", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const call = {
      tool: "Bash",
      input: { command: "ls", description: "open with swordfish" },
      output: "a\nb",
    }
    await machine.hook("stop", machine.session().turn("Look around", [call]).turn("What about tuna?").flush())
    await synced(machine, "--to", folder.path)
    expect(everything(folder.path)).toContain("swordfish")
    for (const word of ["swordfish", "tuna"]) {
      expect(await cli(machine, "forget", "--match", word, "--yes")).toMatchObject({ code: 0 })
      expect(await synced(machine, "--to", folder.path)).toMatchObject({
        forgotten: 1,
        there: { entries: 2 },
      })
      expect(everything(folder.path)).not.toContain(word)
    }
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 0, forgotten: 0 })
  })
})

describe("at any moment", () => {
  test("killed again and again, it ends with every turn there once", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = machine.session()
    for (let n = 0; n < 400; n++) session.turn(`turn ${n}`, [{ ...COMMAND, output: `${n} `.repeat(2000) }])
    session.flush()
    // No hook: its job would take the same transcript at the same time.
    expect(await cli(machine, "import")).toMatchObject({ code: 0 })
    const entries = join(folder.path, "entries")
    const size = (): number => (existsSync(entries) ? everything(entries).length : 0)
    for (let round = 0; round < 4; round++) {
      const before = size()
      const { child, ended } = start(["sync", "--to", folder.path], { env: machine.env, cwd: machine.cwd })
      while (size() === before && child.exitCode === null) await Bun.sleep(1)
      child.kill(9)
      await ended
    }
    const report = await synced(machine, "--to", folder.path)
    expect(report["there"]).toEqual({ entries: 400, sessions: 1, forgotten: 0, damaged: 0 })
    const lines = everything(entries).split("\n").filter(Boolean)
    expect(new Set(lines.map((line) => JSON.parse(line).id)).size).toBe(400)
    expect(lines).toHaveLength(400)
  })

  test("views at rest are not looked through again, and nothing of what comes then is missed", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const config = join(machine.root, "config.toml")
    Object.assign(machine.env, { CTXBRIDGE_CONFIG: config })
    writeFileSync(config, '[capture]\nexclude = ["/srv/client"]\n')
    const rest = (): void => utimesSync(join(machine.dataHome, "archive.db"), 1, 1)
    const session = machine.session().turn("Add retries").flush()
    await machine.hook("stop", session)
    expect(await cli(machine, "status")).toMatchObject({ code: 0 })
    rest()
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 1 })
    const ledger = (): string => everything(join(machine.dataHome, "sync"))
    expect(ledger()).toContain('{"views":')
    const before = ledger()
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 0, there: { entries: 1 } })
    expect(ledger().replaceAll(/"time":"[^"]*"/g, "")).toBe(before.replaceAll(/"time":"[^"]*"/g, ""))
    // What has been forgotten, what is new, and what was left out before.
    await machine.hook("stop", session.turn("the code is swordfish").flush())
    rest()
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 1, there: { entries: 2 } })
    await cli(machine, "forget", "--match", "swordfish", "--yes")
    rest()
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ forgotten: 1, there: { entries: 2 } })
    expect(everything(folder.path)).not.toContain("swordfish")
    writeFileSync(config, "")
    await machine.hook("stop", machine.session({ cwd: "/srv/client" }).turn("about the client").flush())
    writeFileSync(config, '[capture]\nexclude = ["/srv/client"]\n')
    rest()
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 0, excluded: 1 })
    writeFileSync(config, "")
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 1, excluded: 0 })
  })

  test("a ledger with half a line, or none, costs nothing", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    const session = machine.session().turn("Add retries").flush()
    await machine.hook("stop", session)
    await synced(machine, "--to", folder.path)
    const ledger = readdirSync(join(machine.dataHome, "sync")).find((name) => name.endsWith(".jsonl"))!
    appendFileSync(join(machine.dataHome, "sync", ledger), '{"handle":"ctx:')
    await machine.hook("stop", session.turn("Now the docs").flush())
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 1, stored: 1 })
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ turns: 0 })
    rmSync(join(machine.dataHome, "sync"), { recursive: true })
    expect(await synced(machine, "--to", folder.path)).toMatchObject({ there: { entries: 2 } })
  })

  test("two at once: the second says so", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    mkdirSync(machine.dataHome, { recursive: true })
    await holding(machine.dataHome, "sync.lock", async () => {
      expect(await cli(machine, "sync", "--to", folder.path)).toMatchObject({
        code: 1,
        stdout: "",
        stderr: expect.stringContaining("another sync of this archive is under way"),
      })
    })
  })
})

describe("a target that fills up", () => {
  const mountable = ((): boolean => {
    using folder = tempFolder()
    using disk = smallDisk(folder.path, 1 << 20)
    return disk !== undefined
  })()

  test.skipIf(!mountable)(
    `keeps what was committed, and gets the rest (skipped where ${MOUNTS_REFUSED})`,
    async () => {
      using machine = new Machine()
      using folder = tempFolder()
      using _disk = smallDisk(folder.path, 8 << 20)
      const ballast = join(folder.path, "ballast")
      writeFileSync(ballast, new Uint8Array(6 << 20))
      const session = machine.session()
      for (let n = 0; n < 60; n++) session.turn(`turn ${n}`, [{ ...COMMAND, output: `${n} `.repeat(20_000) }])
      await machine.hook("stop", session.flush())
      const target = join(folder.path, "target")
      const { code, stdout, stderr } = await cli(machine, "sync", "--to", target)
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
      expect(stderr).toMatch(/ENOSPC.*; \d+ of 60 turns are committed there\nhint: .*\n$/)
      rmSync(ballast)
      const there = { entries: 60, sessions: 1, forgotten: 0, damaged: 0 }
      expect(await synced(machine, "--to", target)).toMatchObject({ known: 0, there })
    },
  )
})

describe("to PostgreSQL", () => {
  let server: TestServer
  beforeAll(async () => {
    server = await startPglite({ vectors: true })
  })
  afterAll(async () => server[Symbol.asyncDispose]())

  test("sends, replaces and forgets, with the address from the environment", async () => {
    using machine = new Machine()
    const { hostname, port } = new URL(server.address)
    const env = { RUVECTOR_HOST: hostname, PGPORT: port, RUVECTOR_USER: "postgres", PGDATABASE: "postgres" }
    Object.assign(machine.env, env)
    const session = machine.session().turn("Add retries", [COMMAND]).turn("the code is swordfish").flush()
    await machine.hook("stop", session)
    const target = `postgres://postgres@${hostname}:${port}/postgres`
    expect(await synced(machine)).toMatchObject({
      target,
      kind: "postgres",
      stored: 2,
      there: { entries: 2 },
    })
    expect(await synced(machine)).toMatchObject({ turns: 0 })
    await cli(machine, "forget", "--match", "swordfish", "--yes")
    expect(await synced(machine)).toMatchObject({ forgotten: 1, there: { entries: 2, forgotten: 1 } })
    await server.run(`DO $$ BEGIN
      ASSERT (SELECT count(*) FROM ctxbridge.entries WHERE content LIKE '%swordfish%') = 0;
      ASSERT (SELECT count(*) FROM ctxbridge.entries WHERE content LIKE '%12 tests passed%') = 1;
    END $$`)
    await cli(machine, "forget", session.session, "--yes")
    expect(await synced(machine)).toMatchObject({ there: { entries: 0, sessions: 0 } })
    const status = JSON.parse((await cli(machine, "status", "--json")).stdout)
    expect(status.sync).toMatchObject([{ kind: "postgres", target, time: expect.any(String) }])
  })
})

test("--print-ddl prints what an administrator runs, without an archive or a server", async () => {
  using machine = new Machine()
  const printed = await cli(machine, "sync", "--print-ddl")
  expect(printed).toMatchObject({ code: 0, stdout: ADMINISTRATOR_SCRIPT, stderr: "" })
  const { code, stdout } = await cli(machine, "sync", "--print-ddl", "--json")
  expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, ddl: ADMINISTRATOR_SCRIPT })
  expect(existsSync(machine.dataHome)).toBe(false)
})

describe("what is wrong is said in one line, with a hint", () => {
  const failing = async (machine: Machine, ...args: string[]) => {
    const { code, stdout, stderr } = await cli(machine, "sync", ...args)
    expect({ stdout, lines: stderr.trimEnd().split("\n").length }).toEqual({ stdout: "", lines: 2 })
    return { code, stderr }
  }

  test("no target, no archive, nobody there", async () => {
    using machine = new Machine()
    using folder = tempFolder()
    expect(await failing(machine)).toMatchObject({
      code: 64,
      stderr: expect.stringContaining("needs a target"),
    })
    expect(await failing(machine, "--to", folder.path)).toMatchObject({ code: 3 })
    expect(readdirSync(folder.path)).toEqual([])
    await machine.hook("stop", machine.session().turn("Add retries").flush())
    expect(await failing(machine, "--to", join(folder.path, "not/there"))).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no such folder"),
    })
    const port = freePort()
    const { code, stderr } = await failing(machine, "--to", `postgres://me:swordfish@127.0.0.1:${port}/x`)
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("connection refused"),
    })
    expect(stderr).not.toContain("swordfish")
    expect(await failing(machine, "--to", "https://me:swordfish@example.com/x")).toMatchObject({ code: 64 })
    expect(await failing(machine, "--to", join(machine.dataHome, "entries"))).toMatchObject({ code: 64 })
    // Variables of libpq alone name no target.
    Object.assign(machine.env, { PGHOST: "127.0.0.1", PGUSER: "me" })
    expect(await failing(machine)).toMatchObject({ code: 64 })
  })
})
