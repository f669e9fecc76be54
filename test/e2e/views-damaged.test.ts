/** Views that are damaged, or another program's. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { listPending } from "../../src/vault/pending.ts"
import { databasePath } from "../../src/views/database.ts"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { contextOf, Machine, until } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

/**
 * Views that another program had changed (a table dropped, another version's number), or that were never ours, failed for
 * ever: "no such table: messages", "this is a bug in ctxbridge".
 */
describe("tables that are missing", () => {
  async function filled(machine: Machine): Promise<Transcript> {
    const session = machine.session().turn("The walrus sleeps.").flush()
    await machine.hook("pre-compact", session)
    await machine.hook("session-start", session, { source: "compact" })
    await machine.idle()
    return session
  }

  function change(machine: Machine, ...statements: readonly string[]): void {
    const db = new Database(databasePath(machine.dataHome))
    for (const statement of statements) db.run(statement)
    db.close()
  }

  const cli = (machine: Machine, ...args: readonly string[]) =>
    run(args, { env: machine.env, cwd: machine.cwd })

  interface Repaired {
    readonly lastRepair: { readonly reason: string } | null
  }

  async function repaired(machine: Machine): Promise<string | undefined> {
    const { stdout } = await cli(machine, "status", "--json")
    return (JSON.parse(stdout) as Repaired).lastRepair?.reason
  }

  const FOUND = { code: 0, stderr: "", stdout: expect.stringContaining("The walrus sleeps.") }

  test.each([
    [["DROP TABLE parser"], "it has no table parser"],
    [["PRAGMA user_version = 3"], "it has table vectors, which schema 3 has not"],
    [["PRAGMA user_version = -5"], "there is no schema -5"],
    [["DROP TABLE facts", "PRAGMA user_version = 6"], "it has no table facts"],
  ])(
    "a command makes small views anew after %p, and what was given back is kept",
    async (statements, reason) => {
      using machine = new Machine()
      await filled(machine)
      change(machine, ...statements)
      expect(await cli(machine, "search", "walrus")).toMatchObject(FOUND)
      expect(await repaired(machine)).toBe(reason)
      using db = machine.views()
      expect(db.query("SELECT source FROM restores WHERE text <> ''").all()).toEqual([{ source: "compact" }])
    },
  )

  test("another program's file in its place is set aside", async () => {
    using machine = new Machine()
    await filled(machine)
    for (const suffix of ["", "-wal", "-shm"])
      rmSync(databasePath(machine.dataHome) + suffix, { force: true })
    change(machine, "CREATE TABLE turns (a)", "CREATE TABLE sessions (a)")
    expect(await cli(machine, "search", "walrus")).toMatchObject(FOUND)
    expect(await repaired(machine)).toBe("no such table: lineage")
  })

  test("what only some commands need is made anew by the background job, and doctor tells of it", async () => {
    using machine = new Machine()
    await filled(machine)
    change(machine, "DROP TABLE words")
    const { stdout } = await cli(machine, "doctor", "--json")
    expect(JSON.parse(stdout).findings).toContainEqual(
      expect.objectContaining({
        check: "database",
        state: "fail",
        text: "it is damaged: it has no table words",
      }),
    )
    const refused = await cli(machine, "search", "walrus")
    expect(refused).toMatchObject({ code: 1, stdout: "" })
    expect(refused.stderr).toStartWith(
      "ctxbridge: the database is damaged (no such table: words) and is being rebuilt\n",
    )
    await until(async () => (await repaired(machine)) !== undefined, 30_000, "the job to rebuild")
    expect(await cli(machine, "search", "walrus")).toMatchObject(FOUND)
  })

  test("a hook gives what can still be read, and has the rest made anew", async () => {
    using machine = new Machine()
    const session = await filled(machine)
    change(machine, "DROP TABLE restores")
    const given = await machine.hook("session-start", session.turn("The ermine wakes.").flush(), {
      source: "compact",
    })
    expect(given).toMatchObject({ code: 0, stderr: "" })
    expect(contextOf(given)).toContain("The walrus sleeps.")
    await until(async () => (await repaired(machine)) !== undefined, 30_000, "the job to rebuild")
    const again = await machine.hook("session-start", session, { source: "compact" })
    expect(contextOf(again)).toContain("The ermine wakes.")
  })

  test("what is forgotten is not carried over from a database that cannot be brought up to date", async () => {
    using machine = new Machine()
    const session = await filled(machine)
    change(machine, "DROP TABLE facts", "PRAGMA user_version = 6")
    expect(await cli(machine, "forget", session.session, "--yes")).toMatchObject({ code: 0, stderr: "" })
    using db = machine.views()
    expect(db.query("SELECT * FROM restores").all()).toEqual([])
  })
})

/** Where the copy of one session was damaged, sessions of the same project began without being told where it was left. */
describe("beside a damaged copy", () => {
  test("the others are told of, and the damaged one goes on waiting", async () => {
    using machine = new Machine()
    mkdirSync(join(machine.dataHome, "state"), { recursive: true })
    // The background job would index the others, sooner or later.
    await holding(machine.dataHome, "state/job.lock", async () => {
      const [damaged, whole] = ["Paint the fence", "Oil the hinges"].map((text) =>
        machine.session().turn(text),
      )
      for (const session of [damaged!, whole!]) await machine.hook("stop", session.flush())
      const copy = machine.copy(damaged!.path)
      const bytes = readFileSync(copy)
      // Within the first frame of zstd.
      const at = bytes.indexOf(Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd)) + 20
      writeFileSync(copy, bytes.fill(0x55, at, at + 30))

      // On a busy machine, one start may not have the time.
      const isTold = async (): Promise<boolean> => {
        const started = await machine.hook("session-start", machine.session(), { source: "startup" })
        expect(started).toMatchObject({ code: 0, stderr: "" })
        return contextOf(started)?.includes("Oil the hinges") ?? false
      }
      await until(isTold, 20_000, "a session that is told")
      expect(listPending(machine.dataHome).map(({ session }) => session)).toEqual([damaged!.session])
    })
  })
})
