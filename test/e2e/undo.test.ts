/** `ctxbridge undo` on the compiled binary: states of a file, and one of them put back. */
import { expect, setDefaultTimeout, test } from "bun:test"
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { type Ran, run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { Worked } from "../support/worked-file.ts"

setDefaultTimeout(limit(120_000))

const undo = (machine: Machine, ...args: string[]): Promise<Ran> =>
  run(["undo", ...args], { env: machine.env, cwd: machine.cwd })

async function json(machine: Machine, ...args: string[]) {
  const { code, stdout, stderr } = await undo(machine, "--json", ...args)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout)
}

const FIRST = "const limit = 5\nexport const allowed = (n) => n < limit\n"

async function worked() {
  const machine = new Machine()
  const file = new Worked(join(machine.cwd, "src/limit.ts"))
  const session = machine.session()
  session.turn("Write the limiter.", [file.write(FIRST)])
  session.turn("Five must pass.", [file.edit("n < limit", "n <= limit")])
  session.turn("Ten, please.", [file.edit("limit = 5", "limit = 10")])
  session.flush()
  file.save()
  await machine.hook("stop", session)
  return { machine, file, session }
}

test("lists every state with its turn, says which one the file is in, and puts one back", async () => {
  const { machine, file } = await worked()
  using _ = machine
  const told = await json(machine, "src/limit.ts")
  expect(told).toMatchObject({ path: file.path, now: "archived", state: 3 })
  expect(told.states).toMatchObject([
    { state: 1, tool: "Write", prompt: "Write the limiter.", whole: true, added: null },
    { state: 2, tool: "Edit", prompt: "Five must pass.", whole: true, added: 1, removed: 1 },
    { state: 3, tool: "Edit", prompt: "Ten, please.", whole: true, added: 1, removed: 1 },
  ])
  const shown = await undo(machine, "src/limit.ts")
  expect(shown).toMatchObject({ code: 0, stderr: "" })
  expect(shown.stdout).toContain("The file is in state 3 now.")
  expect(shown.stdout).toMatch(/^ +2 .* \+1 +−1 +ctx:\w+ +Five must pass\.$/m)

  expect((await json(machine, "src/limit.ts", "-n", "1")).states).toMatchObject([{ state: 3 }])
  expect((await json(machine, "src/limit.ts", "--since", "2020-01-01")).states).toHaveLength(3)
  expect(await undo(machine, "src/limit.ts", "--since", "2099-01-01")).toMatchObject({ code: 3, stdout: "" })

  expect((await undo(machine, "src/limit.ts", "--diff", "2")).stdout).toMatch(
    /- const limit = 10\n +\+ const limit = 5\n/,
  )
  // Without a number, the one before the present one.
  expect((await undo(machine, "src/limit.ts", "--diff")).stdout).toMatch(
    /^Putting back state 2:\n[\s\S]*- const limit = 10\n +\+ const limit = 5\n/,
  )
  expect(await json(machine, "--diff", "src/limit.ts")).toMatchObject({ state: 2 })
  const dry = await json(machine, "src/limit.ts", "--to", "1", "--dry-run")
  expect(dry).toMatchObject({ dryRun: true, changed: true, added: 2, removed: 2, kept: null })
  expect(readFileSync(file.path, "utf8")).toBe(file.content!)

  chmodSync(file.path, 0o755)
  const { kept, ...done } = await json(machine, "src/limit.ts", "--to", "1", "--yes")
  expect(done).toMatchObject({ dryRun: false, changed: true, state: 1 })
  expect(readFileSync(file.path, "utf8")).toBe(FIRST)
  expect(statSync(file.path).mode & 0o777).toBe(0o755)
  expect(readFileSync(kept, "utf8")).toBe(file.content!)
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  expect(await json(machine, "src/limit.ts", "--to", "1", "--yes")).toMatchObject({
    changed: false,
    kept: null,
  })
})

test("puts a deleted file back, through a link, and with the line endings that it had", async () => {
  const { machine, file } = await worked()
  using _ = machine
  rmSync(dirname(file.path), { recursive: true })
  expect(await json(machine, "src/limit.ts")).toMatchObject({ now: "absent", state: null })
  const back = await undo(machine, "src/limit.ts", "--to", "3", "--yes")
  expect(back).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file.path, "utf8")).toBe(file.content!)

  const elsewhere = join(machine.root, "elsewhere.ts")
  writeFileSync(elsewhere, file.content!.replaceAll("\n", "\r\n"))
  rmSync(file.path)
  symlinkSync(elsewhere, file.path)
  expect(await json(machine, "src/limit.ts")).toMatchObject({ now: "archived", state: 3 })
  expect(await undo(machine, "src/limit.ts", "--to", "1", "-y")).toMatchObject({ code: 0, stderr: "" })
  expect(lstatSync(file.path).isSymbolicLink()).toBeTrue()
  expect(readFileSync(elsewhere, "utf8")).toBe(FIRST.replaceAll("\n", "\r\n"))
})

