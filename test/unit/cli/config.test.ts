/** `ctxbridge config`, and how deep a file may be. */
import { expect, test } from "bun:test"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"

/** `config set <option> <value>`, which everybody tries first, complained of one argument too many and not of `set`. */
test("config set says in which file values are set", async () => {
  using machine = new Inside()
  const file = join(machine.home, ".config", "ctxbridge", "config.toml")
  expect(await run(["config", "set", "restore.budget", "6000"], machine)).toMatchObject({
    code: 64,
    stdout: "",
    stderr: `ctxbridge: unknown action: set\nhint: one of list, get; values are set in ${file}\n`,
  })
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
