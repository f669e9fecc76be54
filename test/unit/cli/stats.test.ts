/** `stats` as it is typed: parts, options, prices of one's own, pages, and what it says when there is nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"

let machine: Inside

const elsewhere = (): string => join(machine.root, "elsewhere")
const stats = (words: readonly string[], env: Record<string, string> = {}) =>
  run(["stats", ...words], { cwd: machine.cwd, env: { ...machine.env, ...env } })

async function figures(...words: readonly string[]) {
  const { code, stdout, stderr } = await stats([...words, "--json"])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

beforeAll(async () => {
  machine = new Inside()
  const fails = {
    tool: "Bash",
    input: { command: "make" },
    output: "Exit code 2\nmake: *** [all] Error 2",
    isError: true,
  }
  const fires = { tool: "Bash", input: { command: "npm run fire -- --hot" }, output: "Fired." }
  const first = machine.session().turn("Build", [fails, fails]).turn("Again", [fails, fires])
  first.boundary().summary("They built.").turn("Go on")
  mkdirSync(elsewhere())
  const second = machine.session({ cwd: elsewhere() }).turn("Something else")
  for (const one of [first, second])
    expect(await run(["import", one.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
})

afterAll(() => machine[Symbol.dispose]())

test("every project by default, one by --project", async () => {
  expect(await figures()).toMatchObject({
    project: null,
    sessions: 2,
    turns: 4,
    compactions: { examined: 1, more: false },
  })
  expect(await figures("-p", ".")).toMatchObject({ project: machine.cwd, sessions: 1, turns: 3 })
  expect(await figures("--by", "project")).toMatchObject({
    by: "project",
    rows: [
      { key: machine.cwd, turns: 3 },
      { key: elsewhere(), turns: 1 },
    ],
  })
})

test("friction alone, for programs and for people", async () => {
  expect(await figures("friction")).toEqual({
    ...{ project: null, since: null, interrupted: 0, takenBack: 0 },
    failuresByHour: Array.from({ length: 24 }, (_, hour) => (hour === 8 ? 3 : 0)),
    tools: [{ name: "Bash", calls: 4, failed: 3 }],
    files: [],
    errors: [
      expect.objectContaining({
        error: "make: *** [all] Error 2",
        times: 3,
        turns: 2,
        tool: "Bash",
        solvedIn: null,
      }),
    ],
  })
  const { stdout } = await stats(["friction"])
  expect(stdout).toContain("make: *** [all] Error 2\n  3 times in 2 turns, Bash, last 2 Mar 08:00 in ctx:")
})

test("for people: what Claude Code's summary kept stands in the headline", async () => {
  const { code, stdout, stderr } = await stats([])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout).toStartWith("Every project, 2026-03-02 to 2026-03-02\nsessions  2 with 4 turns\n")
  expect(stdout).toContain("Summaries kept 0% of your commands, ctxbridge restored 0%.")
})

describe("prices of one's own", () => {
  const PRICE = "claude-sonnet-4-6 1000 1000 1000 1000"

  test("count in the user's file", async () => {
    const file = join(machine.root, "prices.toml")
    writeFileSync(file, `[stats]\nprices = ["${PRICE}"]\n`)
    const { stdout } = await stats(["--json"], { CTXBRIDGE_CONFIG: file })
    const { total } = JSON.parse(stdout)
    const { input, output, cacheCreation, cacheRead } = total.tokens
    expect(total.cost).toBeCloseTo((input + output + cacheCreation + cacheRead) / 1000)
  })

  test("do not count in a project's", async () => {
    const before = await figures()
    writeFileSync(join(machine.cwd, ".ctxbridge.toml"), `[stats]\nprices = ["${PRICE}"]\n`)
    expect((await figures()).total).toEqual(before.total)
    const { stdout } = await run(["config", "get", "stats.prices", "--json"], machine)
    expect(JSON.parse(stdout)).toMatchObject({
      value: [],
      origin: "default",
      problems: [{ origin: "project" }],
    })
  })

  test.each(["claude-opus-4-5", "claude-opus-4-5 5", "claude-opus-4-5 five 25", "5 25", "m -1 2"])(
    "%s is none",
    async (line) => {
      const file = join(machine.root, "wrong.toml")
      writeFileSync(file, `[stats]\nprices = [${JSON.stringify(line)}]\n`)
      const { stdout } = await run(["config", "get", "stats.prices", "--json"], {
        cwd: elsewhere(),
        env: { ...machine.env, CTXBRIDGE_CONFIG: file },
      })
      expect(JSON.parse(stdout)).toMatchObject({ value: [], problems: [{ isValue: true }] })
    },
  )
})

describe("a page for browsers", () => {
  test("goes to stdout, or into a file of one's own that is not overwritten unasked", async () => {
    const printed = await stats(["--html"])
    expect(printed).toMatchObject({ code: 0, stderr: "" })
    expect(printed.stdout).toStartWith("<!doctype html>\n")
    const file = join(machine.root, "stats.html")
    const written = await stats(["--html", "-o", file, "--json"])
    expect(written).toMatchObject({ code: 0, stderr: "" })
    expect(JSON.parse(written.stdout)).toEqual({ file, bytes: statSync(file).size })
    expect(readFileSync(file, "utf8")).toBe(printed.stdout)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const again = await stats(["--html", "-o", file])
    expect(again).toMatchObject({ code: 1, stdout: "" })
    expect(again.stderr).toContain("hint: --force replaces it")
    expect(await stats(["--html", "-o", file, "--force"])).toMatchObject({ code: 0, stderr: "" })
  })

  test("is of everything", async () => {
    const file = join(machine.root, "none.html")
    for (const words of [
      ["friction", "--html"],
      ["-o", file],
    ])
      expect(await stats(words)).toMatchObject({ code: 64, stdout: "" })
    const { code, stdout } = await stats(["--html", "--json"])
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 64, error: { code: "usage" } })
    expect(existsSync(file)).toBe(false)
  })
})

describe("what cannot be answered", () => {
  test.each([
    [["fricton"], 64, "unknown part: fricton", "did you mean friction?"],
    [
      ["--by", "hour"],
      64,
      "--by must be one of day, week, month, project, model, session",
      "such as --by day",
    ],
    [["friction", "--by", "week"], 64, "--by is about tokens and cost", ""],
    [["--since", "soon"], 64, "--since needs a date or an age", ""],
    [["--since", "2026-03-03"], 3, "there is nothing to sum up here", "leave out --since"],
  ])("%p", async (words, code, message, hint) => {
    const ran = await stats(words)
    expect({ code: ran.code, stdout: ran.stdout }).toEqual({ code, stdout: "" })
    expect(ran.stderr).toContain(message)
    expect(ran.stderr).toContain(hint)
  })

  test("an empty archive", async () => {
    using other = new Inside()
    const ran = await run(["stats"], other)
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(ran.stderr).toContain("ctxbridge import")
  })
})
