/** Views that are lost, damaged or made anew while others work; frames merged. Killed at any moment. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { Dice } from "../../src/cli/bench/seeded-random.ts"
import { checkCopy } from "../../src/vault/check-copy.ts"
import { type Ran, run, start } from "../support/binary.ts"
import { contentOf, Machine, promptsIn, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const EDIT = { tool: "Edit", input: { file_path: "/src/app/client.ts" }, output: "ok ".repeat(200) }

const well = (ran: Ran): void => expect(ran).toMatchObject({ code: 0, stderr: "" })

const cli = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(args, { env: machine.env, cwd: machine.cwd })

const database = (machine: Machine): string => join(machine.dataHome, "archive.db")

function removeDatabase(machine: Machine): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(database(machine) + suffix, { force: true })
}

/** A machine with sessions of many turns, archived by hooks: each in many small frames. */
async function filled(turns: number, frames = 1): Promise<{ machine: Machine; sessions: Transcript[] }> {
  const machine = new Machine()
  const sessions = Array.from({ length: 3 }, () => machine.session())
  for (const [n, session] of sessions.entries()) {
    for (let frame = 0; frame < frames; frame++) {
      for (let turn = 0; turn < turns / frames; turn++)
        session.turn(`prompt ${n}.${frame}.${turn}`, [EDIT, EDIT])
      session.flush()
      well(await machine.hook("stop", session))
    }
  }
  await machine.idle()
  well(await cli(machine, "sessions"))
  return { machine, sessions }
}

/** All prompts of all sessions, read without anything that mends. */
function prompts(machine: Machine, sessions: readonly Transcript[]): string[][] {
  const db = new Database(database(machine))
  try {
    expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" })
    return sessions.map(({ session }) => promptsIn(db, session))
  } finally {
    db.close()
  }
}

function expectVault(machine: Machine, sessions: readonly Transcript[]): void {
  for (const { path } of sessions) {
    const copy = machine.copy(path)
    expect(checkCopy(copy, undefined)).toMatchObject({ damage: [], archived: statSync(path).size })
    expect(contentOf(copy).equals(readFileSync(path))).toBe(true)
  }
}

const leftovers = (machine: Machine): string[] =>
  (readdirSync(machine.dataHome, { recursive: true }) as string[]).filter((name) =>
    /\.new-|\.compact$/.test(name),
  )

test("--dry-run reads the vault, says what is damaged, and leaves everything as it is", async () => {
  const { machine } = await filled(2)
  using _machine = machine
  const before = statSync(database(machine))
  const said = await cli(machine, "rebuild", "--dry-run")
  expect(said).toMatchObject({ code: 0, stderr: "" })
  expect(said.stdout).toMatch(/^Would rebuild the database from 3 copies in the vault: read in \d+\.\d s\n$/)
  expect(statSync(database(machine)).ino).toBe(before.ino)
  const [copy = ""] = new Bun.Glob("**/*.zst").scanSync(join(machine.dataHome, "vault"))
  const bytes = readFileSync(join(machine.dataHome, "vault", copy))
  bytes.fill(0, bytes.length - 150, bytes.length - 110)
  writeFileSync(join(machine.dataHome, "vault", copy), bytes)
  writeFileSync(database(machine), "no database")
  const told = await cli(machine, "rebuild", "--dry-run", "--json")
  expect(told).toMatchObject({ code: 1, stderr: "" })
  expect(JSON.parse(told.stdout)).toMatchObject({
    ok: false,
    dryRun: true,
    copies: 3,
    turns: null,
    messages: null,
    unreadable: [],
    gaps: [{ copy, from: 0 }],
    damaged: database(machine),
  })
  expect(readFileSync(database(machine), "utf8")).toBe("no database")
  expect(leftovers(machine)).toEqual([])
})

