/**
 * Where another process had archived a transcript that the host had written anew and shorter, hooks went on to look for
 * compactions behind the end of the former one. A compaction that nobody announced was not made up for.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("the next compaction that nobody announced is made up for", async () => {
  using machine = new Machine()
  const session = machine.session()
  const step = { tool: "Bash", input: { command: "make heat-kiln" }, output: "hot" }
  for (let n = 0; n < 10; n++) {
    await machine.hook("user-prompt-submit", session, { prompt: `Heat kiln ${n}` })
    await machine.hook("stop", session.turn(`Heat kiln ${n}`, [step]).flush())
  }
  const lines = readFileSync(session.path, "utf8").split("\n")
  writeFileSync(session.path, `${lines.slice(0, 8).join("\n")}\n`)
  expect(await run(["import"], machine)).toMatchObject({ code: 0, stderr: "" })
  await machine.hook("stop", session)
  session.boundary().summary("Kilns were heated.").flush()
  const given = await machine.hook("user-prompt-submit", session, { prompt: "Go on" })
  expect(contextOf(given)).toContain("make heat-kiln")
})
