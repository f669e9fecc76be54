/** `ctxbridge resume`: by id, handle and words, with a session that Claude Code has deleted. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const machine = new Machine()
const session = machine.session().turn("Polish the theodolite", [], "It shines.").flush()
const content = readFileSync(session.path)
let handle = ""

const resume = (...args: string[]) =>
  run(["resume", ...args], {
    env: { ...machine.env, PATH: `${join(machine.root, "bin")}:${process.env["PATH"]}` },
    cwd: machine.root,
  })

beforeAll(async () => {
  mkdirSync(join(machine.root, "bin"))
  // Tells where it was started, and how.
  writeFileSync(join(machine.root, "bin", "claude"), '#!/bin/sh\necho "$PWD: $*"\nexit 7\n', { mode: 0o755 })
  await machine.hook("stop", session)
  await machine.idle()
  const { stdout } = await run(["search", "theodolite", "--json", "-a"], {
    env: machine.env,
    cwd: machine.cwd,
  })
  handle = JSON.parse(stdout).hits[0].handle
})
afterAll(() => machine[Symbol.dispose]())

test.each([
  ["its id", () => [session.session]],
  ["the beginning of its id", () => [session.session.slice(0, 8)]],
  ["a handle of its turns", () => [handle]],
  ["a word", () => ["theodolite", "--project", machine.cwd]],
  ["words in any project", () => ["polish", "theodolite", "-a"]],
] as const)("%s: written back and resumed in its folder, with Claude Code's exit code", async (_by, args) => {
  rmSync(session.path)
  expect(await resume(...args())).toMatchObject({
    code: 7,
    stdout: `${machine.cwd}: --resume ${session.session}\n`,
    stderr: "",
  })
  expect(readFileSync(session.path)).toEqual(content)
})

test("a dry run prints the command and writes nothing; --json has it, too", async () => {
  rmSync(session.path)
  const command = `cd ${machine.cwd} && claude --resume ${session.session}`
  expect(await resume(session.session, "--dry-run")).toMatchObject({
    code: 0,
    stdout: `${command}\n`,
    stderr: "",
  })
  expect(existsSync(session.path)).toBe(false)
  const json = await resume(session.session, "--json")
  expect(JSON.parse(json.stdout)).toMatchObject({ session: session.session, folder: machine.cwd, command })
  expect(existsSync(session.path)).toBe(true)
})

test("what is not there: one line and a hint", async () => {
  const nothing = await resume("kaleidoscope", "-a")
  expect(nothing).toMatchObject({ code: 3, stdout: "" })
  expect(nothing.stderr.trim().split("\n")).toHaveLength(2)
  const none = await run(["resume", session.session], {
    env: { ...machine.env, PATH: "/nowhere" },
    cwd: machine.cwd,
  })
  expect(none).toMatchObject({ code: 1, stdout: "" })
  expect(none.stderr).toBe(
    `ctxbridge: there is no claude on PATH\nhint: the command is: cd ${machine.cwd} && claude --resume ${session.session}\n`,
  )
})

test("a folder that is gone is told", async () => {
  rmSync(machine.cwd, { recursive: true })
  const ran = await resume(session.session)
  expect(ran).toMatchObject({ code: 1, stdout: "" })
  expect(ran.stderr).toStartWith(`ctxbridge: the session's folder is gone: ${machine.cwd}\n`)
})
