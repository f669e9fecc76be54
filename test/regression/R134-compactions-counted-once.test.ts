/**
 * `bench survive` counted a compaction again in each transcript that repeats it: in a fork, and in the former version
 * of a transcript that the host has rewritten.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("each compaction counts once", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const edit = [{ tool: "Edit", input: { file_path: "/src/app/lib/a.ts", new_string: "x" }, output: "ok" }]
  const session = machine
    .session()
    .turn("Fix it.", edit)
    .boundary("manual")
    .summary("<summary>Fixed.</summary>")
  session.turn("And again.", edit).flush()
  const fork = machine.session()
  expect((await cli("import")).code).toBe(0)
  const text = readFileSync(session.path, "utf8")
  writeFileSync(session.path, text.replace("Fix it.", "Fix it all."))
  writeFileSync(fork.path, text.replaceAll(session.session, fork.session))
  expect((await cli("import")).code).toBe(0)
  const { code, stdout, stderr } = await cli("bench", "survive", "--json")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const offset = Buffer.byteLength(
    readFileSync(session.path, "utf8").split(/(?<=\n)(?=.*compact_boundary)/)[0]!,
  )
  expect(JSON.parse(stdout).compactions).toMatchObject([{ session: session.session, offset }])
})
