/** Transcripts written back from the vault by the compiled file: byte for byte, and never over what only the disk has. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import {
  appendFileSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { open } from "../../src/views/open.ts"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { Transcript } from "../support/transcript.ts"

let machine: Machine
let main: Transcript
let agent: Transcript
/** The transcripts as Claude Code wrote them. */
const original = new Map<string, Buffer>()
let kept = ""

const cli = (args: readonly string[], env: Record<string, string> = {}) =>
  run(args, { env: { ...machine.env, ...env }, cwd: machine.cwd })

async function resurrect(...args: string[]) {
  const ran = await cli(["resurrect", ...args, "--json"])
  expect(ran.stderr).toBe("")
  const value = JSON.parse(ran.stdout)
  const states = (value.sessions ?? []).map(({ files }: { files: { state: string }[] }) =>
    files.map(({ state }) => state),
  )
  return { code: ran.code, value, states }
}

const projects = (): string => join(machine.home, ".claude", "projects")

function old(path: string): void {
  const before = Date.now() / 1000 - 40 * 86_400
  utimesSync(path, before, before)
}

function everything(folder: string): Record<string, string> {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile())
  return Object.fromEntries(
    names.map((one) => {
      const path = join(one.parentPath, one.name)
      return [path.slice(folder.length), readFileSync(path, "base64")]
    }),
  )
}

beforeAll(async () => {
  machine = new Machine()
  main = machine.session()
  main.turn("Add a lock to the queue. Grüße 🛡️", [], "Done.").flush()
  agent = new Transcript({
    session: main.session,
    cwd: machine.cwd,
    version: "2.1.112",
    agent: "a1b2c3",
    path: machine.path(`${main.session}/subagents/agent-a1b2c3.jsonl`),
  })
  agent.turn("Look around.", [], "Nothing.").flush()
  const other = machine.session({ version: "2.0.76" })
  other.turn("Something else.").flush()
  const beside = new Transcript({
    session: other.session,
    cwd: machine.cwd,
    version: "2.0.76",
    agent: "deadbee",
    path: machine.path("agent-deadbee.jsonl"),
  })
  beside.turn("Warm up.", [], "Warm.").flush()
  for (const { path } of [main, agent, other, beside]) {
    old(path)
    original.set(path, readFileSync(path))
  }
  expect((await cli(["import"])).code).toBe(0)
  kept = join(machine.root, "kept")
  cpSync(projects(), kept, { recursive: true, preserveTimestamps: true })
})

beforeEach(() => {
  rmSync(projects(), { recursive: true, force: true })
  cpSync(kept, projects(), { recursive: true, preserveTimestamps: true })
})

afterAll(() => machine[Symbol.dispose]())

