/** What queries mean: signs, operators, filters, and nothing at all. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { exchange, Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"
import { callOf, hitsIn, textOf } from "../../support/mcp.ts"

/**
 * Queries that have no word were answered with the newest turns in one project and with nothing in all of them; those with
 * no text at all the other way round. A long one in quotation marks took a minute.
 */
describe("queries that have no word", () => {
  const machine = new Inside()
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
    for (const reply of replies) expect(hitsIn(textOf(reply))).toHaveLength(2)
    expect(replies).toHaveLength(2)
  })
})

/**
 * `a OR role:human` found only what has the word, and `it OR zebra` only zebras. `files tool:Edit` gave files without a score, in any order. And the error
 * of a query that finds nothing repeated all of it, however long.
 */
describe("filters among words", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
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

  test.each(["search", "how"])(
    "%s: the error tells the beginning of what was looked for",
    async (command) => {
      const { code, stderr, error } = await json(command, "zebra ".repeat(20_000))
      expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
      expect(error.message).toContain('matches "zebra zebra')
      expect(error.message.length).toBeLessThan(400)
    },
  )
})

/**
 * `role:admin` asked for messages of nobody, though the words stood there; that capitals are operators was told nowhere when
 * nothing was found; and with `--cold`, `--tool` knew a tool only as the host writes it.
 */
describe("words that look like operators", () => {
  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const output = `${"x ".repeat(100_100)} walrus`
    const session = machine.session()
    session.turn("Add role: admin to the token", [{ tool: "mcp__remote__run", input: { q: "1" }, output }])
    session.turn("do NOT touch the generated files", [], "I will not.")
    await machine.hook("stop", session.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  async function search(...args: string[]) {
    const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
    return { code, stderr, ...JSON.parse(stdout) }
  }

  test("only who may say something is a role", async () => {
    for (const query of ["role:admin", "role:admin AND token", "role:human, admin"]) {
      const { note, ...found } = await search(query)
      expect(found).toMatchObject({ code: 0, stderr: "", hits: [{ seq: 1, role: "human" }] })
      expect(note).toBeUndefined()
    }
  })

  test("where operators let nothing through, the error says so", async () => {
    const { code, stderr, error } = await search("do NOT touch the generated files")
    expect({ code, stderr, hint: error.hint }).toEqual({
      code: 3,
      stderr: "",
      hint: "AND, OR and NOT in capitals are operators; in lower case they are words",
    })
  })

  test.each(["mcp__remote__run", "MCP-Remote-Run"])("the vault is searched for calls of %s", async (tool) => {
    const { code, stderr, hits } = await search("--cold", "--tool", tool, "walrus")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(hits).toMatchObject([{ cold: true, seq: 1, tool: "mcp__remote__run" }])
  })
})
