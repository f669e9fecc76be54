/** A request that is too long was refused without its id: its sender waited for the answer for ever. */
import { describe, expect, test } from "bun:test"
import { IdFinder, LONGEST_REQUEST, peerLines } from "../../../src/cli/server/sdk.ts"
import { exchange, Inside } from "../../support/inside.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("the id of a request", () => {
  test.each([
    ['{"jsonrpc":"2.0","id":7,"method":"x","params":{"id":8}}', 7],
    ['{"method":"x","params":{"id":8,"a":[{"id":9}]},"jsonrpc":"2.0","id":"seven"}', "seven"],
    ['{ "params" : { "text" : "\\"id\\":1,}{" } , "id" : -1.5 }', -1.5],
    ['{"i\\u0064":3,"text":"id"}', 3],
    ['{"text":"\\\\","id":4', undefined],
    ['{"text":"id","method":"id"}', undefined],
    ['{"id":{"id":5}}', undefined],
    ['{"id":null}', undefined],
    ['[{"id":6}]', undefined],
    ["garbage", undefined],
    [`{"id":"${"x".repeat(400)}"}`, undefined],
  ])("of %s", (text, id) => {
    for (const step of [1, 3, 1000]) {
      const finder = new IdFinder()
      const all = bytes(text)
      for (let at = 0; at < all.length; at += step) finder.read(all.subarray(at, at + step))
      expect(finder.id).toBe(id as never)
    }
  })

  test("is kept of a line that is too long, wherever it stands, and the next line is whole", async () => {
    const long = "y".repeat(LONGEST_REQUEST)
    const text = `{"id":1,"a":"${long}"}\n{"a":"${long}","id":"two"}\n{"a":"${long}"}\nnext\n`
    const all = bytes(text)
    const chunks = async function* () {
      for (let at = 0; at < all.length; at += 65_536) yield all.slice(at, at + 65_536)
    }
    const lines: unknown[] = []
    for await (const line of peerLines(chunks())) lines.push(line)
    expect(lines).toEqual([{ id: 1 }, { id: "two" }, { id: undefined }, "next"])
  })
})

test("the answer bears it", async () => {
  using machine = new Inside()
  const { replies } = await exchange([{ id: 5 }, { id: undefined }], machine)
  expect(replies).toMatchObject([
    { id: 5, error: { code: -32600, message: `a line of more than ${LONGEST_REQUEST} bytes` } },
    { id: null, error: { code: -32700 } },
  ])
})