describe("a database that is gone", () => {
  test("the next command has every turn", async () => {
    const { machine, sessions } = await filled(5)
    using _machine = machine
    const before = prompts(machine, sessions)
    removeDatabase(machine)
    const { stdout } = await cli(machine, "sessions", "--json")
    expect(JSON.parse(stdout).sessions).toHaveLength(3)
    expect(prompts(machine, sessions)).toEqual(before)
    const status = JSON.parse((await cli(machine, "status", "--json")).stdout)
    expect(status.lastRepair).toMatchObject({ turns: 15, damaged: null })
  })

  test("several commands at once have every turn each", async () => {
    const { machine, sessions } = await filled(40)
    using _machine = machine
    const { stdout } = await cli(machine, "sessions", "--json")
    for (let round = 0; round < 3; round++) {
      await machine.idle()
      removeDatabase(machine)
      const all = await Promise.all([1, 2, 3].map(() => cli(machine, "sessions", "--json")))
      for (const ran of all) expect(ran).toMatchObject({ code: 0, stderr: "", stdout })
    }
    expect(prompts(machine, sessions).flat()).not.toEqual([])
  })

  test("a hook that replies makes a new one, and its job fills it with every turn", async () => {
    const { machine, sessions } = await filled(5)
    using _machine = machine
    const before = prompts(machine, sessions)
    removeDatabase(machine)
    well(await machine.hook("pre-compact", sessions[1]!, { trigger: "auto" }))
    await machine.idle()
    expect(prompts(machine, sessions)).toEqual(before)
  })
})

test("with a large vault, commands say that the views are being made anew, and the job makes them", async () => {
  using machine = new Machine()
  // Random, so that it stays large in the vault.
  const session = machine.session().turn("first")
  const block = (): string => Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString("base64")
  for (let n = 0; n < 200; n++) session.raw(JSON.stringify({ type: "noise", noise: block() }))
  session.turn("last").flush()
  well(await cli(machine, "import"))
  expect(statSync(machine.copy(session.path)).size).toBeGreaterThan(8 << 20)
  const before = prompts(machine, [session])
  removeDatabase(machine)
  const ran = await cli(machine, "sessions")
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toContain("being rebuilt")
  expect(await cli(machine, "status")).toMatchObject({ code: 0, stderr: "" })
  await machine.idle()
  well(await cli(machine, "sessions"))
  expect(prompts(machine, [session])).toEqual(before)
})

test("while a stranger reads it, the swap gives up and the old views stand", async () => {
  const { machine, sessions } = await filled(5)
  using _machine = machine
  const before = prompts(machine, sessions)
  // A reader of SQLite's own, which does not know our lock, in the middle of a transaction.
  const db = new Database(database(machine))
  db.run("BEGIN")
  db.query("SELECT count(*) FROM turns").get()
  well(await machine.hook("pre-compact", sessions[0]!.turn("meanwhile").flush(), { trigger: "auto" }))
  const ran = await cli(machine, "rebuild")
  db.run("ROLLBACK")
  db.close()
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toContain("has the archive open")
  before[0]!.push("meanwhile")
  expect(prompts(machine, sessions)).toEqual(before)
  expect(leftovers(machine)).toEqual([])
})

