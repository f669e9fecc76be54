/** `ctxbridge config`, and how deep a file may be. */
import { describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Inside, run } from "../../support/inside.ts"

const fileOf = (machine: Inside): string => join(machine.home, ".config", "ctxbridge", "config.toml")

describe("config set", () => {
  test("makes the file, private, and counts at once", async () => {
    using machine = new Inside()
    const ran = await run(["config", "set", "restore.budget", "6000"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toBe(`restore.budget = 6000 in ${fileOf(machine)}\n`)
    expect(statSync(fileOf(machine)).mode & 0o777).toBe(0o600)
    expect((await run(["config", "get", "restore.budget"], machine)).stdout).toBe("6000\n")
    expect((await run(["config", "set", "archive.max_size", "2GB"], machine)).code).toBe(0)
    expect((await run(["config", "get", "archive.max_size"], machine)).stdout).toBe("2000000000\n")
  })

  test("changes its own line only: order, comments and tables stay", async () => {
    using machine = new Inside()
    mkdirSync(dirname(fileOf(machine)), { recursive: true })
    const before = "# mine\nlearn = false\n\n[restore] # here\nbudget = 600 # little\nstartup = true\n"
    writeFileSync(fileOf(machine), before)
    expect((await run(["config", "set", "restore.budget", "700"], machine)).code).toBe(0)
    expect(readFileSync(fileOf(machine), "utf8")).toBe(before.replace("600", "700"))
    expect((await run(["config", "set", "prune.keep", "5"], machine)).code).toBe(0)
    expect(readFileSync(fileOf(machine), "utf8")).toBe(
      before.replace("600", "700").replace("false\n", "false\nprune.keep = 5\n"),
    )
  })

  test("a value that is not allowed, and a file that cannot be changed safely: nothing is written", async () => {
    using machine = new Inside()
    expect(await run(["config", "set", "restore.budget", "much"], machine)).toMatchObject({
      code: 64,
      stdout: "",
    })
    expect(existsSync(fileOf(machine))).toBe(false)
    mkdirSync(dirname(fileOf(machine)), { recursive: true })
    for (const text of ["restore.budget = [\n 1,\n 2 ]\n", "what is this\n"]) {
      writeFileSync(fileOf(machine), text)
      const ran = await run(["config", "set", "restore.budget", "700"], machine)
      expect(ran).toMatchObject({ code: 1, stdout: "" })
      expect(ran.stderr).toContain("left unchanged\nhint: ctxbridge config edit")
      expect(readFileSync(fileOf(machine), "utf8")).toBe(text)
    }
  })

  test("a variable that counts more is told", async () => {
    using machine = new Inside()
    machine.env["CTXBRIDGE_RESTORE_BUDGET"] = "900"
    const ran = await run(["config", "set", "restore.budget", "6000"], machine)
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    expect(ran.stdout).toContain("It has no effect here: 900 comes from the ")
  })
})

test("config describe explains one", async () => {
  using machine = new Inside()
  const ran = await run(["config", "describe", "restore.budget"], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("CTXBRIDGE_RESTORE_BUDGET")
  expect(ran.stdout).toContain("default")
})

test.each([{ words: ["list", "restore.budget"] }, { words: ["get", "restore.budget", "6000"] }])(
  "a word too many is an error: $words",
  async ({ words }) => {
    using machine = new Inside()
    expect(await run(["config", ...words], machine)).toMatchObject({
      code: 64,
      stdout: "",
      stderr: `ctxbridge: unexpected argument: ${words.at(-1)}\nhint: ctxbridge config --help\n`,
    })
  },
)

/**
 * A repository's `.ctxbridge.toml` may nest ten thousand tables. Making full names of them took a hook longer than the host
 * waits: it was killed before it had archived anything.
 */
test("tables are read as deep as options are named", async () => {
  using machine = new Inside()
  const deep = Array(13_000).fill("a").join(".")
  const lines = ['"restore.startup" = false', `${deep} = 1`, "[restore]", "budget = 600", `${deep} = 1`]
  writeFileSync(join(machine.cwd, ".ctxbridge.toml"), `${lines.join("\n")}\n`)
  const listed = await run(["config", "list", "--json"], { env: machine.env, cwd: machine.cwd })
  expect(listed).toMatchObject({ code: 0, stderr: "" })
  const { options, problems, brokenFiles } = JSON.parse(listed.stdout)
  expect(brokenFiles).toEqual([])
  const [origin, isValue, message] = ["project", false, "no such option"]
  expect(problems).toEqual(["a.a", "restore.a"].map((key) => ({ key, origin, isValue, message })))
  const set = options.filter((one: { origin: string }) => one.origin === "project")
  expect(set.map(({ key, value }: { key: string; value: unknown }) => [key, value])).toEqual([
    ["restore.budget", 600],
    ["restore.startup", false],
  ])
})
