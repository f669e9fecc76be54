/** `ctxbridge redact`, interrupted and beside damage. */
import { Database } from "bun:sqlite"
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { closeSync, openSync, readdirSync, readFileSync, truncateSync, writeSync } from "node:fs"
import { join } from "node:path"
import { databasePath } from "../../src/views/database.ts"
import { run } from "../support/binary.ts"
import { holding } from "../support/held.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

/**
 * A `redact` that was interrupted behind the vault left secrets in the views. Said again, it found none in the vault and
 * said "Nothing to overwrite".
 */
describe("a redact that was interrupted", () => {
  // Made of pieces, so that nobody takes this file for a leak.
  const SECRET = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_")

  async function halfRedacted() {
    const machine = new Machine()
    const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
    machine.session().turn(`Push with ${SECRET} please`).flush()
    const env = { ...machine.env, CTXBRIDGE_SECRETS: "false" }
    expect(await run(["import"], { env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
    expect(holders(machine)).not.toEqual([])
    const stopped = await holding(machine.dataHome, "rebuild.lock", () => cli("redact"))
    expect(stopped).toMatchObject({ code: 1, stdout: "" })
    expect(stopped.stderr).toContain("already being rebuilt")
    expect(holders(machine)).not.toEqual([])
    return { machine, cli }
  }

  /** Files of the archive beside the vault in which the secret stands. */
  const holders = (machine: Machine): string[] =>
    readdirSync(machine.dataHome).filter(
      (name) => name.startsWith("archive.db") && readFileSync(join(machine.dataHome, name)).includes(SECRET),
    )

  test("redact said again makes the views anew, too", async () => {
    const { machine, cli } = await halfRedacted()
    using _ = machine
    const again = await cli("redact")
    expect(again).toMatchObject({ code: 0, stderr: "" })
    expect(again.stdout).toContain("Rebuilt the views")
    expect(again.stdout).not.toContain("Nothing to overwrite")
    expect(holders(machine)).toEqual([])
    expect((await cli("redact")).stdout).toContain("Nothing to overwrite")
  })

  test("so does the next background job", async () => {
    const { machine, cli } = await halfRedacted()
    using _ = machine
    expect(await cli("__job")).toMatchObject({ code: 0, stderr: "" })
    expect(holders(machine)).toEqual([])
    expect((await cli("redact")).stdout).toContain("Nothing to overwrite")
  })
})

/**
 * Where the database was damaged, `redact` deleted the copies of damaged databases and then made another one, with the
 * secrets in it, as it made the views anew. An empty database, as somebody leaves it who is killed while creating it, was
 * "a bug in ctxbridge".
 */
describe("a redact beside broken views", () => {
  // Made of pieces, so that nobody takes this file for a leak.
  const SECRET = ["ghp", "0123456789abcdefghijABCDEFGHIJ012345"].join("_")

  /** An archive with a secret in vault and views, from before there was a filter. */
  async function archive(): Promise<Machine> {
    const machine = new Machine()
    machine.session().turn(`Push with ${SECRET} please`).flush()
    const env = { ...machine.env, CTXBRIDGE_SECRETS: "false" }
    expect(await run(["import"], { env, cwd: machine.cwd })).toMatchObject({ code: 0, stderr: "" })
    expect(holders(machine)).not.toEqual([])
    return machine
  }

  /** Files of the database, or kept from it, in which the secret stands. */
  const holders = (machine: Machine): string[] =>
    readdirSync(machine.dataHome).filter(
      (name) => name.startsWith("archive.db") && readFileSync(join(machine.dataHome, name)).includes(SECRET),
    )

  /** Overwrites the first page of a table. */
  function damage(machine: Machine, table: string): void {
    const path = databasePath(machine.dataHome)
    const db = new Database(path)
    db.run("PRAGMA wal_checkpoint(TRUNCATE)")
    const { page } = db.query(`SELECT rootpage AS page FROM sqlite_schema WHERE name = '${table}'`).get() as {
      page: number
    }
    db.close()
    const fd = openSync(path, "r+")
    writeSync(fd, new Uint8Array(4096).fill(0xee), 0, 4096, (page - 1) * 4096)
    closeSync(fd)
  }

  const redact = (machine: Machine) => run(["redact", "--json"], { env: machine.env, cwd: machine.cwd })

  test("no copy of a damaged database holds what was overwritten", async () => {
    using machine = await archive()
    damage(machine, "usage")
    const done = await redact(machine)
    expect(done).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(done.stdout)).toMatchObject({ ok: true, copies: 1, rebuilt: true })
    expect(holders(machine)).toEqual([])
  })

  test("beside an empty database", async () => {
    using machine = await archive()
    truncateSync(databasePath(machine.dataHome))
    const done = await redact(machine)
    expect(done).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(done.stdout)).toMatchObject({ ok: true, copies: 1, rebuilt: true })
    const again = await redact(machine)
    expect(JSON.parse(again.stdout)).toMatchObject({ ok: true, filledBytes: 0, rebuilt: false })
  })
})
