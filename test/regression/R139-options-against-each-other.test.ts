/** Of two options that contradict each other, one was passed over without a word. */
import { expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const CALLS: readonly (readonly [message: string, ...args: string[]])[] = [
  [
    "--project and --all-projects exclude each other",
    "search",
    "word",
    "--all-projects",
    "--project",
    "/srv",
  ],
  ["--project and --all-projects exclude each other", "receipts", "--all-projects", "--project", "/srv"],
  ["--import and --no-import exclude each other", "install", "--import", "--no-import"],
  ["--purge and --no-mcp exclude each other", "uninstall", "--purge", "--no-mcp", "--yes"],
]

test.each(CALLS)("%s", async (message, ...args) => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("a word").flush())
  const ran = await run(args, machine)
  expect(ran).toMatchObject({ code: 64, stdout: "", stderr: `ctxbridge: ${message}\n` })
  expect(existsSync(machine.dataHome)).toBe(true)
})

const ONE_OF: readonly (readonly [message: string, ...args: string[]])[] = [
  ["--scope must be one of user, project, local", "install", "--scope", "system"],
  ["--source must be one of compact, clear, startup", "preview", "--source", "resume"],
  ["--runtime must be one of native, wasm", "model", "verify", "--runtime", "cuda"],
  ['--older-than needs an age, not "old"', "purge", "--older-than", "old"],
]

test.each(ONE_OF)("%s", async (message, ...args) => {
  using machine = new Machine()
  const ran = await run(args, machine)
  expect(ran).toMatchObject({ code: 64, stdout: "" })
  expect(ran.stderr.split("\n")[0]).toBe(`ctxbridge: ${message}`)
})

test("a scope is found in capitals, too, as every choice is", async () => {
  using machine = new Machine()
  const ran = await run(["install", "--scope", "USER", "--json"], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(JSON.parse(ran.stdout).statusLine).toBe("added")
})
