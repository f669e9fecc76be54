/** Handles, paths and times as people and models write them. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { callOf, exchange, hitsIn, replyTo, textOf } from "../support/mcp.ts"

const machine = new Machine()
let handle = ""

const edit = (path: string) => ({ tool: "Edit", input: { file_path: path }, output: "edited" })

beforeAll(async () => {
  const session = machine.session()
  session.turn("Mend the cursor.", [edit(join(machine.cwd, "src", "[id]", "cursor.ts"))])
  session.turn("Mend the page.", [edit(join(machine.home, "notes", "page.md"))])
  await machine.hook("stop", session.flush())
  const { stdout } = await run(["search", "--json", "cursor"], machine)
  handle = JSON.parse(stdout).hits[0].handle
})

afterAll(() => machine[Symbol.dispose]())

async function seqs(...args: readonly string[]): Promise<readonly number[]> {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const { hits, found } = JSON.parse(stdout) as Record<string, readonly { seq: number }[]>
  return (hits ?? found)!.map(({ seq }) => seq)
}

/**
 * Handles in capitals or with a full stop behind them, paths of another folder, patterns and times as people write them
 * were names of nothing; what was wrong was told to a model in commands of a shell.
 */
test("a handle is known in capitals, in quotation marks, at the end of a sentence", async () => {
  for (const word of [
    handle.toUpperCase(),
    `"${handle}"`,
    `${handle}.`,
    `(${handle}),`,
    handle.replace(":", ": "),
  ]) {
    const ran = await run(["show", word, "--json"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(ran.stdout).handle).toBe(handle)
  }
})

test("files are found below a folder, by a pattern, from the folder above, from the home folder", async () => {
  for (const name of [
    "src/",
    "*.ts",
    "src/[id]/*",
    "../project/src/[id]/cursor.ts",
    "./src/[id]/cursor.ts",
  ]) {
    expect(await seqs("search", "--file", name)).toEqual([1])
    expect(await seqs("blame", name)).toEqual([1])
  }
  expect(await seqs("search", "--file", "~/notes/page.md")).toEqual([2])
  expect(await seqs("blame", "~/notes/")).toEqual([2])
  const none = await run(["search", "--file", "?.ts"], machine)
  expect(none).toMatchObject({ code: 3, stdout: "" })
})

test("times as people write them", async () => {
  const since = async (text: string) => (await run(["search", "--since", text, "cursor"], machine)).code
  // The session is of the second of March 2026, at eight in UTC.
  for (const text of [
    "2026/03/02",
    "2026-03-02 07:59Z",
    "2026-03-02T09:59:00+02:00",
    "50 years ago",
    "50y",
  ]) {
    expect([text, await since(text)]).toEqual([text, 0])
  }
  const zone = { ...machine.env, TZ: "Pacific/Auckland" }
  const there = await run(["search", "--since", "2026-03-02 21:01", "cursor"], { ...machine, env: zone })
  expect(there.code).toBe(3)
  for (const text of ["2026-02-30", "2026-13-01", "999999y", "7x", "ago"]) {
    expect([text, await since(text)]).toEqual([text, 64])
  }
  const crossed = await run(["search", "--since", "2026-03-02", "--until", "2026-03-01", "cursor"], machine)
  expect(crossed).toMatchObject({ code: 64, stdout: "" })
  expect(crossed.stderr).toStartWith("ctxbridge: --since is not before --until\n")
})

test("a model is told of tools, not of commands", async () => {
  const { replies } = await exchange(
    [
      callOf(1, "get", { handle: "ctx:zzzzzz" }),
      callOf(2, "timeline", { of: "ctx:zzzzzz" }),
      callOf(3, "search", { query: "cursor", session: "ffffffff" }),
      callOf(4, "restore_preview", { session: "ffffffff" }),
      callOf(5, "search", { query: "cursor", since: "1d", until: "2d" }),
      callOf(6, "search", { query: "", file: "src/" }),
      callOf(7, "get", { handle: `${handle.toUpperCase()}.` }),
    ],
    machine,
  )
  const texts = [1, 2, 3, 4, 5, 6, 7].map((id) => textOf(replyTo(replies, id)))
  for (const text of texts.slice(0, 4)) {
    expect(text).toEndWith("Hint: search and timeline give handles, timeline and status the ids of sessions")
  }
  expect(texts[4]).toStartWith("Error: since is not before until\nHint: ")
  expect(texts[5]).toContain(handle)
  expect(texts[6]).toStartWith(`${handle}, turn 1 `)
})

test("a time that a tool has shown means the same when it is asked for, in whatever zone", async () => {
  const there = { ...machine, env: { ...machine.env, TZ: "Asia/Tokyo" } }
  const asked = async (args: Record<string, unknown>) => {
    const { replies } = await exchange([callOf(1, "search", { query: "cursor", ...args })], there)
    return hitsIn(textOf(replies[0]!)).map(({ about }) => /\d{4}-\d\d-\d\d \d\d:\d\dZ/.exec(about)![0])
  }
  const [time] = await asked({ role: "human" })
  expect(time).toBe("2026-03-02 08:00Z")
  expect(await asked({ since: time })).toHaveLength(1)
  expect(await asked({ until: time })).toHaveLength(0)
})
