/** `import` of files that no agent has written: refused by name, left out of folders, and nothing else lost. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { run } from "../support/binary.ts"
import { doneIn, eventsIn } from "../support/events.ts"
import { contentOf, Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"

setDefaultTimeout(limit(120_000))

const there = (machine: Machine, ...args: string[]) => run(args, { env: machine.env, cwd: machine.cwd })

/** Writes a file below the project. */
function file(machine: Machine, name: string, content: string | Uint8Array): string {
  const path = join(machine.cwd, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
  return path
}

const NOT_OURS = '{"messages":[{"role":"user","content":"a row of a data set"}]}\n'
const HINT =
  "import takes transcripts (.jsonl), folders of them, and archives of claude-flow, claude-mem and leafhill"
const told = (names: string, hint = HINT): string =>
  `ctxbridge: no transcript of an agent, nor another tool's archive: ${names}\nhint: ${hint}\n`

describe("named on the command line: exit 1, and nothing is archived", () => {
  test.each([
    ["notes.txt", "Buy milk\n", HINT],
    ["data.jsonl", NOT_OURS.repeat(3), HINT],
    ["lines.jsonl", "no JSON\nat all\n", HINT],
    ["one-line.jsonl", "without an end", HINT],
    ["bytes.jsonl", Buffer.alloc(3000, 0xe9), HINT],
    [
      "session.jsonl.gz",
      Bun.gzipSync(Buffer.from("{}\n")),
      "unpack session.jsonl.gz first, then import what was in it",
    ],
  ])("%s", async (name, content, hint) => {
    using machine = new Machine()
    file(machine, name, content)
    const transcript = machine.session().turn("one").flush()
    for (const more of [[], ["--dry-run"], ["--quiet"], [transcript.path]]) {
      const { code, stdout, stderr } = await there(machine, "import", name, ...more)
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: "", stderr: told(name, hint) })
    }
    expect(existsSync(machine.dataHome)).toBe(false)
  })

  test("several, each once, and as JSON", async () => {
    using machine = new Machine()
    file(machine, "a.txt", "a")
    file(machine, "b.jsonl", NOT_OURS)
    symlinkSync("b.jsonl", join(machine.cwd, "link.jsonl"))
    const names = ["b.jsonl", "a.txt", "a.txt", "link.jsonl"]
    const { code, stdout } = await there(machine, "import", "--json", ...names)
    expect({ code, document: JSON.parse(stdout) }).toEqual({
      code: 1,
      document: {
        error: {
          code: "not-understood",
          message: "no transcript of an agent, nor another tool's archive: a.txt, b.jsonl, link.jsonl",
          hint: HINT,
        },
      },
    })
    expect(existsSync(machine.dataHome)).toBe(false)
  })
})

describe("in a folder: counted and named, and all others are archived", () => {
  test("in text, quietly and as JSON", async () => {
    using machine = new Machine()
    const transcript = machine.session({ id: "5e551011-0000-4000-8000-0000000000aa" }).turn("one")
    file(machine, "backup/5e551011-0000-4000-8000-0000000000aa.jsonl", transcript.text)
    const others = ["data.jsonl", "more/lines.jsonl"].map((name) => file(machine, `backup/${name}`, NOT_OURS))
    const dry = doneIn((await there(machine, "import", "backup", "--dry-run", "--json")).stdout)
    expect(dry).toMatchObject({ ok: true, notUnderstood: others, takenBytes: transcript.text.length })
    const { code, stdout, stderr } = await there(machine, "import", "backup")
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toStartWith("1 transcript examined\nArchived ")
    expect(stdout).toEndWith(
      `\n2 files skipped: nothing in them is an agent's\n${others.map((path) => `skipped: ${path}\n`).join("")}`,
    )
    const events = await there(machine, "import", "backup", "--json")
    expect(eventsIn(events.stdout)[0]).toMatchObject({ event: "start", files: 1, transcripts: 1 })
    expect({ code: events.code, done: doneIn(events.stdout) }).toMatchObject({
      code: 0,
      done: { ok: true, takenBytes: 0, notUnderstood: others },
    })
    expect(doneIn(events.stdout).files).toHaveLength(1)
    const quiet = await there(machine, "import", "backup", "--quiet")
    expect(quiet).toMatchObject({ code: 0, stdout: "", stderr: "" })
    for (const path of others) expect(existsSync(machine.copy(path))).toBe(false)
  })

  test("nothing else in it: exit 3, as where there is nothing", async () => {
    using machine = new Machine()
    const path = file(machine, "backup/data.jsonl", NOT_OURS)
    const { code, stdout, stderr } = await there(machine, "import", "backup")
    expect({ code, stdout, stderr }).toEqual({
      code: 3,
      stdout: "",
      stderr: `ctxbridge: no transcripts below backup\nhint: 1 .jsonl file there, in which nothing is an agent's: ${path}\n`,
    })
    expect(existsSync(machine.dataHome)).toBe(false)
  })
})

describe("what may be Claude Code's is archived, byte for byte", () => {
  const NEW = '{"type":"brand-new","uuid":"u1","sessionId":"s1","body":{"words":"of a later version"}}\n'
  test.each([
    ["records of no type that this version knows", "new.jsonl", NEW],
    ["one of them, behind much else", "late.jsonl", NOT_OURS.repeat(5000) + NEW],
    ["one of them, in a line that is read in pieces", "long.jsonl", NEW.replace("of a", "x".repeat(3 << 20))],
    ["one of them, glued to half a record", "torn.jsonl", `{"type":"user","mess${NEW}`],
    ["nothing", "empty.jsonl", ""],
    ["what a crash left", "zeros.jsonl", Buffer.alloc(5000)],
    ["anything, where a backup has transcripts", "projects/-p/agent-a1b2.jsonl", "torn"],
  ])("%s", async (_, name, content) => {
    using machine = new Machine()
    const path = file(machine, name, content)
    // Young, it might still be written to, and half a line would wait.
    Bun.spawnSync(["touch", "-d", "2026-01-01", path])
    const { code, stdout, stderr } = await there(machine, "import", name)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    expect(stdout).toStartWith("1 transcript examined\n")
    expect(stdout).not.toContain("skipped")
    if (content.length > 0) expect(contentOf(machine.copy(path))).toEqual(Buffer.from(content))
  })

  test("anything below Claude Code's own folder", async () => {
    using machine = new Machine()
    machine.session().turn("one").flush()
    const path = machine.path("unheard-of.jsonl")
    writeFileSync(path, "a format of next year\n")
    const done = doneIn((await there(machine, "import", "--json")).stdout)
    expect(done).toMatchObject({ ok: true, notUnderstood: [] })
    expect(contentOf(machine.copy(path)).toString()).toBe("a format of next year\n")
    expect((await there(machine, "import", path)).code).toBe(0)
  })

  test("what was archived before, whatever it holds now", async () => {
    using machine = new Machine()
    const path = file(machine, "mine.jsonl", NEW)
    expect((await there(machine, "import", "mine.jsonl")).code).toBe(0)
    writeFileSync(path, NOT_OURS)
    Bun.spawnSync(["touch", "-d", "2026-01-01", path])
    expect((await there(machine, "import", "mine.jsonl")).code).toBe(0)
    expect(contentOf(machine.copy(path)).toString()).toBe(NOT_OURS)
  })
})