describe("a damaged database", () => {
  const damages: readonly (readonly [string, (bytes: Buffer) => Buffer])[] = [
    ["header", (bytes) => bytes.fill(0xff, 0, 100)],
    ["pages", (bytes) => bytes.fill(0xa5, 4096)],
    [
      "every second page",
      (bytes) => {
        for (let at = 4096; at < bytes.length; at += 8192) bytes.fill(0x5a, at, at + 4096)
        return bytes
      },
    ],
    ["end", (bytes) => bytes.subarray(0, 4096 + 100)],
    ["nothing left", () => Buffer.alloc(0)],
  ]
  for (const [name, damage] of damages) {
    for (const mender of ["command", "hook"] as const) {
      test(`${name}: mended after a ${mender}`, async () => {
        const { machine, sessions } = await filled(40)
        using _machine = machine
        const before = prompts(machine, sessions)
        for (const suffix of ["-wal", "-shm"]) rmSync(database(machine) + suffix, { force: true })
        const broken = damage(readFileSync(database(machine)))
        writeFileSync(database(machine), broken)
        // What hooks archive meanwhile is there, too.
        sessions[0]!.turn("while damaged").flush()
        well(await machine.hook("stop", sessions[0]!))
        if (mender === "hook") well(await machine.hook("pre-compact", sessions[0]!, { trigger: "auto" }))
        else await cli(machine, "show", sessions[0]!.session)
        await machine.idle()
        well(await cli(machine, "sessions"))
        before[0]!.push("while damaged")
        expect(prompts(machine, sessions)).toEqual(before)
        const { lastRepair } = JSON.parse((await cli(machine, "status", "--json")).stdout)
        expect(lastRepair).not.toBeNull()
        if (broken.length > 0) expect(readFileSync(lastRepair.damaged).equals(broken)).toBe(true)
      })
    }
  }
})

describe("rebuild", () => {
  test("loses nothing while hooks archive and answer", async () => {
    const { machine, sessions } = await filled(300)
    using _machine = machine
    const expected = prompts(machine, sessions)
    const rebuilds = (async () => {
      for (let n = 0; n < 5; n++) well(await cli(machine, "rebuild"))
    })()
    let running = true
    void rebuilds.then(() => {
      running = false
    })
    for (let n = 0; running; n++) {
      const at = n % sessions.length
      sessions[at]!.turn(`meanwhile ${n}`).flush()
      expected[at]!.push(`meanwhile ${n}`)
      const event = n % 3 === 0 ? "pre-compact" : "stop"
      well(await machine.hook(event, sessions[at]!, { trigger: "auto" }))
    }
    await rebuilds
    await machine.idle()
    well(await cli(machine, "sessions"))
    expect(prompts(machine, sessions)).toEqual(expected)
    expectVault(machine, sessions)
    expect(leftovers(machine)).toEqual([])
  })

  test("leaves the old views as they are when it is killed, at 30 random moments", async () => {
    const { machine, sessions } = await filled(100)
    using _machine = machine
    const before = prompts(machine, sessions)
    const dice = new Dice(71)
    const { ms } = await cli(machine, "rebuild")
    let killed = 0
    for (let n = 0; n < 30; n++) {
      const { child, ended } = start(["rebuild"], { env: machine.env, cwd: machine.cwd })
      await Bun.sleep(dice.between(0, Math.ceil(ms)))
      child.kill("SIGKILL")
      killed += (await ended).code === 137 ? 1 : 0
      expect(prompts(machine, sessions)).toEqual(before)
    }
    expect(killed).toBeGreaterThan(10)
    well(await cli(machine, "rebuild"))
    expect(prompts(machine, sessions)).toEqual(before)
    expect(leftovers(machine)).toEqual([])
  })

  test("says of two at once that the other is running", async () => {
    const { machine, sessions } = await filled(300)
    using _machine = machine
    const before = prompts(machine, sessions)
    const ran = await Promise.all([cli(machine, "rebuild"), cli(machine, "rebuild")])
    for (const { code, stderr } of ran) if (code !== 0) expect(stderr).toContain("already")
    expect(ran.some(({ code }) => code === 0)).toBe(true)
    expect(prompts(machine, sessions)).toEqual(before)
  })

  test("does not replace a database of a later version", async () => {
    const { machine } = await filled(2)
    using _machine = machine
    const db = new Database(database(machine))
    db.run("PRAGMA user_version = 99")
    db.close()
    const ran = await cli(machine, "rebuild")
    expect(ran).toMatchObject({ code: 1, stdout: "" })
    expect(ran.stderr).toContain("schema 99")
  })

  test("says so where there is no vault", async () => {
    using machine = new Machine()
    const ran = await cli(machine, "rebuild")
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(existsSync(machine.dataHome)).toBe(false)
    expect(await cli(machine, "optimize", "--frames")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(machine.dataHome)).toBe(false)
  })
})