describe("resurrect", () => {
  test("brings a session and its subagents back, byte for byte, private and new", async () => {
    rmSync(projects(), { recursive: true })
    const began = Date.now() - 2000
    const dry = await resurrect(main.session, "--dry-run")
    expect(dry).toMatchObject({ code: 0, states: [["written", "written"]], value: { dryRun: true } })
    expect(existsSync(projects())).toBe(false)

    const words = await cli(["resurrect", main.session.slice(0, -2) + main.session.slice(-2)])
    expect(words).toMatchObject({ code: 0, stderr: "" })
    expect(words.stdout).toContain(`cd ${machine.cwd} && claude --resume ${main.session}\n`)
    for (const { path } of [main, agent]) {
      expect(readFileSync(path).equals(original.get(path)!)).toBe(true)
      expect(statSync(path).mode & 0o777).toBe(0o600)
      // Claude Code's clean-up goes by the time of change.
      expect(statSync(path).mtimeMs).toBeGreaterThan(began)
    }
    // No other session, and nothing half-written.
    expect(Object.keys(everything(projects())).length).toBe(2)
    expect((await cli(["verify"])).code).toBe(0)

    const again = await resurrect(main.session)
    expect(again).toMatchObject({ code: 0, states: [["present", "present"]] })
  })

  test("takes several sessions, by handle too, with subagents beside their session", async () => {
    const handle = JSON.parse((await cli(["show", main.session, "--json"])).stdout).turns[0].handle
    rmSync(projects(), { recursive: true })
    const other = [...original.keys()][2]!
    const id = other.slice(other.lastIndexOf("/") + 1, -".jsonl".length)
    const found = await resurrect(`ctx:${handle.replace(/^ctx:/, "")}`, id, main.session)
    expect(found).toMatchObject({
      code: 0,
      states: [
        ["written", "written"],
        ["written", "written"],
      ],
    })
    for (const [path, content] of original) expect(readFileSync(path).equals(content)).toBe(true)
  })

  test("needs no database", async () => {
    rmSync(projects(), { recursive: true })
    const database = join(machine.dataHome, "archive.db")
    const before = readFileSync(database)
    writeFileSync(database, "no database at all")
    try {
      expect(await resurrect(main.session)).toMatchObject({ code: 0, states: [["written", "written"]] })
      expect(readFileSync(main.path).equals(original.get(main.path)!)).toBe(true)
    } finally {
      for (const end of ["-wal", "-shm"]) rmSync(database + end, { force: true })
      writeFileSync(database, before)
    }
  })

  test("completes a beginning, and leaves what has grown", async () => {
    truncateSync(main.path, 100)
    writeFileSync(agent.path, "")
    expect(await resurrect(main.session)).toMatchObject({ code: 0, states: [["completed", "completed"]] })
    for (const { path } of [main, agent]) expect(readFileSync(path).equals(original.get(path)!)).toBe(true)

    appendFileSync(main.path, '{"type":"user"}\n')
    const grown = readFileSync(main.path)
    const found = await resurrect(main.session, "--force")
    expect(found).toMatchObject({ code: 0, states: [["longer", "present"]] })
    expect(readFileSync(main.path).equals(grown)).toBe(true)
  })

  test("leaves another file alone, and with --force sets it aside", async () => {
    writeFileSync(main.path, "something else\n")
    const refused = await resurrect(main.session)
    expect(refused).toMatchObject({ code: 1, states: [["differs", "present"]], value: { ok: false } })
    expect(readFileSync(main.path, "utf8")).toBe("something else\n")
    const words = await cli(["resurrect", main.session])
    expect(words).toMatchObject({ code: 1, stderr: "" })
    expect(words.stdout).toContain("--force")
    expect(words.stdout).not.toContain("claude --resume")

    const dry = await resurrect(main.session, "--force", "--dry-run")
    expect(dry).toMatchObject({ code: 0, states: [["replaced", "present"]] })
    expect(readFileSync(main.path, "utf8")).toBe("something else\n")

    const forced = await resurrect(main.session, "--force")
    expect(forced).toMatchObject({ code: 0, states: [["replaced", "present"]] })
    expect(readFileSync(main.path).equals(original.get(main.path)!)).toBe(true)
    const { aside } = forced.value.sessions[0].files[0]
    expect(aside).not.toEndWith(".jsonl")
    expect(readFileSync(aside, "utf8")).toBe("something else\n")
  })

  test("does not write over a folder in a transcript's place", async () => {
    rmSync(main.path)
    mkdirSync(main.path)
    expect(await resurrect(main.session)).toMatchObject({ code: 1, states: [["differs", "present"]] })
    expect(lstatSync(main.path).isDirectory()).toBe(true)
  })

  test("writes elsewhere with --to, and adds what the host had rewritten with --all", async () => {
    const to = join(machine.root, "elsewhere")
    const found = await resurrect(main.session, "--to", to)
    expect(found).toMatchObject({ code: 0, states: [["written", "written"]] })
    expect(found.value.sessions[0].resume).toEqual([])
    const slug = dirname(main.path).slice(projects().length)
    const name = `${slug}/${main.session}.jsonl`
    expect(readFileSync(join(to, name)).equals(original.get(main.path)!)).toBe(true)

    // Claude Code rewrites the session.
    const rewritten = machine.session({ id: "5e551011-0000-4000-8000-0000000000aa" })
    rewritten.turn("First version.").flush()
    const first = readFileSync(rewritten.path)
    old(rewritten.path)
    expect((await cli(["import", rewritten.path])).code).toBe(0)
    rmSync(rewritten.path)
    rewritten.turn("Second version, and longer than the first one was.").flush()
    const second = readFileSync(rewritten.path)
    old(rewritten.path)
    expect((await cli(["import", rewritten.path])).code).toBe(0)
    rmSync(rewritten.path)

    expect((await cli(["resurrect", rewritten.session, "--all"])).code).toBe(64)
    const all = await resurrect(rewritten.session, "--all", "--to", to)
    expect(all).toMatchObject({ code: 0, states: [["written", "written"]] })
    const there = (suffix: string) => readFileSync(join(to, `${slug}/${rewritten.session}${suffix}.jsonl`))
    expect(there(".~1").equals(first)).toBe(true)
    expect(there("").equals(second)).toBe(true)
    expect(await resurrect(rewritten.session)).toMatchObject({ code: 0, states: [["written"]] })
    expect(readFileSync(rewritten.path).equals(second)).toBe(true)
  })

  test("does not write a damaged copy", async () => {
    rmSync(projects(), { recursive: true })
    const copy = machine.copy(main.path)
    const sound = readFileSync(copy)
    const bad = Buffer.from(sound)
    // In the frame's content, behind header and frame header.
    bad[sound.length - 140]! ^= 0xff
    writeFileSync(copy, bad)
    try {
      const found = await resurrect(main.session)
      expect(found).toMatchObject({ code: 1, states: [["failed", "written"]] })
      expect(found.value.sessions[0].files[0].error).toContain("damaged")
      expect(existsSync(main.path)).toBe(false)
      expect(Object.keys(everything(projects())).length).toBe(1)
    } finally {
      writeFileSync(copy, sound)
    }
  })

  test("writes to a home folder that has moved", async () => {
    const home = join(machine.root, "moved")
    mkdirSync(home)
    const ran = await cli(["resurrect", main.session], { HOME: home })
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const path = main.path.replace(machine.home, home)
    expect(readFileSync(path).equals(original.get(main.path)!)).toBe(true)
  })

  test("says what it cannot find", async () => {
    expect(await cli(["resurrect"])).toMatchObject({ code: 64, stdout: "" })
    expect(await cli(["resurrect", "5e5"])).toMatchObject({ code: 64, stdout: "" })
    const several = await cli(["resurrect", "5e551011"])
    expect(several).toMatchObject({ code: 64, stdout: "" })
    expect(several.stderr).toContain("sessions")
    const unknown = await cli(["resurrect", "ffffffff"])
    expect(unknown).toMatchObject({ code: 3, stdout: "" })
    expect(unknown.stderr).toContain("hint: ")
    // Nothing of all this touched the views.
    const db = open(machine.dataHome, "look", 2000)
    expect(db.query("PRAGMA quick_check").get()).toEqual({ quick_check: "ok" })
    db.close()
  })
})

test("a file that somebody has named goes back to its place, where the host does not look for it", async () => {
  using own = new Machine()
  const lost = own.session().turn("lost").flush()
  const both = own.session().turn("in both places").flush()
  const backup = join(own.root, "backup")
  mkdirSync(backup)
  cpSync(both.path, join(backup, `${both.session}.jsonl`))
  renameSync(lost.path, join(backup, `${lost.session}.jsonl`))
  const called = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args, { env: own.env, cwd: own.cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return stdout
  }
  await called("import")
  await called("import", backup)
  rmSync(backup, { recursive: true })
  rmSync(both.path)
  expect(await called("verify")).toContain("3 deleted from the disk and safe in the vault")
  const { sessions } = JSON.parse(await called("resurrect", lost.session, both.session, "--json"))
  expect(sessions).toMatchObject([
    { files: [{ path: join(backup, `${lost.session}.jsonl`), state: "written" }], resume: [] },
    { files: [{ path: both.path, state: "written" }], resume: [{ folder: own.cwd }] },
  ])
  expect(readdirSync(backup)).toEqual([`${lost.session}.jsonl`])
})
