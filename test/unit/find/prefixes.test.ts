/** Words that begin as the query says. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

const SAID =
  "While caching runs, verify each file; the configurations of authentication follow quickly. Größe des Überlaufs. 設定ファイルの確認"

let machine: Machine

beforeAll(async () => {
  machine = new Inside()
  const session = machine.session().turn("Go on", [], SAID)
  session.raw(JSON.stringify({ type: "future-record-type", payload: "a walrusherd configuration" })).flush()
  await machine.hook("stop", session)
})

afterAll(() => machine[Symbol.dispose]())

async function hits(...args: string[]): Promise<{ snippet: string; marks: [number, number][] }[]> {
  const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).hits
}

/**
 * `verify* AND x` found nothing, since the index holds stems (`verifi`) and no accents. And with `--cold`, `walrus*` was the
 * word "walrus".
 */
test.each([
  ["verify*", "verify"],
  ["file*", "file"],
  ["cachi*", "caching"],
  ["run*", "runs"],
  ["configurati*", "configurations"],
  ["configurations*", "configurations"],
  ["authenticat*", "authentication"],
  ["quickl*", "quickly"],
  ["größ*", "Größe"],
  ["Überl*", "Überlaufs"],
  ["ファイ*", "設定ファイルの確認"],
])("%s is how %s begins", async (prefix, word) => {
  const [hit] = await hits(`${prefix} OR ${prefix}`)
  const { snippet, marks } = hit!
  expect(marks.map(([from, to]) => snippet.slice(from, to))).toContain(word)
})

test.each(["walrus*", "walrus* configurati*", "walrus* AND configurati*"])(
  "in the vault itself: %s",
  async (query) => {
    const cold = (await hits("--cold", query)).filter((hit) => "cold" in hit)
    expect(cold).toMatchObject([{ snippet: "a walrusherd configuration" }])
  },
)

test("what does not begin so is not found", async () => {
  for (const prefix of ["verifier*", "fileserver*", "größer*", "ファイア*"]) {
    expect(await run(["search", `${prefix} AND each`], machine)).toMatchObject({ code: 3, stdout: "" })
  }
})

test("files: a path that has a word beginning so comes first", async () => {
  const edit = (name: string) => ({
    tool: "Edit",
    input: { file_path: `${machine.cwd}/${name}`, old_string: "a", new_string: "b" },
    output: "ok",
  })
  const session = machine.session().turn("Verify the configuration", [edit("a.ts"), edit("verifyAll.ts")])
  await machine.hook("stop", session.flush())
  const { code, stdout, stderr } = await run(["files", "--json", "verify*"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(stdout).found[0]).toMatchObject({ path: `${machine.cwd}/verifyAll.ts` })
})
