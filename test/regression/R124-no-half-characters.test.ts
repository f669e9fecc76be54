/** Where a long text was cut, half of an emoji was left: in hits, and in the server's lines, which showed `�`. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { callOf, exchange } from "../support/mcp.ts"

test.each([0, 1])("cut after an odd and after an even number of units (%i)", async (shift) => {
  using machine = new Machine()
  const crowd = "🦭".repeat(100)
  const session = machine.session()
  // The first 6,000 units of what the model says are read for pieces, of what a tool says 200,000 for the index.
  const lines = `walrus${" ".repeat(shift)}\n${"a line of no interest\n".repeat(270)}walrus `
  session.turn("Long", [], `${lines}${crowd.repeat(4)}\n${"more\n".repeat(300)}`)
  session.turn("Longer", [
    {
      tool: "Bash",
      input: { command: "echo" },
      output: `${"x \n".repeat(66_640)}narwhal ${" ".repeat(shift)}${crowd}`,
    },
  ])
  session.turn("Behind", [], `${" ".repeat(shift)}: ${crowd} ermine`)
  await machine.hook("stop", session.flush())
  for (const [seq, word] of [
    [1, "walrus"],
    [2, "narwhal"],
    [3, "ermine"],
  ]) {
    const { code, stdout, stderr } = await run(["search", "--json", String(word)], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const [hit] = JSON.parse(stdout).hits
    expect(hit).toMatchObject({ seq })
    expect(hit.snippet).toContain("🦭")
    expect(JSON.stringify(hit)).not.toMatch(/\\ud[89a-f]/)
  }
  const { replies } = await exchange([callOf(1, "search", { query: "ermine" })], machine)
  const [hit] = (replies[0]!.result!["structuredContent"] as { hits: { text: string }[] }).hits
  expect(hit!.text).toMatch(/^…🦭.* ermine$/u)
})
