/** One character of a script without spaces was found nowhere; of notes it was said that Claude Code keeps them. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { callOf, exchange } from "../support/mcp.ts"

test("one character of Chinese, Korean or Thai", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("缓存出错了。 캐시 오류. แคช 𠮷野").flush())
  for (const query of ["错", "오", "แ", "𠮷"]) {
    const ran = await run(["search", "--json", query], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).hits).toHaveLength(1)
  }
  expect(await run(["search", "界"], machine)).toMatchObject({ code: 3, stdout: "" })
})

test("of forgotten notes nothing stays", async () => {
  using machine = new Machine()
  const { replies } = await exchange([callOf(1, "remember", { text: "The walrus is at home." })], machine)
  expect(replies[0]?.result).toMatchObject({ isError: false })
  const listed = await run(["sessions", "--json"], machine)
  const [{ id }] = JSON.parse(listed.stdout).sessions
  const forgotten = await run(["forget", id, "--yes"], machine)
  expect(forgotten).toMatchObject({ code: 0, stderr: "" })
  expect(forgotten.stdout).not.toContain("Claude Code")
  const left = new Bun.Glob("**/notes-*.jsonl*").scanSync({ cwd: machine.dataHome })
  expect([...left]).toEqual([])
})
