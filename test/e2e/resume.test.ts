/** `ctxbridge resume`: by id, handle and words, with a session that Claude Code has deleted. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal, type TerminalOptions } from "../support/terminal.ts"
import { Transcript } from "../support/transcript.ts"

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

  test("--dry-run chooses no other one, and --print takes the first", async () => {
    const [{ code, stdout, stderr }, asked] = [await ask("sextant", "--dry-run"), await ask("sextant")]
    expect({ code, stdout, stderr }).toEqual({ code: 64, stdout: "", stderr: asked.stderr })
    const print = await ask("sextant", "--dry-run", "--print")
    expect(print).toMatchObject({ code: 0, stdout: expect.stringContaining(one.session) })
    expect(print.stderr).toMatch(listed('2 sessions have all of "sextant"', [one.session, two.session]))
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

test("one that was imported from a backup: says that Claude Code does not look there", async () => {
  using other = new Machine()
  const { session: id, path } = other.session().turn("Polish the astrolabe", [], "It shines.").flush()
  const backup = join(other.root, "backup")
  mkdirSync(backup)
  renameSync(path, join(backup, `${id}.jsonl`))
  await run(["import", backup], other)
  expect(await run(["resume", id], other)).toMatchObject({
    code: 1,
    stdout: "",
    stderr:
      `ctxbridge: session ${id} cannot be resumed: its file is not where its agent looks\n` +
      `hint: ctxbridge resurrect ${id} says where it is\n`,
  })
})

describe("--from: a copy up to a turn", () => {
  const long = machine.session().turn("Grind the lens", [], "Ground.").turn("Mount the lens", [], "Mounted.")
  const cut = long.text
  long.turn("Drop the lens", [], "Broken.").flush()
  const before = readFileSync(long.path)
  const copyOf = (stdout: string) => /--resume ([-\da-f]{36})\n$/.exec(stdout)?.[1] ?? ""

  beforeAll(async () => {
    await machine.hook("stop", long)
    await machine.idle()
  })

  test.each([
    ["its number", "there", "2"],
    ["its handle", "there", undefined],
    ["its number", "deleted", "2"],
  ] as const)("%s; the session is %s", async (_by, is, number) => {
    const { stdout: shown } = await run(["search", "mount lens", "--json", "-a"], { env: machine.env })
    const turn = number ?? JSON.parse(shown).hits[0].handle
    if (is === "deleted") rmSync(long.path)
    const { code, stdout, stderr } = await resume(long.session, "--from", turn)
    const id = copyOf(stdout)
    expect({ code, stdout, stderr }).toEqual({
      code: 7,
      stdout: `${machine.cwd}: --resume ${id}\n`,
      stderr: `copied up to turn ${turn}; session ${long.session} stays as it is\n`,
    })
    expect(readFileSync(machine.path(`${id}.jsonl`), "utf8")).toBe(cut.replaceAll(long.session, id))
    if (is === "there") expect(readFileSync(long.path)).toEqual(before)
    else expect(existsSync(long.path)).toBe(false)
  })

  test("what is printed, and a dry run that writes nothing", async () => {
    const files = () => readdirSync(dirname(long.path)).length
    const [there, dry] = [files(), await resume(long.session, "--from", "1", "--dry-run")]
    expect({ ...dry, stdout: dry.stdout.replace(copyOf(dry.stdout), "ID") }).toMatchObject({
      code: 0,
      stdout: `cd ${machine.cwd} && claude --resume ID\n`,
      stderr: `would be copied up to turn 1; session ${long.session} stays as it is, and the copy would get an id of its own, other than this one\n`,
    })
    expect(files()).toBe(there)
    const { code, stdout, stderr } = await resume(long.session, "--from", "1", "--json")
    const { session: id, path, copyOf: from } = JSON.parse(stdout)
    expect({ code, stderr, path, from }).toEqual({
      code: 0,
      stderr: "",
      path: machine.path(`${id}.jsonl`),
      from: long.session,
    })
    expect(readFileSync(path, "utf8").trim().split("\n")).toHaveLength(2)
  })

  test("of a copy that is archived, too: by the numbers it shares, and where they tell too little, by handles", async () => {
    const first = await resume(long.session, "--from", "2", "--json")
    const { session: id, path } = JSON.parse(first.stdout)
    await machine.hook("stop", new Transcript({ ...long.options, session: id, path }))
    await machine.idle()
    expect(await resume(id, "--from", "1")).toMatchObject({ code: 7 })
    const more = new Transcript({ ...long.options, session: id, path }).turn("Buff the lens").flush()
    await machine.hook("stop", more)
    await machine.idle()
    const { code, stdout, stderr } = await resume(id, "--from", "1")
    expect({ code, stdout }).toEqual({ code: 64, stdout: "" })
    const may = new RegExp(
      `^ctxbridge: turn 1 of session ${id} may be (ctx:\\w+) or ctx:\\w+\nhint: a handle`,
    )
    expect(await resume(id, "--from", may.exec(stderr)?.[1] ?? "")).toMatchObject({ code: 7 })
  })

  test("a turn that is not in it: one line and a hint, and nothing is written", async () => {
    expect(await resume(long.session, "--from", "9")).toMatchObject({
      code: 64,
      stdout: "",
      stderr: `ctxbridge: session ${long.session} has no turn 9\nhint: ctxbridge show ${long.session} lists its turns\n`,
    })
    expect(await resume(long.session, "--from", handle)).toMatchObject({
      code: 3,
      stdout: "",
      stderr: `ctxbridge: turn ${handle} is not in session ${long.session}\nhint: ctxbridge show ${long.session} lists its turns\n`,
    })
  })
})

describe("a folder that is gone", () => {
  beforeAll(() => rmSync(machine.cwd, { recursive: true }))

  test("is told", async () => {
    expect(await resume(session.session)).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        `ctxbridge: the session's folder is gone: ${machine.cwd}\n` +
        "hint: create it first: Claude Code looks for the session only there; or --here goes on in this folder\n",
    })
  })

  test("--here writes no copy for an agent that is not there", async () => {
    const folder = join(dirname(dirname(session.path)), machine.root.replaceAll(/[^A-Za-z0-9]/g, "-"))
    const ran = await run(["resume", session.session, "--here"], {
      env: { ...machine.env, PATH: "/nowhere" },
      cwd: machine.root,
    })
    expect(ran).toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "ctxbridge: there is no claude on PATH\n" +
        "hint: --print writes the copy all the same, and prints the command\n",
    })
    expect(existsSync(folder)).toBe(false)
  })

  test("--here goes on in this one, with a copy that says so", async () => {
    const before = readFileSync(session.path)
    const { code, stdout, stderr } = await resume(session.session, "--here")
    const id = /--resume (\S+)/.exec(stdout)?.[1] ?? ""
    expect({ code, stdout, stderr }).toEqual({
      code: 7,
      stdout: `${machine.root}: --resume ${id}\n`,
      stderr:
        `copied; session ${session.session} stays as it is\n` +
        `goes on in ${machine.root} instead of ${machine.cwd}\n`,
    })
    const folder = join(dirname(dirname(session.path)), machine.root.replaceAll(/[^A-Za-z0-9]/g, "-"))
    const records = readFileSync(join(folder, `${id}.jsonl`), "utf8")
      .trim()
      .split("\n")
    expect(records.map((line) => JSON.parse(line))).toEqual(
      content
        .toString()
        .trim()
        .split("\n")
        .map((line) => ({ ...JSON.parse(line), sessionId: id, cwd: machine.root })),
    )
    expect(readFileSync(session.path)).toEqual(before)
  })

  test("--here in the session's own folder copies nothing", async () => {
    mkdirSync(machine.cwd)
    rmSync(session.path)
    const ran = await run(["resume", session.session, "--here", "--print"], {
      env: machine.env,
      cwd: machine.cwd,
    })
    expect(ran).toMatchObject({
      code: 0,
      stdout: `cd ${machine.cwd} && claude --resume ${session.session}\n`,
      stderr: "",
    })
    expect(readFileSync(session.path)).toEqual(content)
  })
})
