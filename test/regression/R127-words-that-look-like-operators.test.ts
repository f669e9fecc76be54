/**
 * `role:admin` asked for messages of nobody, though the words stood there; that capitals are operators was told nowhere when
 * nothing was found; and with `--cold`, `--tool` knew a tool only as the host writes it.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

let machine: Machine

beforeAll(async () => {
  machine = new Machine()
  const output = `${"x ".repeat(100_100)} walrus`
  const session = machine.session()
  session.turn("Add role: admin to the token", [{ tool: "mcp__remote__run", input: { q: "1" }, output }])
  session.turn("do NOT touch the generated files", [], "I will not.")
  await machine.hook("stop", session.flush())
})

afterAll(() => machine[Symbol.dispose]())

async function search(...args: string[]) {
  const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
  return { code, stderr, ...JSON.parse(stdout) }
}

test("only who may say something is a role", async () => {
  for (const query of ["role:admin", "role:admin AND token", "role:human, admin"]) {
    const { note, ...found } = await search(query)
    expect(found).toMatchObject({ code: 0, stderr: "", hits: [{ seq: 1, role: "human" }] })
    expect(note).toBeUndefined()
  }
})

test("where operators let nothing through, the error says so", async () => {
  const { code, stderr, error } = await search("do NOT touch the generated files")
  expect({ code, stderr, hint: error.hint }).toEqual({
    code: 3,
    stderr: "",
    hint: "AND, OR and NOT in capitals are operators; in small letters they are words",
  })
})

test.each(["mcp__remote__run", "MCP-Remote-Run"])("the vault is searched for calls of %s", async (tool) => {
  const { code, stderr, hits } = await search("--cold", "--tool", tool, "walrus")
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(hits).toMatchObject([{ cold: true, seq: 1, tool: "mcp__remote__run" }])
})
