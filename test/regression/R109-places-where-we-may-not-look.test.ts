/**
 * One archived transcript in a place where we may not look any more (of another user, unmounted) made `status`, `doctor`
 * and the model believe that the database was unreadable, and kept `forget` and `purge` from removing its session; another
 * tool's folder of that kind kept `import` from everything. Links in a circle stand for it: root may look everywhere.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"

setDefaultTimeout(60_000)

/** A machine with a session in a folder that has become a link to itself. */
async function closed() {
  const machine = new Machine()
  const session = machine.session().turn("Begin").flush()
  await machine.hook("stop", session)
  const folder = dirname(session.path)
  rmSync(folder, { recursive: true })
  symlinkSync(folder, folder)
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  return { machine, session, cli, [Symbol.dispose]: () => machine[Symbol.dispose]() }
}

test("status, doctor and the model are told what the database holds", async () => {
  using world = await closed()
  const { machine, cli } = world
  const status = JSON.parse((await cli("status", "--json")).stdout)
  expect(status).toMatchObject({ database: { problem: null }, totals: { sessions: 1 } })
  const { findings } = JSON.parse((await cli("doctor", "--deep", "--json")).stdout)
  for (const name of ["database", "vault"]) {
    const states = findings.filter(({ check }: { check: string }) => check === name)
    expect(states).toMatchObject([{ state: "ok" }])
  }
  await using peer = await Peer.connect(machine.cwd, machine.env)
  expect((await peer.call("status")).structured).toMatchObject({ sessions: 1, problem: null })
})

test("its session can be forgotten", async () => {
  using world = await closed()
  const ran = await world.cli("forget", world.session.session, "--yes")
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse((await world.cli("status", "--json")).stdout).totals.sessions).toBe(0)
})

test("another tool's folder does not stop an import", async () => {
  using machine = new Machine()
  const folder = join(machine.home, ".claude-mem")
  symlinkSync(folder, folder)
  mkdirSync(join(machine.home, ".claude"))
  const session = machine.session().turn("Begin").flush()
  expect(existsSync(session.path)).toBe(true)
  const ran = await run(["import"], { env: machine.env, cwd: machine.cwd })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
})
