/**
 * `a OR role:human` found only what has the word, and `it OR zebra` only zebras. `files tool:Edit` gave files without a score, in any order. And the error
 * of a query that finds nothing repeated all of it, however long.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

let machine: Machine

beforeAll(async () => {
  machine = new Machine()
  const session = machine.session()
  const edit = (name: string) => ({
    tool: "Edit",
    input: { file_path: `${machine.cwd}/${name}`, old_string: "a", new_string: "b" },
    output: "ok",
  })
  session.turn("Feed the walrus", [], "It sleeps.").turn("Go on", [], "The narwhal is awake.")
  session
    .turn("Write it down", [edit("b.md"), { ...edit("a.md"), tool: "Read" }])
    .turn("Again", [edit("b.md")])
  await machine.hook("stop", session.flush())
})

afterAll(() => machine[Symbol.dispose]())

async function json(...args: string[]) {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  return { code, stderr, ...JSON.parse(stdout) }
}

test.each([
  ["narwhal OR role:human", [2, 1, 3, 4]],
  ["it OR zebra", [3, 1]],
  ["zebra OR role:human", [4, 1, 2, 3]],
  ["(narwhal OR role:human) NOT walrus", [2, 3, 4]],
  ["narwhal OR NOT role:assistant", [2, 1, 3, 4]],
  ["narwhal AND role:human", undefined],
  ["narwhal AND (zebra OR role:assistant)", [2]],
])("%s", async (query, turns) => {
  const { code, stderr, hits } = await json("search", query)
  expect({ code, stderr }).toEqual({ code: turns === undefined ? 3 : 0, stderr: "" })
  if (turns === undefined) return
  const [first, ...others] = hits.map(({ seq }: { seq: number }) => seq)
  expect([first, ...others.sort()]).toEqual(turns)
})

test("files of a query that ranks nothing", async () => {
  const { found } = await json("files", "NOT zebra")
  expect(found).toMatchObject([
    { path: `${machine.cwd}/b.md`, score: 2 },
    { path: `${machine.cwd}/a.md`, score: 0.5 },
  ])
})

test.each(["search", "how"])("%s: the error tells the beginning of what was looked for", async (command) => {
  const { code, stderr, error } = await json(command, "zebra ".repeat(20_000))
  expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
  expect(error.message).toContain('matches "zebra zebra')
  expect(error.message.length).toBeLessThan(400)
})
