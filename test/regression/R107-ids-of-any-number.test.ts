/** A request whose id was no safe integer was refused without its id: its sender waited for the answer for ever. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("what is refused is refused by its id", async () => {
  using machine = new Machine()
  const ids = [1.5, 2 ** 60, -0.25]
  const lines = ids.map((id) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }))
  const { code, stdout, stderr } = await run(["mcp"], {
    stdin: `${lines.join("\n")}\n`,
    env: machine.env,
    cwd: machine.cwd,
  })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const answers = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
  expect(answers).toMatchObject(ids.map((id) => ({ id, error: { code: -32600 } })))
})
