/** Every command of the compiled file: what it says, in words and in JSON, and its exit code. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { version } from "../../package.json"
import { percent } from "../../src/base/text.ts"
import { binary, type Ran, run } from "../support/binary.ts"
import { doneIn } from "../support/events.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"
import { Transcript } from "../support/transcript.ts"

setDefaultTimeout(limit(120_000))

const FAILING = {
  tool: "Bash",
  input: { command: "npm test", description: "Run the tests" },
  output: "Exit code 1\nTypeError: \x1b[31mretry\x1b[0m is not a function\x1b]0;owned\x07",
  isError: true,
}
const BIG = {
  tool: "Read",
  input: { file_path: "/src/big.txt" },
  output: "0123456789 wörter 🛡️\n".repeat(9000),
}
const EDIT = { tool: "Edit", input: { file_path: "/src/client.ts", new_string: "a\nb" }, output: "ok" }

let machine: Machine
let main: Transcript
let subagent: Transcript

const cli = (...args: string[]): Promise<Ran> => run(args, { env: machine.env, cwd: machine.cwd })

const json = async (...args: string[]) => {
  const ran = await cli(...args, "--json")
  return { ...ran, value: JSON.parse(ran.stdout) }
}

/** Not being written any more. */
function old(path: string): void {
  const before = Date.now() / 1000 - 3600
  utimesSync(path, before, before)
}

beforeAll(async () => {
  machine = new Machine()
  main = machine.session()
  main
    .raw(JSON.stringify({ type: "ai-title", sessionId: main.session, aiTitle: "Retries for the client" }))
    .turn("Add retries. Never touch the generated files.", [EDIT, FAILING])
    .user("And now the whole file, please.")
    .think("The file is big.")
    .step(BIG)
    .say("That is all of it.")
    .flush()
  subagent = new Transcript({
    session: main.session,
    cwd: machine.cwd,
    version: "2.1.112",
    agent: "a1b2c3",
    path: machine.path(`${main.session}/subagents/agent-a1b2c3.jsonl`),
  })
  subagent.turn("Look into the tests.", [], "Found nothing.").flush()
  for (const { path } of [main, subagent]) old(path)
  expect((await cli("import")).code).toBe(0)
})

afterAll(() => machine[Symbol.dispose]())

describe("the front door", () => {
  test("prints version and help, and exits with 64 without a command", async () => {
    expect(await cli("--version")).toMatchObject({ code: 0, stdout: `ctxbridge ${version}\n`, stderr: "" })
    expect(await cli("--help")).toMatchObject({ code: 0, stderr: "" })
    const bare = await cli()
    expect(bare.code).toBe(64)
    for (const name of ["status", "sessions", "show", "export", "verify", "import", "config", "demo"]) {
      expect(bare.stdout).toMatch(new RegExp(`\\b${name}\\b`))
      const help = await cli(name, "--help")
      expect(help).toMatchObject({ code: 0, stderr: "" })
      expect(help.stdout).toContain("--json")
      expect(help.stdout).not.toContain("\x1b")
    }
  })

  test.each([
    [["shwo"], "did you mean show?"],
    [["constructor"], "ctxbridge search constructor looks for it; ctxbridge --help lists the commands"],
    [["rate", "limit"], "ctxbridge search 'rate limit' looks for it"],
    [["show", "--ful", "x"], "did you mean --full?"],
    [["status", "--json=1"], "takes no value"],
    [["sessions", "--limit"], "needs a value"],
    [["preview", "5e55"], "did you mean --session 5e55?"],
    [["sessions", "5e55"], "ctxbridge sessions --help"],
    [["verify", "5e55"], "name transcripts by path"],
    [["sessions", "--limit", "many"], "--limit needs a whole number"],
    [["status", "surplus"], "unexpected argument"],
    [["show"], "such as ctxbridge show ctx:"],
  ])("%j is refused", async (args, words) => {
    const ran = await cli(...args)
    expect(ran).toMatchObject({ code: 64, stdout: "" })
    expect(ran.stderr).toStartWith("ctxbridge: ")
    expect(ran.stderr).toContain(words)
    expect(ran.stderr.trim().split("\n").length).toBeLessThanOrEqual(2)
  })

  test("--json errors are JSON, with the same exit code", async () => {
    const { code, value, stderr } = await json("show", "ctx:zzzzzz")
    expect({ code, stderr }).toEqual({ code: 3, stderr: "" })
    expect(value.error).toMatchObject({ code: "not-found" })
  })
})

