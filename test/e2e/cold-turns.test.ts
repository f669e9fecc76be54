/** The background job makes turns cold, and everything but the index still has them. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { rmSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const DAY = 86_400_000

test("cold turns are out of the index and nowhere else, also after a rebuild", async () => {
  using machine = new Machine()
  const env = { ...machine.env, CLAUDE_FLOW_RETENTION_DAYS: "30" }
  const cli = async (...args: string[]) => {
    const ran = await run([...args, "--json"], { env, cwd: machine.cwd })
    expect({ args, code: ran.code, stderr: ran.stderr }).toEqual({ args, code: 0, stderr: "" })
    return JSON.parse(ran.stdout)
  }
  const old = machine.session({ start: Date.now() - 40 * DAY })
  old.turn(
    "Where is the theodolite?",
    [{ tool: "Bash", input: { command: "ls" }, output: "hut" }],
    "In the hut.",
  )
  const young = machine.session({ start: Date.now() - 2 * DAY })
  young.turn("Where is the sextant?", [], "On the pier.")
  const ended = { reason: "other" }
  for (const session of [old, young]) {
    await machine.hook("stop", session.flush(), {}, { env })
    expect(await machine.hook("session-end", session, ended, { env })).toMatchObject({
      code: 0,
      stdout: "",
      stderr: "",
    })
  }
  await machine.idle()
  const colds = async () => (await cli("status")).index.cold
  expect(await colds()).toBe(4)
  expect((await cli("search", "theodolite", "--exact")).hits).toMatchObject([
    { cold: true, session: old.session },
  ])
  const [{ handle }] = (await cli("search", "theodolite")).hits
  expect(await cli("show", handle)).toMatchObject({
    prompt: "Where is the theodolite?",
    worth: { cold: true },
  })
  expect((await cli("show", handle, "--around", "3")).turns).toMatchObject([{ handle }])
  expect((await cli("sessions")).sessions.map(({ id }: { id: string }) => id).sort()).toEqual(
    [old.session, young.session].sort(),
  )
  expect((await cli("verify")).ok).toBe(true)
  expect(await cli("sync", "--to", join(machine.root, "stick"))).toMatchObject({ stored: 2 })
  expect(await cli("optimize", "--dry-run")).toMatchObject({
    retention: { moved: 0 },
    tiers: { hot: 1, cold: 1 },
  })
  const lost = await Bun.file(old.path).text()
  rmSync(old.path)
  expect(await cli("resurrect", old.session)).toMatchObject({ ok: true })
  expect(await Bun.file(old.path).text()).toBe(lost)

  await cli("rebuild")
  expect(await colds()).toBe(0)
  await machine.hook("session-end", young, ended, { env })
  await machine.idle()
  expect(await colds()).toBe(4)
  expect((await cli("status")).embedding).toMatchObject({ turns: 1, embedded: 1 })

  // Only what was asked to be forgotten is.
  const off = { ...env, CLAUDE_FLOW_AUTO_OPTIMIZE: "false" }
  const silent = await run(["optimize", "--json"], { env: off, cwd: machine.cwd })
  expect(JSON.parse(silent.stdout)).toMatchObject({ enabled: false, tiers: { hot: 1, cold: 1 } })
  await cli("forget", "--older-than", "30d", "--yes")
  expect((await cli("status")).totals.turns).toBe(1)
  expect(await colds()).toBe(0)
})

test("a word that only cold turns have is not told as one that was corrected", async () => {
  using machine = new Machine()
  const env = { ...machine.env, CLAUDE_FLOW_RETENTION_DAYS: "30" }
  const old = machine.session({ start: Date.now() - 40 * DAY }).turn("Where is the theodolite?", [], "In it.")
  const young = machine.session({ start: Date.now() - 2 * DAY }).turn("Where is the theodolith?", [], "Gone.")
  for (const session of [old, young]) {
    await machine.hook("stop", session.flush(), {}, { env })
    await machine.hook("session-end", session, { reason: "other" }, { env })
  }
  await machine.idle()
  const { stdout } = await run(["search", "theodolite", "--json"], { env, cwd: machine.cwd })
  const { hits, note, corrections } = JSON.parse(stdout)
  expect(hits.map(({ session }: { session: string }) => session)).toEqual([old.session])
  expect([note, corrections]).toEqual([undefined, undefined])
})
