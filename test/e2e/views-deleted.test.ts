/** The views are deleted while others have them open: whoever comes next makes them again, and all answer from those. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { rmSync } from "node:fs"
import { databasePath } from "../../src/views/database.ts"
import { open } from "../../src/views/open.ts"
import { run } from "../support/binary.ts"
import { Machine, promptsIn } from "../support/machine.ts"
import { Peer } from "../support/mcp.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

describe.each([
  ["the file alone", [""]],
  ["with its log", ["", "-wal", "-shm"]],
] as const)("%s", (_name, suffixes) => {
  async function withReader(work: (machine: Machine, peer: Peer) => Promise<void>): Promise<void> {
    using machine = new Machine()
    const [former, other] = [machine.session(), machine.session()]
    for (const one of [former.turn("about the walrus"), other.turn("about the heron")])
      await machine.hook("stop", one.flush())
    await run(["sessions"], { env: machine.env, cwd: machine.cwd })
    await machine.idle()
    await using peer = await Peer.connect(machine.cwd, machine.env)
    expect((await peer.call("search", { query: "walrus" })).isError).toBe(false)
    const reader = open(machine.dataHome, "look", 0)
    try {
      expect(reader.query("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 2 })
      for (const suffix of suffixes) rmSync(databasePath(machine.dataHome) + suffix, { force: true })
      // Nobody waits for the reader, which has the deleted file open all the time.
      await work(machine, peer)
    } finally {
      reader.close()
    }
  }

  const searched = async (peer: Peer): Promise<string> =>
    (await peer.call("search", { query: "walrus" })).text

  test("a command makes them", () =>
    withReader(async (machine, peer) => {
      const ran = await run(["search", "walrus"], { env: machine.env, cwd: machine.cwd })
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("about the walrus")
      expect(await searched(peer)).toContain("about the walrus")
    }))

  test("the server makes them", () =>
    withReader(async (_, peer) => expect(await searched(peer)).toContain("about the walrus")))

  test("a hook goes on with its own session, and what comes next makes the rest", () =>
    withReader(async (machine, peer) => {
      const transcript = machine.session().turn("about the seal").flush()
      const ran = await machine.hook("session-start", transcript, { source: "compact" })
      expect(ran).toMatchObject({ code: 0, stderr: "" })
      expect(ran.stdout).toContain("about the seal")
      expect(await searched(peer)).toContain("about the walrus")
      using views = machine.views()
      for (const session of views.query<{ id: string }, []>("SELECT id FROM sessions").all())
        expect(promptsIn(views, session.id)).toHaveLength(1)
    }))

  test("the background job makes them", () =>
    withReader(async (machine, peer) => {
      const ran = await run(["__job"], { env: machine.env, cwd: machine.cwd })
      expect(ran).toMatchObject({ code: 0, stdout: "", stderr: "" })
      using views = machine.views()
      expect(views.query("SELECT count(*) AS n FROM turns").get()).toEqual({ n: 2 })
      expect(await searched(peer)).toContain("about the walrus")
    }))
})