describe("without an archive", () => {
  test("status says so and exits 0; the others exit 3", async () => {
    using empty = new Machine()
    const there = (...args: string[]) => run(args, { env: empty.env, cwd: empty.cwd })
    const status = await there("status")
    expect(status).toMatchObject({ code: 0, stderr: "" })
    expect(status.stdout).toMatch(/^archive +nothing yet$/m)
    expect(status.stdout).toContain("No archive yet")
    expect(JSON.parse((await there("status", "--json")).stdout)).toMatchObject({
      exists: false,
      totals: null,
    })
    for (const args of [["sessions"], ["show", "ctx:abcdef"], ["export", "abcdef"], ["import"]]) {
      const ran = await there(...args)
      expect(ran).toMatchObject({ code: 3, stdout: "" })
      expect(ran.stderr).toContain("hint: ")
    }
    expect((await there("import")).stderr.split("\n")[0]).toBe(
      "ctxbridge: no transcripts in the folders of any agent",
    )
    expect(await there("verify")).toMatchObject({ code: 0, stderr: "" })
    expect(existsSync(empty.dataHome)).toBe(false)
  })
})

describe("status", () => {
  test("counts what is there", async () => {
    const { code, value } = await json("status")
    expect(code).toBe(0)
    expect(value.totals).toMatchObject({ sessions: 1, subagents: 1, turns: 2, toolCalls: 3, errors: 1 })
    const bytes = statSync(main.path).size + statSync(subagent.path).size
    expect(value.totals.archivedBytes).toBe(bytes)
    expect(value.vault.files).toBe(2)
    expect(value.vault.bytes).toBe(
      statSync(machine.copy(main.path)).size + statSync(machine.copy(subagent.path)).size,
    )
    expect(value.behind).toEqual({
      vault: { transcripts: 0, bytes: 0 },
      views: { transcripts: 0, bytes: 0 },
    })
    expect(value.hooks[0]).toMatchObject({ scope: "user", installed: [] })
    expect(value.lastError).toBeNull()
    expect((await cli("status", "--verbose")).stdout).toContain("Retries for the client")
  })

  test("tells hooks that are installed, and those of another binary", async () => {
    using other = new Machine()
    const there = (...args: string[]) => run(args, { env: other.env, cwd: other.cwd })
    expect((await there("install")).code).toBe(0)
    const hooks = async () => JSON.parse((await there("status", "--json")).stdout).hooks[0]
    if (binary().endsWith("/ctxbridge")) expect((await hooks()).installed).toHaveLength(6)
    const file = join(other.home, ".claude", "settings.json")
    writeFileSync(
      file,
      readFileSync(file, "utf8").replace(/ \S+\/ctxbridge hook stop/, " /old/ctxbridge hook stop"),
    )
    expect(await hooks()).toMatchObject({ stale: ["Stop"], missing: [] })
    expect((await there("status")).stdout).toContain("from another binary, or changed: Stop")
  })

  test("mends a database that is none, and says so", async () => {
    using broken = new Machine()
    broken.session().turn("said before").flush()
    const there = (...args: string[]) => run(args, { env: broken.env, cwd: broken.cwd })
    await there("import")
    for (const suffix of ["-wal", "-shm"])
      rmSync(join(broken.dataHome, `archive.db${suffix}`), { force: true })
    writeFileSync(join(broken.dataHome, "archive.db"), "no database ".repeat(1000))
    const { code, stdout, stderr } = await there("status", "--verbose")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toContain("last repair")
    expect(stdout).toContain("said before")
    expect(await there("verify")).toMatchObject({ code: 0 })
    expect(await there("sessions")).toMatchObject({ code: 0, stderr: "" })
  })

  test("goes on when there is no reading the database", async () => {
    using broken = new Machine()
    broken.session().turn("x").flush()
    const there = (...args: string[]) => run(args, { env: broken.env, cwd: broken.cwd })
    mkdirSync(join(broken.dataHome, "archive.db"), { recursive: true })
    await there("import")
    const status = await there("status")
    expect(status.code).toBe(0)
    expect(status.stdout).toContain("cannot read")
    expect(await there("verify")).toMatchObject({ code: 0 })
    const sessions = await there("sessions")
    expect(sessions.code).toBe(1)
    expect(sessions.stderr).toContain("verify")
  })

  test("says what each part takes", async () => {
    const { disk } = (await json("status")).value
    expect(disk.vault).toBe(
      statSync(machine.copy(main.path)).size + statSync(machine.copy(subagent.path)).size,
    )
    expect(disk.database).toBe(statSync(join(machine.dataHome, "archive.db")).size)
    expect(disk.ratio).toBeCloseTo(
      (disk.vault + disk.database + disk.wal) / (statSync(main.path).size + statSync(subagent.path).size),
    )
    const share = disk.ratio > 2 ? "still take more than" : `take ${percent(disk.ratio, 1)} of`
    expect((await cli("status", "--verbose")).stdout).toContain(
      `on disk       vault and database ${share} the archived bytes`,
    )
  })
})

