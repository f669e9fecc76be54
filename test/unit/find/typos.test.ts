/** Words that nobody has written, filters that let nothing through, and names of nothing. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { exchange, Inside, run } from "../../support/inside.ts"
import { callOf, textOf } from "../../support/mcp.ts"

const machine = new Inside()
const elsewhere = join(machine.root, "walrusery")

beforeAll(async () => {
  const session = machine.session()
  session.turn("How do checkpoints survive a migration?", [
    { tool: "Bash", input: { command: "make condensation" }, output: "made" },
    { tool: "Read", input: { file_path: "/src/strategy.ts" }, output: "the strategy" },
  ])
  session.turn("Checkpoints again, and a retreival")
  session.turn("The retrieval of the lantern")
  await machine.hook("stop", session.flush())
  const other = machine.session({ cwd: elsewhere }).turn("The narwhals keep chackpaint in a shed")
  await machine.hook("stop", other.flush())
})

afterAll(() => machine[Symbol.dispose]())

interface Answer {
  readonly note?: string
  readonly corrections?: readonly unknown[]
  readonly hits: readonly { readonly why: readonly string[] }[]
}

async function found(...args: readonly string[]): Promise<Answer> {
  const { code, stdout, stderr } = await run(["search", "--json", ...args], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

async function refused(...args: readonly string[]): Promise<{ message: string; hint?: string }> {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
  return JSON.parse(stdout.trimEnd()).error
}

describe("a word that nobody has written", () => {
  test.each([
    ["chekpoint", "checkpoints"],
    ["chekpoints", "checkpoints"],
    ["hceckpoint", "checkpoints"],
    ["Chekcpoint", "checkpoints"],
    ["migartion", "migration"],
    ["strategey", "strategy"],
    ["condensaton", "condensation"],
    ["lantren", "lantern"],
  ])("%p is searched for as %p, and this is said", async (typed, word) => {
    const { note, corrections, hits } = await found(typed)
    expect(note).toBe(`No match for “${typed}”. Showing results for “${word}”.`)
    expect(corrections).toEqual([{ typed, word }])
    expect(hits.length).toBeGreaterThan(0)
    expect(hits[0]!.why).toEqual([word])
  })

  test("people read it above the hits", async () => {
    const { code, stdout } = await run(["search", "chekpoint"], machine)
    expect(code).toBe(0)
    expect(stdout).toStartWith("No match for “chekpoint”. Showing results for “checkpoints”.\nctx:")
  })

  test("of several words, each", async () => {
    const { corrections, hits } = await found("chekpoint migartion")
    expect(corrections).toHaveLength(2)
    expect(new Set(hits[0]!.why)).toEqual(new Set(["checkpoints", "migration"]))
    expect((await found("chekpoint AND migration")).corrections).toHaveLength(1)
  })

  test("stays as it is if somebody has written it, in quotes, with --exact, as a beginning, and if nothing is near", async () => {
    expect((await found("retreival")).corrections).toBeUndefined()
    for (const query of ['"chekpoint"', "chekp*", "walrusish", "chekpoint2", "chk"])
      expect((await refused("search", query)).message).toStartWith("nothing in ")
    expect((await refused("search", "chekpoint", "--exact")).message).toStartWith("nothing in ")
    const long = await found("chekpoint", "what", "survive", "lantern", "again", "strategy", "condensation")
    expect(long.corrections).toBeUndefined()
  })

  test("only words of what is searched are near", async () => {
    expect((await found("chackpant", "--all-projects")).corrections).toEqual([
      { typed: "chackpant", word: "chackpaint" },
    ])
    expect((await refused("search", "chackpant")).message).toStartWith("nothing in ")
  })

  test("the server says so, too", async () => {
    const { replies } = await exchange([callOf(1, "search", { query: "chekpoint" })], machine)
    expect(replies[0]!.result).toMatchObject({ isError: false })
    expect(textOf(replies[0]!)).toContain("\nNo match for “chekpoint”. Showing results for “checkpoints”.\n")
  })
})

describe("filters that let nothing through are named", () => {
  test.each([
    [["lantern", "--tool", "Bash"], " with --tool Bash; 1 without it"],
    [["checkpoints", "--error"], " with --error; 2 without it"],
    [["checkpoints", "--role", "human", "--since", "2999-01-01"], " with --since 2999-01-01; 2 without it"],
    [
      ["lantern", "--tool", "Bash", "--since", "2999-01-01"],
      " with --tool Bash --since 2999-01-01; 1 without them",
    ],
    [["narwhals"], "; 1 in other projects"],
  ])("%p", async (args, end) => {
    const expected = `nothing in ${machine.cwd} matches ${JSON.stringify(args[0])}${end}`
    let { message } = await refused("search", ...args)
    // There is so much time to find the filter; without it, all are named.
    for (let n = 0; n < 5 && message !== expected; n++) message = (await refused("search", ...args)).message
    expect(message).toBe(expected)
  })

  test("unless nothing would be found without them", async () => {
    const { message } = await refused("search", "walrusish", "--tool", "Bash")
    expect(message).toBe(`nothing in ${machine.cwd} matches "walrusish"`)
  })

  test("the server names them, too", async () => {
    const asked = async (args: object): Promise<string> => {
      const { replies } = await exchange([callOf(1, "search", args)], machine)
      return textOf(replies[0]!)
    }
    expect(await asked({ query: "lantern", tool: "Bash" })).toMatch(/^0 hits .*\nWithout tool: 1 turn\.$/)
    expect(await asked({ query: "lantern", tool: "Bsh" })).toMatch(
      /^Error: .*"Bsh" is archived\nHint: did you mean Bash\?$/,
    )
  })
})

describe("names of nothing", () => {
  test("a tool", async () => {
    const error = {
      code: "not-found",
      message: 'no call of a tool named "Bsh" is archived',
      hint: "did you mean Bash?",
    }
    expect(await refused("search", "checkpoints", "--tool", "Bsh")).toMatchObject(error)
    expect(await refused("search", "tool:Bsh")).toMatchObject(error)
    // It might be called one day.
    expect((await refused("search", "checkpoints", "--tool", "WebSearch")).message).toEndWith(
      "; 2 without it",
    )
  })

  test("a role", async () => {
    const { code, stderr } = await run(["search", "checkpoints", "--role", "humn"], machine)
    expect([code, stderr]).toEqual([
      64,
      `ctxbridge: --role must be one of human, assistant, tool, host, not "humn"\nhint: did you mean --role human?\n`,
    ])
  })

  test.each(["search", "how", "fix", "files"])(
    "%s: a project, even within another's folder",
    async (command) => {
      const error = await refused(command, "checkpoints", "--project", "walrusary")
      expect(error).toMatchObject({
        code: "not-found",
        message: "--project walrusary is not a folder, and no session of it is archived",
        hint: `did you mean ${elsewhere}?`,
      })
    },
  )

  test("a project that is like none: a path may lie in another, a name does not", async () => {
    const hintOf = async (project: string) =>
      (await refused("search", "checkpoints", "--project", project)).hint
    expect(await hintOf("zzqqy")).toBe("ctxbridge sessions --all-projects lists the projects")
    expect(await hintOf("./zzqqy")).toBe(`--project ${machine.cwd} is the project above it`)
  })

  test("a project's folder may be gone, and another may be without sessions", async () => {
    expect((await found("narwhals", "--project", elsewhere)).hits).toHaveLength(1)
    const empty = join(machine.root, "empty")
    mkdirSync(empty)
    expect((await refused("search", "x", "--project", empty)).message).toBe(
      `no session of ${empty} is archived`,
    )
  })
})
