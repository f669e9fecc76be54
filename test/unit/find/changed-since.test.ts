/** What became of the files of a turn: said in hits, by `show` and by the server, where it is known. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { Inside, Peer, run } from "../../support/inside.ts"

test("a hit says how many files of its turn later turns have changed, and never that none has", async () => {
  using machine = new Inside()
  const file = (name: string): string => join(machine.cwd, name)
  const edit = (name: string) => ({
    tool: "Edit",
    input: { file_path: file(name), old_string: "a", new_string: "b" },
    output: "ok",
  })
  const session = machine.session()
  session.turn("Build the walrus tank.", [edit("tank.ts"), edit("pump.ts"), edit("lid.ts")])
  session.turn("Read the walrus tank again.", [
    { tool: "Read", input: { file_path: file("tank.ts") }, output: "b" },
  ])
  const kept = session.tip
  session.turn("Turn the lid.", [edit("lid.ts")]).backTo(kept)
  session.turn("The pump is too slow.", [edit("tank.ts"), edit("pump.ts"), edit("feed.ts")]).flush()
  await machine.hook("stop", session)

  const out = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await run(args, { cwd: machine.cwd, env: machine.env })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  const { hits } = JSON.parse(await out("search", "walrus", "tank", "--json"))
  const built = hits.find(({ seq }: { seq: number }) => seq === 1)
  expect(built.changedSince).toEqual({ files: 3, changed: 2 })
  for (const hit of hits.filter((one: unknown) => one !== built))
    expect(hit).not.toHaveProperty("changedSince")
  expect(await out("search", "walrus", "tank")).toContain("2 of its 3 files changed since")
  expect(await out("show", built.handle)).toContain("2 of its 3 files changed since")
  expect(JSON.parse(await out("show", built.handle, "--json")).changedSince).toEqual({ files: 3, changed: 2 })

  await using peer = await Peer.connect(machine.cwd, machine.env)
  const textOf = async (name: string, args: Record<string, unknown>): Promise<string> =>
    JSON.stringify(await peer.call(name, args))
  expect(await textOf("search", { query: "walrus tank" })).toContain("2 of its 3 files changed since")
  expect(await textOf("get", { handle: built.handle })).toContain("Of its files, 2 of 3 changed since.")
})