describe("sessions", () => {
  test("lists this project's, newest first", async () => {
    const ran = await cli("sessions")
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    const lines = ran.stdout.trimEnd().split("\n")
    expect(lines).toHaveLength(4)
    expect(lines[3]).toBe("  Retries for the client")
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
    const { value } = await json("sessions", "--agents")
    expect(value.sessions.map((one: { id: string }) => one.id).sort()).toEqual([
      main.session,
      `${main.session}/a1b2c3`,
    ])
  })

  test("says what to do in a folder that has none", async () => {
    const ran = await cli("sessions", "--project", machine.home)
    expect(ran).toMatchObject({ code: 3, stdout: "" })
    expect(ran.stderr).toContain("--all-projects")
    expect((await cli("sessions", "--all-projects")).code).toBe(0)
    expect((await cli("sessions", "--all-projects", "--project", "x")).code).toBe(64)
  })
})

describe("show", () => {
  const handles = async (): Promise<string[]> =>
    (await json("show", main.session)).value.turns.map((turn: { handle: string }) => turn.handle)

  test("shows a session as lines, one for each turn", async () => {
    const ran = await cli("show", main.session.slice(0, 8))
    expect(ran).toMatchObject({ code: 0, stderr: "" })
    for (const handle of await handles()) expect(ran.stdout).toContain(handle)
    expect(ran.stdout).toContain("1 subagent")
    expect((await cli("show", `${main.session.slice(0, 8)}/a1b2`)).stdout).toContain("Look into the tests.")
  })

  test("shows everything of a turn, and nothing that could steer the terminal", async () => {
    const [first] = await handles()
    const { stdout } = await cli("show", first!)
    for (const words of [
      "Never touch the generated files.",
      "$ npm test",
      "exit 1",
      "/src/client.ts",
      "claude-sonnet-4-6",
    ]) {
      expect(stdout).toContain(words)
    }
    expect(stdout).toContain("TypeError: retry is not a function")
    expect(stdout).not.toContain("\x1b")
    expect((await cli("show", first!.slice(4, 8))).stdout).toBe(stdout)
  })

  test("gives the whole text, parts, tools, files and tokens with --json", async () => {
    const [first, second] = await handles()
    const { value } = await json("show", first!)
    expect(value).toMatchObject({
      handle: first,
      session: main.session,
      seq: 1,
      via: "typed",
      interrupted: false,
      prompt: "Add retries. Never touch the generated files.",
      page: { number: 1, of: 1, next: null },
    })
    // It was 0 in a session's list, and false in the turn.
    expect((await json("show", main.session)).value.turns[0].interrupted).toBe(false)
    expect(value.tools[1]).toMatchObject({ name: "Bash", target: "npm test", isError: true, exitCode: 1 })
    expect(value.files).toContainEqual({ path: "/src/client.ts", op: "edit", count: 1 })
    expect(value.usage[0].input).toBeGreaterThan(0)
    const texts = (await json("show", second!)).value.messages
      .flatMap((message: { parts: { kind: string; text?: string }[] }) => message.parts)
      .filter((part: { kind: string }) => part.kind === "toolResult")
    expect(texts[0].text).toBe(BIG.output)
  })

  test("gives pages that make up the whole", async () => {
    const second = (await handles())[1]!
    const whole = (await cli("show", second, "--full")).stdout
    const first = (await cli("show", second)).stdout
    const of = Number(/page 1 of (\d+), next: ctxbridge show ctx:\w+ --page 2/.exec(first)?.[1])
    expect(of).toBeGreaterThan(5)
    let joined = ""
    for (let n = 1; n <= of; n++) {
      const page = (await cli("show", second, "--page", String(n))).stdout
      expect(page.length).toBeLessThan(21_000)
      joined += page.replace(/\npage \d+ of .*\n$/, "")
    }
    expect(joined).toBe(whole)
    expect((await cli("show", second, "--page", String(of + 1))).code).toBe(64)
    expect((await json("show", second, "--page", "1")).value.page.of).toBeGreaterThan(1)
  })

  test("refuses a word that names nothing or several, or is too short", async () => {
    expect((await cli("show", "ctx:zzzzzz")).code).toBe(3)
    expect((await cli("show", "abc")).code).toBe(64)
    expect((await cli("show", "/")).code).toBe(64)
    using many = new Machine()
    many.session().turn("one").flush()
    many.session().turn("two").flush()
    const there = (...args: string[]) => run(args, { env: many.env, cwd: many.cwd })
    await there("import")
    const ran = await there("show", "5e551011")
    expect(ran.code).toBe(64)
    expect(ran.stderr.match(/session 5e551011/g)).toHaveLength(2)
  })

  test("names the session as which a fork begins", async () => {
    using forked = new Machine()
    const there = (...args: string[]) => run(args, { env: forked.env, cwd: forked.cwd })
    const parent = forked.session().turn("Shared prompt").flush()
    const child = forked.session()
    mkdirSync(join(child.path, ".."), { recursive: true })
    const copied = readFileSync(parent.path, "utf8").replaceAll(parent.session, child.session)
    writeFileSync(child.path, copied)
    child.turn("Only in the fork").flush()
    await there("import")
    const { stdout } = await there("show", child.session)
    expect(stdout).toContain(`begins with session ${parent.session} up to ctx:`)
    expect(stdout).toContain("Only in the fork")
    expect((await there("show", parent.session)).stdout).toContain(`continued in session ${child.session}`)
  })
})