test("knows what changed outside of sessions only where a session met it, and never guesses", async () => {
  using machine = new Machine()
  const file = new Worked(join(machine.cwd, "notes.md"))
  file.content = "alpha\nbeta\n"
  const session = machine.session()
  session.turn("Read it.", [file.read()])
  // An editor.
  file.content = "alpha\nbeta\ngamma\n"
  session.turn("Now gamma is there.", [file.edit("gamma", "delta")])
  file.content = "alpha\nbeta\ndelta\nepsilon\n"
  // Only a part is read, and nobody says what was there before the edit.
  session.turn("Go on.", [file.read(2), file.edit("beta", "BETA", false)])
  session.turn("The user changed what was to be written.", [
    file.edit("alpha", "ALPHA", true, { userModified: true }),
  ])
  // What the session has known before does not prove what is there now: an editor may have changed another line.
  session.turn("Again.", [file.edit("ALPHA", "Alpha", false)])
  session.turn("Never done.", []).message()
  session.block({
    type: "tool_use",
    id: "toolu_waiting",
    name: "Write",
    input: { file_path: file.path, content: "never written" },
  })
  session.flush()
  file.save()
  await machine.hook("stop", session)
  const { states, now, state } = await json(machine, "notes.md")
  expect(states.map((one: { whole: boolean; tool?: string }) => [one.whole, one.tool])).toEqual([
    [true, undefined],
    [true, undefined],
    [true, "Edit"],
    [false, "Edit"],
    [true, undefined],
    [false, "Edit"],
    [false, "Edit"],
  ])
  expect({ now, state }).toEqual({ now: "changed", state: null })
  expect(await undo(machine, "notes.md", "--to", "4", "-y")).toMatchObject({ code: 3, stdout: "" })
  expect((await undo(machine, "notes.md")).stdout).toContain("none of these states")
  expect(readFileSync(file.path, "utf8")).toBe(file.content!)
})

test("puts no filled secret into a file unasked, nor what others may have written, and refuses bad input", async () => {
  const { machine, file, session } = await worked()
  using _ = machine
  const token = `ghp_${"aZ9kQ2mX7pL4wR8tY1vB6nC3sD5fG0hJ2kE4"}`
  session
    .turn("With a token.", [file.write(`const token = "${token}"\n`), file.edit("token =", "key =")])
    .flush()
  await machine.hook("stop", session)
  const refused = await undo(machine, "src/limit.ts", "--to", "4", "-y")
  expect(refused).toMatchObject({ stdout: "", code: 1 })
  expect(refused.stderr).toMatch(
    /^ctxbridge: line 1 of state 4 may have had a secret.*\nhint: .*--force.*\n$/,
  )
  expect(readFileSync(file.path, "utf8")).not.toContain("***")

  for (const [args, code] of [
    [["src/limit.ts", "--to", "99", "-y"], 64],
    [["src/limit.ts", "--to", "x"], 64],
    [["src/limit.ts", "--to", "1", "--diff", "1"], 64],
    [["src/limit.ts", "--to", "1", "--diff"], 64],
    [["src/limit.ts", "--to", "1"], 64],
    [["nothing.ts"], 3],
    [[], 64],
  ] as const) {
    const ran = await undo(machine, ...args)
    expect({ args, code: ran.code, stdout: ran.stdout }).toEqual({ args, code, stdout: "" })
    expect(ran.stderr).toMatch(/^ctxbridge: .*\n(?:hint: .*\n)?$/)
  }
  writeFileSync(file.path, Uint8Array.of(0xff, 0xfe, 0))
  expect(await undo(machine, "src/limit.ts", "--to", "1", "-y")).toMatchObject({ code: 1, stdout: "" })
  expect(readFileSync(file.path)).toEqual(Buffer.of(0xff, 0xfe, 0))
})

