/** Parameters that are none were an internal error, told in a dozen lines of a checker's own words. */
import { expect, test } from "bun:test"
import { Machine } from "../support/machine.ts"
import { callOf, exchange, request } from "../support/mcp.ts"

test("each is told on one line, as what it is", async () => {
  using machine = new Machine()
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