describe("export", () => {
  test("gives the transcript byte for byte with --raw", async () => {
    expect(await cli("export", main.session, "--raw")).toMatchObject({
      code: 0,
      stdout: readFileSync(main.path, "utf8"),
    })
    const both = readFileSync(main.path, "utf8") + readFileSync(subagent.path, "utf8")
    expect((await cli("export", main.session, "--raw", "--agents")).stdout).toBe(both)
    const one = await cli("export", main.session, "--raw", "--subagent", "a1b2")
    expect(one.stdout).toBe(readFileSync(subagent.path, "utf8"))
    expect((await cli("export", main.session, "--raw", "--subagent", "zzz")).code).toBe(3)
  })

  test("gives a turn's own lines with --raw and a handle", async () => {
    const { value } = await json("show", main.session)
    const { stdout } = await cli("export", value.turns[0].handle, "--raw")
    expect(readFileSync(main.path, "utf8")).toContain(stdout)
    expect(JSON.parse(stdout.split("\n")[0]!).message.content).toBe(
      "Add retries. Never touch the generated files.",
    )
  })

  test("writes JSON lines and Markdown", async () => {
    const { stdout } = await cli("export", main.session, "--jsonl")
    const lines = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(lines.map(({ type }) => type).filter((type) => type !== "message")).toEqual([
      "session",
      "turn",
      "turn",
    ])
    const messages = lines.filter(({ type, turn }) => type === "message" && turn === lines[1].handle)
    expect(messages).toHaveLength(lines[1].messages)
    const markdown = (await cli("export", main.session)).stdout
    expect(markdown).toStartWith("# Retries for the client\n")
    expect(markdown).toContain("> Add retries. Never touch the generated files.")
    expect(markdown).toBe((await cli("export", main.session, "--md")).stdout)
  })

  test("writes a private file, and overwrites none unasked", async () => {
    const file = join(machine.root, "out.jsonl")
    const { value } = await json("export", main.session, "--raw", "--output", file)
    expect(value).toEqual({ file, format: "raw", bytes: statSync(main.path).size })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file)).toEqual(readFileSync(main.path))
    const again = await cli("export", main.session, "--output", file)
    expect(again.code).toBe(1)
    expect(again.stderr).toContain("--force")
    expect(readFileSync(file)).toEqual(readFileSync(main.path))
    expect((await cli("export", main.session, "--output", file, "--force")).code).toBe(0)
    expect(readFileSync(file, "utf8")).toStartWith("# ")
    expect((await cli("export", main.session, "-o", join(machine.root, "no", "file"))).code).toBe(1)
  })

  test("takes - for stdout, not for a file", async () => {
    const ran = await cli("export", main.session, "--raw", "-o", "-")
    expect(ran).toMatchObject({ code: 0, stdout: readFileSync(main.path, "utf8"), stderr: "" })
    expect(existsSync(join(machine.cwd, "-"))).toBe(false)
  })

  test("takes one format only, and --json only with a file", async () => {
    expect((await cli("export", main.session, "--raw", "--md")).code).toBe(64)
    expect((await json("export", main.session)).code).toBe(64)
  })
})

