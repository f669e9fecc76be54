/** `ctxbridge resume`: by id, handle and words, with a session that Claude Code has deleted. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal, type TerminalOptions } from "../support/terminal.ts"
import type { Transcript } from "../support/transcript.ts"

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

const THEODOLITE = /^Polish the theodolite · .+ · \/\S+\/project\n$/

test.each([
  ["its id", () => [session.session], /^$/],
  ["the beginning of its id", () => [session.session.slice(0, 8)], /^$/],
  ["a handle of its turns", () => [handle], /^$/],
  ["a word, with the session it names", () => ["theodolite", "--project", machine.cwd], THEODOLITE],
  ["words in any project", () => ["polish", "theodolite", "-a"], THEODOLITE],
] as const)(
  "%s: written back and resumed in its folder, with Claude Code's exit code",
  async (_by, args, told) => {
    rmSync(session.path)
    expect(await resume(...args())).toMatchObject({
      code: 7,
      stdout: `${machine.cwd}: --resume ${session.session}\n`,
      stderr: expect.stringMatching(told),
    })
    expect(readFileSync(session.path)).toEqual(content)
  },
)

/** `resume "token bucket"` started a session that had never heard of it. */
describe("which session is meant", () => {
  const others = new Machine()
  const [one, two] = ["Mend the sextant arc", "Mend the sextant mirror"].map((prompt) =>
    others.session().turn(prompt, [], "Mended."),
  ) as [Transcript, Transcript]

  const started = (options: Partial<TerminalOptions> & { args: string[] }) =>
    runAtTerminal(others, ["resume", ...options.args, "-a"], {
      ...options,
      env: { NO_COLOR: "1", PATH: `${join(machine.root, "bin")}:${process.env["PATH"]}` },
    })
  const ask = (...args: string[]) =>
    run(["resume", ...args], {
      env: { ...others.env, PATH: `${join(machine.root, "bin")}:${process.env["PATH"]}` },
      cwd: others.cwd,
    })
  const listed = (first: string, ids: readonly string[], lacks = "") =>
    new RegExp(
      `^${first}:\n${ids.map((id, n) => `  ${n + 1}  ${id.slice(0, 8)}  Mend the sextant \\w+ · [^·]+ · /\\S+${lacks}\n`).join("")}`,
    )

  beforeAll(async () => {
    for (const transcript of [one, two]) await others.hook("stop", transcript.flush())
    await others.idle()
  })
  afterAll(() => others[Symbol.dispose]())

  test("several have all of the words: without a terminal, they are listed and none is started", async () => {
    const { code, stdout, stderr } = await ask("sextant")
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
    expect(stderr).toMatch(listed('2 sessions have all of "sextant"', [one.session, two.session]))
    expect(stderr).toEndWith(
      "\nctxbridge: it is not clear which session is meant, and there is no terminal to ask on\n" +
        "hint: ctxbridge resume ID resumes one of them, --yes the first\n",
    )
  })

  test("none has all of the words: the same, with what each lacks", async () => {
    const { code, stdout, stderr } = await ask("sextant mirror walrus")
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
    expect(stderr).toMatch(
      listed(
        'no session has all of "sextant mirror walrus"; the nearest is',
        [two.session],
        " · lacks “walrus”",
      ),
    )
  })

  test("--yes takes the first, and says which", async () => {
    expect(await ask("sextant mirror walrus", "--yes")).toMatchObject({
      code: 7,
      stdout: `${others.cwd}: --resume ${two.session}\n`,
      stderr: expect.stringMatching(/^Mend the sextant mirror · [^·]+ · \/\S+ · lacks “walrus”\n$/),
    })
  })

  test("most of the words are nowhere: nothing", async () => {
    expect(await ask("sextant of the walrus keeper")).toMatchObject({
      code: 3,
      stdout: "",
      stderr:
        `ctxbridge: no session found in ${others.cwd}: nothing matches "sextant of the walrus keeper"\n` +
        "hint: --all-projects looks everywhere\n",
    })
  })

  test("--json says how well it is meant, and by whom else", async () => {
    const json = async (...args: string[]) => JSON.parse((await ask(...args, "--dry-run", "--json")).stdout)
    const candidate = { title: "Mend the sextant mirror", project: others.cwd }
    expect(await json("mirror")).toMatchObject({
      session: two.session,
      match: "full",
      candidates: [{ ...candidate, session: two.session }],
    })
    expect(await json("mirror walrus")).toMatchObject({
      session: two.session,
      match: "part",
      candidates: [{ ...candidate, session: two.session, lacks: ["walrus"] }],
    })
    expect((await json("sextant")).candidates).toHaveLength(2)
    const { code, stdout } = await ask("sextant", "--json")
    expect([code, JSON.parse(stdout).error.message]).toEqual([
      64,
      expect.stringContaining(`2 sessions have all of "sextant": ${one.session} (`),
    ])
  })

  test("at a terminal, one asks: a number, enter for the first, anything else for none", async () => {
    const answered = (answer: string, ...args: string[]) => started({ args, answer })
    expect(await answered("2\r", "sextant")).toMatchObject({
      code: 7,
      text: expect.stringContaining(`--resume ${two.session}`),
    })
    expect((await answered("\r", "sextant")).text).toContain(`--resume ${one.session}`)
    for (const answer of ["3\r", "q\r"])
      expect(await answered(answer, "sextant")).toMatchObject({
        code: 1,
        text: expect.stringMatching(/Resume which\? \[1\] [\s\S]*Nothing was resumed/),
      })
    // Nothing has all of it: then enter starts none.
    expect(await answered("\r", "mirror", "walrus")).toMatchObject({
      code: 1,
      text: expect.stringMatching(/Resume which\? \[none\] [\s\S]*Nothing was resumed/),
    })
  })
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
