/** The background job: one at a time, nothing asked of it is lost. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"
import { leaveRequest } from "../../src/job/requests.ts"
import { archivedIn } from "../../src/vault/reader.ts"
import { run, start } from "../support/binary.ts"
import { contentOf, Machine, promptsIn, until } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("when sessions of many projects end at once, their last lines are taken, and no job stays behind", async () => {
  using machine = new Machine()
  const sessions = Array.from({ length: 8 }, (_, n) =>
    machine
      .session({ cwd: `${machine.root}/project-${n}` })
      .turn(`first of ${n}`)
      .flush(),
  )
  await Promise.all(sessions.map((session) => machine.hook("session-end", session, { reason: "other" })))
  // What the host writes after its last hook.
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
}, 90_000)

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
}, 90_000)

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