describe("verify", () => {
  const there = (own: Machine, ...args: string[]) => run(args, { env: own.env, cwd: own.cwd })

  const verified = async (own: Machine, ...paths: string[]) => {
    const ran = await there(own, "verify", ...paths, "--json")
    const value = JSON.parse(ran.stdout)
    expect(ran.code).toBe(value.ok ? 0 : 1)
    return value
  }

  test("says when all is well", async () => {
    const value = await verified(machine)
    expect(value.ok).toBe(true)
    expect(value.transcripts.map(({ state }: { state: string }) => state)).toEqual(["complete", "complete"])
    expect(value.totals).toMatchObject({ missingBytes: 0, bytes: value.totals.archivedBytes })
    expect((await cli("verify")).stdout).toContain("nothing is missing")
  })

  test("calls new lines missing and half a line waiting", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one").flush()
    expect(await verified(own)).toMatchObject({
      ok: false,
      totals: { missing: 1 },
      transcripts: [{ archived: 0 }],
    })
    expect((await there(own, "verify")).stdout).toContain(transcript.path)
    await there(own, "import")
    expect(await verified(own)).toMatchObject({ ok: true, totals: { complete: 1 } })
    appendFileSync(transcript.path, '{"type":"user","mess')
    expect(await verified(own)).toMatchObject({ ok: true, totals: { waiting: 1, waitingBytes: 20 } })
    appendFileSync(transcript.path, 'age":{}}\n')
    expect(await verified(own, transcript.path)).toMatchObject({
      ok: false,
      totals: { missing: 1, missingBytes: 29 },
    })
  })

  test("accepts what the host has deleted, and tells what it has rewritten, which is kept when archived anew", async () => {
    using own = new Machine()
    const gone = own.session().turn("one").flush()
    const rewritten = own.session().turn("two").flush()
    await there(own, "import")
    rmSync(gone.path)
    expect(await verified(own)).toMatchObject({ ok: true, totals: { deleted: 1, complete: 1 } })
    // Of the same length and with the same end: the cursor cannot see it.
    writeFileSync(rewritten.path, readFileSync(rewritten.path, "utf8").replace("two", "TWO"))
    expect(await verified(own)).toMatchObject({ ok: false, totals: { mismatch: 1 } })
    expect((await there(own, "import", "--check")).code).toBe(0)
    expect(await verified(own)).toMatchObject({
      ok: true,
      totals: { deleted: 1, complete: 1, superseded: 1 },
    })
    writeFileSync(rewritten.path, readFileSync(rewritten.path, "utf8").replace("TWO", "a longer one"))
    expect((await there(own, "import")).code).toBe(0)
    expect(await verified(own)).toMatchObject({ ok: true, totals: { superseded: 2 } })
  })

  test("finds and names damage", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one", [BIG]).flush()
    await there(own, "import")
    const copy = own.copy(transcript.path)
    const sound = readFileSync(copy)
    const middle = Buffer.from(sound)
    middle[sound.length >> 1]! ^= 0xff
    writeFileSync(copy, middle)
    const value = await verified(own)
    expect(value).toMatchObject({ ok: false, totals: { damaged: 1 } })
    expect(value.transcripts[0].problems).not.toEqual([])
    const handle = JSON.parse((await there(own, "show", transcript.session, "--json")).stdout).turns[0].handle
    const show = await there(own, "show", handle)
    expect(show.code).toBe(1)
    expect(show).toMatchObject({ stderr: "", stdout: expect.stringContaining("(ctxbridge verify)") })
    // Half a frame at the end is what a crash leaves: the bytes are missing, and can be taken again.
    writeFileSync(copy, sound)
    truncateSync(copy, sound.length - 10)
    expect(await verified(own)).toMatchObject({ ok: false, totals: { missing: 1, damaged: 0 } })
    await there(own, "import")
    expect(await verified(own)).toMatchObject({ ok: true })
    writeFileSync(copy, middle)
    expect((await there(own, "import", "--check")).code).toBe(0)
    expect(await verified(own)).toMatchObject({ ok: true, totals: { complete: 1, superseded: 0 } })
    writeFileSync(copy, "not ours")
    expect(await verified(own)).toMatchObject({ ok: false, totals: { damaged: 1 } })
  })

  test("needs no database", async () => {
    using own = new Machine()
    own.session().turn("one").flush()
    await there(own, "import")
    for (const name of readdirSync(own.dataHome))
      if (name.startsWith("archive.db")) rmSync(join(own.dataHome, name))
    // Made anew from the vault meanwhile.
    const views = { transcripts: 0, bytes: 0 }
    expect(await verified(own)).toMatchObject({ ok: true, views })
  })

  test("refuses paths that are no transcripts", async () => {
    expect((await cli("verify", "/no/such/file.jsonl")).code).toBe(64)
    expect((await cli("verify", binary())).code).toBe(64)
  })
})