test("FILE:LINE lists the states in which that line came or went", async () => {
  const { machine } = await worked()
  using _ = machine
  const { states } = await json(machine, "src/limit.ts:2")
  expect(states.map(({ state }: { state: number }) => state)).toEqual([2])
  expect(await undo(machine, "src/limit.ts:99")).toMatchObject({ code: 64, stdout: "" })
  expect(await undo(machine, "")).toMatchObject({
    code: 64,
    stderr: "ctxbridge: undo needs a file\nhint: such as ctxbridge undo src/main.ts\n",
  })
  expect(existsSync(join(machine.cwd, "src/limit.ts:2"))).toBeFalse()
})

test("an edit that leaves nothing of a line takes its end out, as Claude Code does", async () => {
  using machine = new Machine()
  const file = new Worked(join(machine.cwd, "list.txt"))
  file.content = "one\ntwo\nthree\n"
  const session = machine.session()
  const step = file.edit("two\n", "")
  const input = { ...step.input, old_string: "two", new_string: "" }
  session.turn("Without the second.", [{ ...step, input }]).flush()
  file.save()
  await machine.hook("stop", session)
  expect(await json(machine, "list.txt")).toMatchObject({ now: "archived", state: 2 })
})

/** Claude Code tells patches as it shows them, with blanks for the tabs before each line: no edit of a Go file was proven. */
test("lines that begin with tabs", async () => {
  using machine = new Machine()
  const file = new Worked(join(machine.cwd, "main.go"))
  const before = "func main() {\n\tfor {\n\t\tonce()\n\t}\n}\n"
  const write = file.write(before)
  const edit = file.edit("\t\tonce()", "\t\ttwice()\n\t\tbreak")
  const told = edit.told as { structuredPatch: { lines: string[] }[] }
  for (const hunk of told.structuredPatch)
    hunk.lines = hunk.lines.map(
      (line) => line[0] + line.slice(1).replace(/^\t+/, (tabs) => "  ".repeat(tabs.length)),
    )
  const session = machine.session().turn("Write it.", [write]).turn("Twice, and stop.", [edit]).flush()
  await machine.hook("stop", session)
  writeFileSync(file.path, file.content!)
  const { states, state } = await json(machine, "main.go")
  expect(state).toBe(2)
  expect(states).toMatchObject([{ whole: true }, { whole: true, added: 2, removed: 1 }])
})

test("keeps the mark at the beginning, one kind of newlines, and a file that its owner has made read-only", async () => {
  const { machine, file } = await worked()
  using _ = machine
  writeFileSync(file.path, `\uFEFF${file.content}`)
  expect(await json(machine, "src/limit.ts")).toMatchObject({ now: "archived", state: 3 })
  expect(await undo(machine, "src/limit.ts", "--to", "1", "-y")).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file.path, "utf8")).toBe(`\uFEFF${FIRST}`)
  writeFileSync(file.path, "mixed\r\nlines\n")
  expect(await undo(machine, "src/limit.ts", "--to", "1", "-y")).toMatchObject({ code: 0, stderr: "" })
  expect(readFileSync(file.path, "utf8")).toBe(FIRST)
  if (process.getuid?.() === 0) return
  chmodSync(file.path, 0o444)
  expect(await undo(machine, "src/limit.ts", "--to", "2", "-y")).toMatchObject({ code: 1, stdout: "" })
  expect(readFileSync(file.path, "utf8")).toBe(FIRST)
})

test("a file of several names stays one file", async () => {
  const { machine, file } = await worked()
  using _ = machine
  const other = join(machine.cwd, "same.ts")
  linkSync(file.path, other)
  const ran = await undo(machine, "src/limit.ts", "--to", "1", "-y")
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  expect(ran.stdout).toContain("src/limit.ts is in state 1 (+2 −2), under all of its 2 names\n")
  expect([file.path, other].map((path) => readFileSync(path, "utf8"))).toEqual([FIRST, FIRST])
  expect(statSync(other).ino).toBe(statSync(file.path).ino)
  const kept = /What was there: (.+)\n/.exec(ran.stdout)![1]!
  expect(readFileSync(kept, "utf8")).toBe(file.content!)
})

test("lines that differ in blanks only do not look the same", async () => {
  const { machine, file } = await worked()
  using _ = machine
  writeFileSync(file.path, FIRST.replace("const limit = 5", "const limit =  5 \t"))
  expect((await undo(machine, "src/limit.ts", "--diff", "1")).stdout).toBe(
    "  - const limit =··5·→\n  + const limit = 5\n    export const allowed = (n) => n < limit\n",
  )
  expect((await json(machine, "src/limit.ts", "--diff", "1")).diff[0]).toEqual({
    mark: "-",
    text: "const limit =  5 \t",
  })
})