describe("optimize --frames", () => {
  test("takes less room for the same bytes, and writes nothing in a dry run", async () => {
    const { machine, sessions } = await filled(40, 20)
    using _machine = machine
    const size = (): number => sessions.reduce((sum, { path }) => sum + statSync(machine.copy(path)).size, 0)
    const before = size()
    const { frames: dry } = JSON.parse(
      (await cli(machine, "optimize", "--frames", "--dry-run", "--json")).stdout,
    )
    expect(dry).toMatchObject({ ok: true, before, after: before })
    expect(dry.changed).toHaveLength(3)
    expect(size()).toBe(before)
    const { frames } = JSON.parse((await cli(machine, "optimize", "--frames", "--json")).stdout)
    expect(frames).toMatchObject({ ok: true, before, after: size() })
    expect(size()).toBeLessThan(before / 2)
    expectVault(machine, sessions)
    expect((await cli(machine, "optimize", "--frames")).stdout).toContain("nothing to merge")
    well(await cli(machine, "verify"))
  })

  test("loses no byte when it is killed while hooks append, at 30 random moments", async () => {
    const { machine, sessions } = await filled(90, 10)
    using _machine = machine
    const dice = new Dice(72)
    let killed = 0
    for (let n = 0; n < 30; n++) {
      const { child, ended } = start(["optimize", "--frames"], { env: machine.env, cwd: machine.cwd })
      const session = sessions[n % sessions.length]!.turn(`meanwhile ${n}`, [EDIT]).flush()
      const hook = machine.hook("stop", session)
      await Bun.sleep(dice.between(0, 60))
      child.kill("SIGKILL")
      killed += (await ended).code === 137 ? 1 : 0
      well(await hook)
      expectVault(machine, sessions)
    }
    expect(killed).toBeGreaterThan(5)
    well(await cli(machine, "optimize", "--frames"))
    expectVault(machine, sessions)
    expect(leftovers(machine)).toEqual([])
    well(await cli(machine, "verify"))
  })

  test("works while hooks append to the same copies", async () => {
    const { machine, sessions } = await filled(30, 10)
    using _machine = machine
    let running = true
    const compacting = (async () => {
      for (let n = 0; n < 20; n++) expect((await cli(machine, "optimize", "--frames")).code).toBe(0)
      running = false
    })()
    for (let n = 0; running; n++) {
      const session = sessions[n % sessions.length]!.turn(`meanwhile ${n}`, [EDIT]).flush()
      well(await machine.hook("stop", session))
    }
    await compacting
    expectVault(machine, sessions)
    well(await cli(machine, "verify"))
  })

  test("is done by the background job to what is not written any more", async () => {
    const { machine, sessions } = await filled(40, 40)
    using _machine = machine
    const [ended] = sessions
    const copy = machine.copy(ended!.path)
    const before = checkCopy(copy, undefined)!.frames
    expect(before).toBeGreaterThan(32)
    const anHourAgo = Date.now() / 1000 - 3600
    utimesSync(copy, anHourAgo, anHourAgo)
    well(await machine.hook("session-end", sessions[1]!, { reason: "other" }))
    await until(() => checkCopy(copy, undefined)!.frames < before, 30_000, "the frames to be merged")
    await machine.idle()
    // The session that has just ended, too.
    expect(checkCopy(machine.copy(sessions[1]!.path), undefined)!.frames).toBe(1)
    expectVault(machine, sessions)
    // One that is still written is left alone.
    expect(checkCopy(machine.copy(sessions[2]!.path), undefined)!.frames).toBeGreaterThan(32)
    appendFileSync(ended!.path, '{"type":"user"}\n')
    well(await machine.hook("stop", ended!))
    expectVault(machine, sessions)
  })
})