describe("import", () => {
  const there = (own: Machine, ...args: string[]) => run(args, { env: own.env, cwd: own.cwd })

  test("says what it would do, does it, and has nothing left to do", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one", [BIG]).turn("two").flush()
    const { size } = statSync(transcript.path)
    const dry = doneIn((await there(own, "import", "--dry-run", "--json")).stdout)
    expect(dry).toMatchObject({ ok: true, dryRun: true, takenBytes: size })
    expect(existsSync(own.dataHome)).toBe(false)
    const first = doneIn((await there(own, "import", "--json")).stdout)
    expect(first).toMatchObject({ ok: true, takenBytes: size, turns: { before: 0, after: 2 } })
    const second = await there(own, "import")
    expect(second).toMatchObject({ code: 0, stderr: "" })
    expect(second.stdout).toContain("Nothing new")
  })

  test("leaves half a last line while the file is young, and takes it when it is old", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one").flush()
    appendFileSync(transcript.path, '{"type":"us')
    const young = doneIn((await there(own, "import", "--json")).stdout)
    expect(young.files[0]).toMatchObject({ waiting: 11, taken: young.files[0].size - 11 })
    expect(young.ok).toBe(true)
    old(transcript.path)
    const later = doneIn((await there(own, "import", "--json")).stdout)
    expect(later).toMatchObject({ ok: true, takenBytes: 11 })
  })

  test("checks every path before it begins", async () => {
    using own = new Machine()
    const transcript = own.session().turn("one").flush()
    const readme = join(own.root, "README.md")
    writeFileSync(readme, "x")
    for (const [bad, code] of [
      [readme, 1],
      [join(own.root, "nowhere"), 64],
    ] as const) {
      expect((await there(own, "import", transcript.path, bad)).code).toBe(code)
    }
    expect(existsSync(own.dataHome)).toBe(false)
    expect((await there(own, "import", join(transcript.path, ".."))).code).toBe(0)
  })

  test("fills the vault even when the database cannot be opened", async () => {
    using own = new Machine()
    own.session().turn("one").flush()
    mkdirSync(join(own.dataHome, "archive.db"), { recursive: true })
    const ran = await there(own, "import")
    expect(ran.code).toBe(1)
    expect(ran.stdout).toContain("Archived, but not indexed yet")
    expect((await there(own, "verify")).code).toBe(0)
  })

  test("goes on where it was after it was killed", async () => {
    using own = new Machine()
    const transcript = own.session()
    for (let n = 0; n < 150; n++) transcript.turn(`prompt ${n}`, [BIG])
    transcript.flush()
    const child = Bun.spawn([binary(), "import", "--json"], { env: own.env, cwd: own.cwd, stdout: "pipe" })
    // It tells of its start before it looks at the first file.
    const { value: start } = await child.stdout.getReader().read()
    child.kill("SIGINT")
    await child.exited
    expect(new TextDecoder().decode(start)).toStartWith('{"event":"start"')
    expect(doneIn((await there(own, "import", "--json")).stdout)).toMatchObject({ turns: { after: 150 } })
    expect((await there(own, "verify")).code).toBe(0)
    expect((await there(own, "export", transcript.session, "--raw")).stdout).toBe(
      readFileSync(transcript.path, "utf8"),
    )
  })
})

