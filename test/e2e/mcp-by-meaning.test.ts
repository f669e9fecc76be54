/** Through the server, too, a search goes by meaning once a model is installed. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine, until } from "../support/machine.ts"
import { hitsIn, Peer } from "../support/mcp.ts"
import { TINY, writeModel } from "../support/onnx-model.ts"
import { limit } from "../support/slowness.ts"
import { tempFolder } from "../support/temp.ts"

setDefaultTimeout(limit(120_000))

test("words that nobody said find nothing without a model, and the nearest turns with one", async () => {
  using source = tempFolder()
  writeModel(source.path, TINY, "tiny")
  using machine = new Machine()
  const cli = async (...args: string[]) => {
    const ran = await run(args, machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    return ran.stdout
  }
  const session = machine.session()
  for (const animal of ["walrus", "heron", "ermine"]) session.turn(`Where is the ${animal}?`)
  session.flush()
  await cli("import")
  await using peer = await Peer.connect(machine.cwd, machine.env)
  const asked = async (query: string) => (await peer.call("search", { query })).text
  expect(await asked("xylophone")).toStartWith("0 hits")
  await cli("model", "install", "--from", source.path, "--manifest", join(source.path, "manifest.json"))
  const isEmbedded = async (): Promise<boolean> => {
    await cli("__job")
    const { vectors } = JSON.parse(await cli("model", "status", "--json"))
    return vectors.embedded === vectors.turns
  }
  await until(isEmbedded, 90_000, "every turn to be embedded")
  const nearest = await asked("xylophone")
  expect(hitsIn(nearest)).toHaveLength(3)
  expect(nearest).toContain("\nNo message has “xylophone”: these may not be about it.\n")
  for (const { about } of hitsIn(nearest)) expect(about).toContain(", by meaning")
  const both = await asked("walrus")
  expect(both).not.toContain("No message has")
  expect(hitsIn(both).filter(({ about }) => !about.includes("by meaning"))).toMatchObject([
    { texts: expect.arrayContaining(["Where is the walrus?"]) },
  ])
})
