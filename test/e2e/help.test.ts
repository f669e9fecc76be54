/** Help and errors, as the router prints them. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

/** Each line of a help was filled up to the longest, of up to 400 columns, and none was broken: a terminal wrapped them all. */
test("help is as wide as the terminal", async () => {
  using machine = new Machine()
  const { code, text } = await runAtTerminal(machine, ["install", "--help"], { cols: 50 })
  expect(code).toBe(0)
  expect(Math.max(...text.split("\r\n").map((line) => line.length))).toBeLessThanOrEqual(50)
})

test("hook, which the overview lists, has a help, too", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  for (const words of [
    ["help", "hook"],
    ["hook", "--help"],
    ["hook", "-h"],
  ]) {
    const help = await cli(...words)
    expect(help).toMatchObject({ code: 0, stderr: "" })
    expect(help.stdout).toContain("session-start|")
  }
  expect((await cli("help", "--all")).stdout.match(/^ {2}hook /gm)).toHaveLength(1)
})

test("an error is JSON only where --json is an option", async () => {
  using machine = new Machine()
  const cli = (...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })
  const [word, flag] = [await cli("show", "--", "--json"), await cli("show", "x", "--json")]
  expect(word).toMatchObject({ code: 3, stdout: "" })
  expect(word.stderr).toStartWith("ctxbridge: ")
  expect(flag).toMatchObject({ code: 3, stderr: "" })
})

test("config edit opens the editor on the file, and tells what is wrong in it", async () => {
  using machine = new Machine()
  const file = join(machine.home, ".config", "ctxbridge", "config.toml")
  const edit = (env: Readonly<Record<string, string>>) =>
    run(["config", "edit"], { env: { ...machine.env, ...env }, cwd: machine.cwd })
  const ran = await edit({ EDITOR: "printf 'restore.budget = 1e9\\n' >" })
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("Ignored: restore.budget")
  expect(readFileSync(file, "utf8")).toBe("restore.budget = 1e9\n")
  const none = await edit({})
  expect(none).toMatchObject({ code: 64, stdout: "" })
  expect(none.stderr).toBe(`ctxbridge: no editor is set\nhint: set EDITOR, or edit ${file}\n`)
})
