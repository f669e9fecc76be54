/** What fills the window of a fork was told with all that its origin's compaction had taken out of it. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("a fork of a compacted session is filled by what stands behind the compaction", async () => {
  using machine = new Machine()
  const read = (name: string) => ({
    tool: "Read",
    input: { file_path: `/kiln/${name}.ts` },
    output: "export const heat = 1180\n".repeat(400),
  })
  const origin = machine.session()
  origin
    .turn("Read them", [read("before"), read("older")])
    .boundary()
    .summary("Two files were read.")
  origin.turn("And this one", [read("after")]).flush()
  await machine.hook("stop", origin)
  const fork = machine.session()
  fork.raw(readFileSync(origin.path, "utf8").replaceAll(origin.session, fork.session).trimEnd())
  // Later than all else: status tells of the latest session.
  fork.user("Go on from here", { timestamp: "2026-03-04T08:00:00.000Z" }).flush()
  await machine.hook("stop", fork)

  const { code, stdout, stderr } = await run(["status", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { session, fill } = JSON.parse(stdout).context
  const files = fill.files.map(({ name }: { name: string }) => name)
  expect({ session, files: files.sort() }).toEqual({
    session: fork.session,
    files: ["(no file)", "/kiln/after.ts"],
  })
})