describe("config", () => {
  test("lists every option with its origin, and what was ignored", async () => {
    using own = new Machine()
    mkdirSync(join(own.home, ".config", "ctxbridge"), { recursive: true })
    writeFileSync(
      join(own.home, ".config", "ctxbridge", "config.toml"),
      "[restore]\nbudget = 1234\nnonsense = 1\n",
    )
    const there = (...args: string[]) =>
      run(args, { env: { ...own.env, CTXBRIDGE_RESTORE_STARTUP: "perhaps" }, cwd: own.cwd })
    const { stdout, code } = await there("config", "list", "--json")
    expect(code).toBe(0)
    const { options, problems } = JSON.parse(stdout)
    expect(options.find((o: { key: string }) => o.key === "restore.budget")).toMatchObject({
      value: 1234,
      origin: "user",
      env: ["CTXBRIDGE_RESTORE_BUDGET", "CLAUDE_FLOW_COMPACT_RESTORE_BUDGET"],
    })
    expect(problems.map((p: { key: string }) => p.key)).toEqual(["restore.startup", "restore.nonsense"])
    const text = (await there("config", "list")).stdout
    expect(text).toContain("Ignored: restore.nonsense (user): no such option")
    expect(await there("config", "get", "restore.budget")).toMatchObject({ code: 0, stdout: "1234\n" })
    expect((await there("config", "get", "restore.budgt")).code).toBe(64)
    expect((await there("config", "set")).code).toBe(64)
    expect((await there("config", "get")).code).toBe(64)
  })
})

describe("completions", () => {
  test("bash completes commands, flags and choices", async () => {
    const { stdout } = await cli("completions", "bash")
    const complete = (...words: string[]): string[] => {
      const script = `${stdout}\nCOMP_WORDS=(${words.map((w) => `'${w}'`).join(" ")}); COMP_CWORD=${words.length - 1}\n_ctxbridge; printf '%s\\n' "\${COMPREPLY[@]}"`
      return Bun.spawnSync(["bash", "-c", script]).stdout.toString().trim().split("\n")
    }
    expect(complete("ctxbridge", "st")).toEqual(["status", "statusline", "stats"])
    expect(complete("ctxbridge", "export", "--js")).toEqual(["--jsonl", "--json"])
    expect(complete("ctxbridge", "install", "--scope", "")).toEqual(["user", "project", "local"])
    expect(complete("ctxbridge", "completions", "")).toEqual(["bash", "zsh", "fish"])
    expect(complete("ctxbridge", "help", "ver")).toEqual(["verify"])
  })

  test("are there for zsh and fish, and for no other shell", async () => {
    for (const shell of ["zsh", "fish"]) {
      const { stdout, code } = await cli("completions", shell)
      expect(code).toBe(0)
      for (const word of ["status", "dry-run", "subagents"]) expect(stdout).toContain(word)
    }
    expect((await cli("completions", "tcsh")).code).toBe(64)
    expect((await json("completions", "bash")).value.script).toContain("complete -o default -F")
  })
})

