/** Requests that are refused. */
import { describe, expect, test } from "bun:test"
import { exchange, Inside } from "../../support/inside.ts"
import { callOf, request } from "../../support/mcp.ts"

/** Parameters that are none were an internal error, told in a dozen lines of a checker's own words. */
describe("parameters that are none", () => {
  test("each is told on one line, as what it is", async () => {
    using machine = new Inside()
    const { code, stderr, replies } = await exchange(
      [
        request(1, "tools/call", {}),
        request(2, "tools/call"),
        callOf(3, "search", ["walrus"]),
        callOf(4, "search", '{"query":"walrus"}'),
        request(5, "ping"),
      ],
      machine,
    )
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const places = ["params.name: ", "params: ", "params.arguments: ", "params.arguments: "]
    expect(replies).toHaveLength(5)
    for (const { id, error, result } of replies) {
      if (id === 5) expect(result).toEqual({})
      else {
        expect(error?.code).toBe(-32602)
        expect(error?.message).toStartWith(places[Number(id) - 1]!)
        expect(error?.message).not.toContain("\n")
      }
    }
  })
})

/** A request whose id was no safe integer was refused without its id: its sender waited for the answer for ever. */
test("what is refused is refused by its id", async () => {
  using machine = new Inside()
  const ids = [1.5, 2 ** 60, -0.25]
  const lines = ids.map((id) => JSON.stringify({ jsonrpc: "2.0", id, method: "ping" }))
  const { replies } = await exchange(lines, machine)
  expect(replies).toMatchObject(ids.map((id) => ({ id, error: { code: -32600 } })))
})
