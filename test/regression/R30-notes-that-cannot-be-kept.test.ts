/** That a note could not be written was told to the model by the system's own words, without a hint. */
import { expect, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Machine } from "../support/machine.ts"
import { callOf, exchange } from "../support/mcp.ts"

test("with what can be done about it, and the server goes on", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("The walrus.").flush())
  mkdirSync(machine.dataHome, { recursive: true })
  writeFileSync(join(machine.dataHome, "notes"), "no folder")
  const { code, stderr, replies } = await exchange(
    [callOf(1, "remember", { text: "A note." }), callOf(2, "search", { query: "walrus" })],
    machine,
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const [kept, found] = replies.map(({ result }) => result!)
  const [{ text }] = kept!["content"] as [{ text: string }]
  expect(kept).toMatchObject({ isError: true })
  expect(text).toStartWith(`Error: cannot use ${machine.dataHome}: `)
  expect(text).toContain("\nHint: check its owner and mode; ")
  expect(found).toMatchObject({ isError: false, structuredContent: { hits: [{ by: "human" }] } })
})