describe("demo", () => {
  /** Without what differs each time. */
  const nameless = (text: string): string => text.replace(/ctx:\w{6,}|session="[^"]*"/g, "…")

  test("plays, checks, and leaves nothing behind", async () => {
    const demos = (): string[] =>
      readdirSync(machine.root).filter((name) => name.startsWith("ctxbridge-demo-"))
    // Whatever the user has configured, the demo is not affected by it.
    const env = { ...machine.env, CTXBRIDGE_CAPTURE: "0", CLAUDE_FLOW_COMPACT_RESTORE_BUDGET: "0" }
    const ran = await run(["demo", "--json"], { env, cwd: machine.cwd })
    const report = JSON.parse(ran.stdout)
    expect(report.checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
    expect({ code: ran.code, stderr: ran.stderr, ok: report.ok }).toEqual({ code: 0, stderr: "", ok: true })
    expect(report.hooks).toHaveLength(11)
    const readme = readFileSync(join(import.meta.dir, "../../README.md"), "utf8")
    const [shown = ""] = /<ctxbridge-restore [\s\S]*?<\/ctxbridge-restore>/.exec(readme) ?? []
    // There it is shown by its name; it is not told where ours lies.
    expect(nameless(shown)).toBe(nameless(report.restored.replace(`\`${binary()} show`, "`ctxbridge show")))
    expect(demos()).toEqual([])
    expect((await json("status")).value.totals.sessions).toBe(1)
  })

  test("is told in less than twelve lines of a terminal", async () => {
    const { stdout, stderr, code } = await run(["demo"], { env: machine.env, cwd: machine.cwd })
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    const lines = stdout.trimEnd().split("\n")
    expect(lines.length).toBeLessThan(12)
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
  })

  test("--keep keeps an archive to look around in", async () => {
    const { value } = await json("demo", "--keep")
    const there = {
      env: { HOME: value.folder, CTXBRIDGE_HOME: join(value.folder, "archive") },
      cwd: value.folder,
    }
    expect((await run(["show", value.session], there)).stdout).toContain("five tries a minute")
    expect((await run(["verify"], there)).code).toBe(0)
    // Here the former test would have found one.
    expect(dirname(value.folder)).toBe(machine.root)
    rmSync(value.folder, { recursive: true })
  })

  test("--keep prints the line that opens a shell in it", async () => {
    const { stdout } = await run(["demo", "--keep"], { env: machine.env, cwd: machine.cwd })
    const [, folder = ""] = /^Kept: (.*)$/m.exec(stdout) ?? []
    const [, line = ""] = /^Look around: (.*)$/m.exec(stdout) ?? []
    const shell = Bun.spawnSync(["sh", "-c", line], {
      env: { ...machine.env, PATH: process.env["PATH"] ?? "", CTX: binary() },
      cwd: machine.cwd,
      stdin: Buffer.from('"$CTX" sessions && "$CTX" verify\n'),
    })
    expect({ code: shell.exitCode, stderr: shell.stderr.toString() }).toEqual({ code: 0, stderr: "" })
    expect(shell.stdout.toString()).toContain("Add rate limiting")
    expect(shell.stdout.toString()).toContain("All good: every archived byte was checked")
    rmSync(folder, { recursive: true })
  })
})

describe("output", () => {
  const shell = (command: string) =>
    Bun.spawnSync(["bash", "-o", "pipefail", "-c", command], {
      env: { ...machine.env, PATH: process.env["PATH"] ?? "", CTX: binary(), SESSION: main.session },
      cwd: machine.cwd,
    })

  test("a reader that has seen enough is no error", () => {
    const { exitCode, stderr, stdout } = shell('"$CTX" export $SESSION --raw | head -1')
    expect({ exitCode, stderr: stderr.toString() }).toEqual({ exitCode: 0, stderr: "" })
    expect(stdout.toString().trimEnd().split("\n")).toHaveLength(1)
  })

  test.each(["--raw", "--jsonl"])("%s comes whole through a slow pipe", async (format) => {
    const whole = (await cli("export", main.session, format)).stdout
    expect(whole.length).toBeGreaterThan(3 * 65_536)
    const { stdout } = shell(`"$CTX" export $SESSION ${format} | { sleep 0.3; cat; }`)
    expect(stdout.toString()).toBe(whole)
    // Whoever shares the pipe may have made it non-blocking.
    const nonBlocking = shell(
      `{ "$BUN" -e 'process.stdout.write("")'; "$CTX" export $SESSION ${format}; } | { sleep 0.3; cat; }`.replace(
        '"$BUN"',
        `"${process.execPath}"`,
      ),
    )
    expect(nonBlocking.stdout.toString()).toBe(whole)
  })

  test("has a terminal's width and colour, and heeds NO_COLOR", async () => {
    const inTerminal = async (env: Record<string, string>): Promise<string> =>
      (await runAtTerminal(machine, ["sessions"], { cols: 60, env })).text
    const plain = await inTerminal({ NO_COLOR: "1" })
    expect(plain).toContain("Retries")
    expect(plain).not.toContain("\x1b")
    for (const line of plain.split("\r\n")) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(60)
    expect(await inTerminal({})).toContain("\x1b[2m")
    expect((await cli("sessions")).stdout).not.toContain("\x1b")
  })
})
