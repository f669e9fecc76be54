/**
 * Queries that have no word were answered with the newest turns in one project and with nothing in all of them; those with
 * no text at all the other way round. A long one in quotation marks took a minute.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { callOf, exchange } from "../support/mcp.ts"

const machine = new Machine()
const later = machine.session()
const former = machine.session()

beforeAll(async () => {
  // Archived first, though it was said last.
  for (let n = 0; n < 5; n++) later.turn("an early turn, for the clock to run on")
  later.turn("the last word")
  await machine.hook("stop", later.flush())
  former.turn("the first word", [{ tool: "Bash", input: { command: "make" }, output: "=> made" }])
  await machine.hook("stop", former.flush())
})

afterAll(() => machine[Symbol.dispose]())

const search = (...args: readonly string[]) => run(["search", "--json", ...args], machine)

async function sessions(...args: readonly string[]): Promise<readonly string[]> {
  const { code, stdout, stderr } = await search(...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return (JSON.parse(stdout) as { hits: readonly { session: string }[] }).hits.map(({ session }) => session)
}

async function refused(...args: readonly string[]): Promise<unknown> {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  expect(stderr).toBe("")
  const text = stdout.trimEnd().split("\n").at(-1)!
  return { exit: code, ...JSON.parse(text).error }
}

test.each([["(((("], ['""'], ["🛡️"], ["..."]])(
  "%p is found nowhere, in one project as in all",
  async (query) => {
    const error = {
      exit: 3,
      code: "not-found",
      hint: "the query has no word; ctxbridge search --cold finds symbols as they are written",
    }
    expect(await refused("search", query)).toMatchObject(error)
    expect(await refused("search", query, "--all-projects")).toMatchObject(error)
    expect(await refused("how", query)).toMatchObject(error)
  },
)

test("signs are found as they stand in the vault", async () => {
  const { code, stdout } = await search("--cold", "=>")
  expect(code).toBe(0)
  expect(JSON.parse(stdout).hits).toMatchObject([{ session: former.session, cold: true }])
})

test("without a query, the newest by the clock", async () => {
  for (const where of [[], ["--all-projects"]]) {
    const found = await sessions(...where, "--limit", "1")
    expect(found).toEqual([later.session])
    expect(new Set(await sessions(...where))).toEqual(new Set([later.session, former.session]))
    expect(await sessions(...where, "--tool", "Bash")).toEqual([former.session])
  }
})

test("commands that answer one question do not answer an empty one", async () => {
  for (const name of ["how", "fix", "files", "blame"]) {
    expect(await refused(name, " ")).toMatchObject({ exit: 64, code: "usage" })
  }
})

test("in a folder that is no project, the project above it is named", async () => {
  const cwd = join(machine.cwd, "deep", "below")
  mkdirSync(cwd, { recursive: true })
  const { code, stdout, stderr } = await run(["search", "word"], { env: machine.env, cwd })
  expect({ code, stdout }).toEqual({ code: 3, stdout: "" })
  expect(stderr).toBe(
    `ctxbridge: no session of ${cwd} is archived\nhint: --project ${machine.cwd} is the project above it\n`,
  )
})

test("in a project that was moved, the one of its name is", async () => {
  const cwd = join(machine.root, "elsewhere", "project")
  mkdirSync(cwd, { recursive: true })
  const { code, stderr } = await run(["search", "word"], { env: machine.env, cwd })
  expect(code).toBe(3)
  expect(stderr).toEndWith(
    `\nhint: --project ${machine.cwd} has the same name; --all-projects looks everywhere\n`,
  )
})

test("a pasted log is looked for by its beginning", async () => {
  const many = Array.from({ length: 90_000 }, () => "word").join(" ")
  const queries = [`"${many}"`, many.slice(0, 200_000).replaceAll(" ", " OR ")]
  const { replies } = await exchange(
    queries.map((query, n) => callOf(n, "search", { query })),
    machine,
  )
  for (const { result } of replies) {
    expect(result).toMatchObject({ isError: false, structuredContent: { hits: [{}, {}] } })
  }
  expect(replies).toHaveLength(2)
})
