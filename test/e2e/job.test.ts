/** The background job: one at a time, nothing asked of it is lost. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs"
import { join } from "node:path"
import { leaveRequest } from "../../src/job/requests.ts"
import { vaultPath } from "../../src/vault/layout.ts"
import { markPending } from "../../src/vault/pending.ts"
import { archivedIn } from "../../src/vault/reader.ts"
import { run, start } from "../support/binary.ts"
import { contentOf, Machine, promptsIn, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(90_000))

test("when sessions of many projects end at once, their last lines are taken, and no job stays behind", async () => {
  using machine = new Machine()
  const sessions = Array.from({ length: 8 }, (_, n) =>
    machine
      .session({ cwd: `${machine.root}/project-${n}` })
      .turn(`first of ${n}`)
      .flush(),
  )
  await Promise.all(sessions.map((session) => machine.hook("session-end", session, { reason: "other" })))
  // What Claude Code writes after its last hook.
  for (const [n, session] of sessions.entries()) session.turn(`last of ${n}`).flush()
  const taken = ({ path }: { path: string }): boolean =>
    archivedIn(machine.copy(path)) === statSync(path).size
  await until(() => sessions.every(taken), 30_000, "every last line to be in the vault")
  await machine.idle()
  using db = machine.views()
  for (const [n, { session, path }] of sessions.entries()) {
    expect(contentOf(machine.copy(path)).equals(readFileSync(path))).toBe(true)
    expect(promptsIn(db, session)).toEqual([`first of ${n}`, `last of ${n}`])
  }
})

test("a hundred session ends leave no job", async () => {
  using machine = new Machine()
  const session = machine.session().turn("hello").flush()
  for (let round = 0; round < 20; round++) {
    const five = Array.from({ length: 5 }, () => machine.hook("session-end", session, { reason: "other" }))
    for (const { code, stdout, stderr } of await Promise.all(five)) {
      expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "" })
    }
  }
  // Those that find another at work end at once; that one when it has nothing to do.
  await until(() => machine.processes().length <= 1, 30_000, "all but one job to end")
  await machine.idle()
})

describe("a job whose data folder is removed ends, and makes nothing again", () => {
  /** A job with seconds of work before it, at which it is. */
  async function busy(machine: Machine) {
    const sessions = Array.from({ length: 12 }, (_, n) => {
      const session = machine.session({ cwd: `${machine.root}/project-${n}` })
      for (let turn = 0; turn < 200; turn++) session.turn(`question ${turn} of ${n} ${"words ".repeat(100)}`)
      return session.flush()
    })
    leaveRequest(machine.dataHome, {
      transcripts: sessions.map(({ path }) => path),
      sweep: [],
      settle: false,
    })
    const job = start(["__job"], { env: machine.env, cwd: machine.cwd })
    await until(() => existsSync(machine.copy(sessions[1]!.path)), 30_000, "the second copy")
    expect(job.child.exitCode).toBeNull()
    return job
  }

  test.each([
    ["at once", (folder: string) => renameSync(folder, `${folder}.aside`)],
    ["bit by bit", (folder: string) => rmSync(folder, { recursive: true, maxRetries: 100, retryDelay: 1 })],
  ])("%s", async (_how, remove) => {
    using machine = new Machine()
    const { ended } = await busy(machine)
    remove(machine.dataHome)
    expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(existsSync(machine.dataHome)).toBe(false)
  })

  test("and one whose database is removed leaves the next one to make it", async () => {
    using machine = new Machine()
    const { ended } = await busy(machine)
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(join(machine.dataHome, `archive.db${suffix}`), { force: true })
    expect(await ended).toMatchObject({ code: 0, stdout: "", stderr: "" })
    expect(existsSync(join(machine.dataHome, "archive.db"))).toBe(false)
    expect(await run(["__job"], { env: machine.env, cwd: machine.cwd })).toMatchObject({ code: 0 })
    using views = machine.views()
    expect(views.query("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 12 * 200 })
  })
})

/**
 * A request whose writer was killed before it could rename it was never done, and `status` counted it as waiting for as
 * long as it lay there.
 */
describe.concurrent("a request whose writer was killed", () => {
  /** Of a process that has ended. */
  function endedPid(): number {
    return Bun.spawnSync(["true"]).pid
  }

  function requestOf(machine: Machine, name: string, text: string): string {
    const folder = join(machine.dataHome, "requests")
    mkdirSync(folder, { recursive: true })
    const file = join(folder, name)
    writeFileSync(file, text)
    return file
  }

  test("the next job does it", async () => {
    using machine = new Machine()
    const seen = machine.session().turn("A hook tells of this").flush()
    const unseen = machine.session().turn("Nobody tells of this").flush()
    const request = { transcripts: [], sweep: [join(unseen.path, "..")], settle: false, history: true }
    requestOf(machine, `left.json.${endedPid()}`, JSON.stringify(request))
    requestOf(machine, `half.json.${endedPid()}`, JSON.stringify(request).slice(0, 20))
    const status = await run(["status", "--json"], { env: machine.env, cwd: machine.cwd })
    expect(JSON.parse(status.stdout)).toMatchObject({ import: null })
    await machine.hook("session-end", seen, { reason: "other" })
    await machine.idle()
    expect(archivedIn(machine.copy(unseen.path))).toBeGreaterThan(0)
    expect(readdirSync(join(machine.dataHome, "requests"))).toEqual([])
  })

  test("one that is being written is left alone", async () => {
    using machine = new Machine()
    const session = machine.session().turn("A hook tells of this").flush()
    const file = requestOf(machine, `now.json.${process.pid}`, "{")
    await machine.hook("session-end", session, { reason: "other" })
    await machine.idle()
    expect(existsSync(file)).toBe(true)
  })
})

/**
 * What a session wrote after its last hook, as when Claude Code was killed, was archived only once another session
 * began in the same folder. In a project to which nobody returned, Claude Code's clean-up took it.
 */
test("the job looks after every known transcript once a day", async () => {
  using machine = new Machine()
  const elsewhere = new Transcript({
    session: "5e551011-0000-4000-8000-00000000e15e",
    cwd: join(machine.root, "elsewhere"),
    version: "2.1.112",
    path: join(
      machine.home,
      ".claude",
      "projects",
      "elsewhere",
      "5e551011-0000-4000-8000-00000000e15e.jsonl",
    ),
  })
  await machine.hook("stop", elsewhere.turn("A hook tells of this").flush())
  await machine.idle()
  elsewhere.turn("No hook tells of this").flush()
  const here = machine.session().turn("In another project").flush()
  await machine.hook("session-start", here, { source: "startup" })
  await machine.idle()
  expect(contentOf(machine.copy(elsewhere.path)).equals(readFileSync(elsewhere.path))).toBe(true)
  using db = machine.views()
  expect(promptsIn(db, elsewhere.session)).toEqual(["A hook tells of this", "No hook tells of this"])
})

/**
 * A marker that a power failure had emptied kept every later one out: the views did not follow the transcript until the
 * background job looked after it.
 */
test("the next hook marks the transcript again", async () => {
  using machine = new Machine()
  const session = machine.session().turn("After the power failure.").flush()
  const copy = vaultPath(session.path, machine.home)
  markPending(machine.dataHome, { path: session.path, copy, session: session.session })
  const folder = join(machine.dataHome, "pending")
  for (const marker of readdirSync(folder)) truncateSync(join(folder, marker), 0)
  await machine.hook("stop", session)
  const { stdout } = await run(["sessions", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(JSON.parse(stdout).sessions).toMatchObject([{ id: session.session, turns: 1 }])
  expect(readdirSync(folder)).toEqual([])
})
