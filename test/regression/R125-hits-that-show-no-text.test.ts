/**
 * The words of a long query took the room of the text that was found, and only its first 64 counted. Of a session that
 * begins with a message put into the queue, that message was found, but shown empty.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

async function search(machine: Machine, ...args: string[]) {
  const { code, stdout, stderr } = await run(["search", "--json", "--all-projects", ...args], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).hits as { snippet: string; why: string[] }[]
}

const pasted = Array.from({ length: 30 }, (_, n) => `gadget${String.fromCharCode(97 + n)}`.repeat(3)).join(
  " ",
)
const chinese = "请帮我修复登录页面在移动端的显示问题同时检查数据库连接超时的原因".repeat(40)

test.each([pasted, chinese])("a long query leaves room for what it finds", async (query) => {
  using machine = new Machine()
  const session = machine.session()
  for (let n = 0; n < 30; n++) session.turn(`Question ${n}`, [], query.slice(0, 300))
  await machine.hook("stop", session.flush())
  const hits = await search(machine, "--limit", "30", query)
  expect(hits).toHaveLength(30)
  for (const { snippet, why } of hits) {
    expect(snippet.length).toBeGreaterThan(40)
    expect(why.join("").length).toBeLessThanOrEqual(100)
    expect(why.length).toBeGreaterThan(0)
  }
})

test("the telling words at the end of a long query count", async () => {
  using machine = new Machine()
  const names = Array.from({ length: 100 }, (_, n) => `w${n}x`)
  const session = machine.session().turn("Look", [], "reconcileInventory failed in the warehouse")
  for (let n = 0; n < 40; n++) session.turn(`Question ${n}`, [], names.slice(n, n + 30).join(" "))
  await machine.hook("stop", session.flush())
  const hits = await search(machine, "--limit", "100", `${names.join(" ")} reconcileInventory warehouse`)
  expect(hits.map(({ why }) => why)).toContainEqual(["reconcileinventory", "warehouse"])
})

test("a message from the queue is shown", async () => {
  using machine = new Machine()
  const content = "feed the walrus"
  const session = machine.session()
  const timestamp = "2026-03-02T08:00:00.000Z"
  session.raw(JSON.stringify({ type: "queue-operation", operation: "enqueue", content, timestamp }))
  await machine.hook("stop", session.flush())
  expect(await search(machine, "walrus")).toMatchObject([{ snippet: content }])
})
