/** `config set <option> <value>`, which everybody tries first, complained of one argument too many and not of `set`. */
import { expect, test } from "bun:test"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test("config set says in which file values are set", async () => {
  using machine = new Machine()
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
    using machine = new Machine()
    expect(await run(["config", ...words], machine)).toMatchObject({
      code: 64,
      stdout: "",
      stderr: `ctxbridge: unexpected argument: ${words.at(-1)}\nhint: ctxbridge config --help\n`,
    })
  },
)
