/** Every line fits into the terminal. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { limit } from "../support/slowness.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(limit(120_000))

/** At a terminal narrower than the progress bar, each drawing of it left a line. */
test.each([20, 30, 80])("in %d columns the bar stays on its line", async (cols) => {
  using machine = new Machine()
  machine.session().turn("hello").flush()
  const { code, text } = await runAtTerminal(machine, ["import"], { cols, env: {} })
  expect(code).toBe(0)
  const drawn = text.split(/[\r\n]+/).filter((line) => line.startsWith("archiving"))
  expect(drawn.at(-1)).toContain("100%")
  for (const line of drawn) expect(line.length).toBeLessThan(cols)
})

/** An error, or a question, stood behind the progress bar: `searching the vault [====] 100%ctxbridge: nothing …`. */
describe("behind the progress bar", () => {
  /** What a terminal would show, line by line. */
  async function lines(machine: Machine, args: readonly string[], answer?: string): Promise<string[]> {
    const { text } = await runAtTerminal(machine, args, answer === undefined ? {} : { answer })
    return text.split("\r\n").map((line) => line.split("\r").at(-1)!)
  }

  test("an error has a line of its own", async () => {
    using machine = new Machine()
    await machine.hook("stop", machine.session().turn("Begin").flush())
    const shown = await lines(machine, ["search", "--cold", "nowhere"])
    expect(shown[0]).toStartWith("ctxbridge: nothing in ")
  })

  test("so has a question", async () => {
    using machine = new Machine()
    await machine.hook("stop", machine.session().turn("Begin").flush())
    const shown = await lines(machine, ["forget", "--match", "Begin"], "n\r")
    expect(shown[0]).toStartWith("Would replace 2 places ")
    expect(shown).toContain("Nothing was changed")
  })
})

/** At a terminal that says it has 0 columns (serial lines, containers), prompts and answers were cut to nothing. */
describe("a terminal without a width", () => {
  test("it is taken for one of 80", async () => {
    using machine = new Machine()
    const edit = {
      tool: "Edit",
      input: { file_path: "/src/x.ts", old_string: "a", new_string: "b" },
      output: "ok",
    }
    await machine.hook("stop", machine.session().turn("Mend the parser of dates", [edit], "Mended.").flush())
    const command = ["sh", "-c", 'stty cols 0 rows 0; exec "$0" blame x.ts', binary()]
    const { code, text } = await runAtTerminal(machine, [], { command })
    expect(code).toBe(0)
    expect(text).toContain("  Mend the parser of dates\r\n  Mended.\r\n")
  })
})

const COLUMNS = 40

/** `config list` was a table of 185 columns, whatever the terminal had, and said of no option what it is for. */
test.each([40, 80, 120])("config list explains each option, and fits into %d columns", async (cols) => {
  using machine = new Machine()
  const env = { CTXBRIDGE_PAGER: "cat", CTXBRIDGE_RESTORE_BUDGET: "5000" }
  const { code, text } = await runAtTerminal(machine, ["config", "list"], { cols, env })
  expect(code).toBe(0)
  for (const line of text.split("\r\n").filter((one) => !one.startsWith("Your file: ")))
    expect(Bun.stringWidth(line)).toBeLessThanOrEqual(cols)
  const plain = Bun.stripANSI(text).replace(/\s+/g, " ")
  expect(plain).toContain("capture.enabled true Archive transcripts from hooks.")
  expect(plain).toContain(
    "* restore.budget 5000 (the environment) Maximum characters of restored context, everything counted.",
  )
  expect(plain).toContain("embed.from - Where")
})

/** In a terminal of 40 columns each line of `sessions` wrapped. */
test.each(["sessions", "show"])("%s fits into 40 columns", async (command) => {
  using machine = new Machine()
  const session = machine.session().turn("a prompt that is rather longer than what there is room for here")
  await machine.hook("stop", session.flush())
  const args = command === "show" ? [command, session.session] : [command]
  const { code, text } = await runAtTerminal(machine, args, { cols: COLUMNS })
  expect(code).toBe(0)
  const lines = text.split("\r\n")
  const table = lines.slice(lines.findIndex((line) => /^(session|turn) {2,}/.test(line))).filter(Boolean)
  // A session's title stands below its figures.
  expect(table).toHaveLength(command === "sessions" ? 4 : 2)
  for (const line of table) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(COLUMNS)
})

/** Paths in other projects were whole, and broken wherever the line ended. */
test.each([40, 80])(
  "a file of another project is told from there on, with its name, in %d columns",
  async (cols) => {
    using machine = new Machine()
    const cwd = join(machine.root, "client/app")
    const path = "src/a-folder-with-a-long-name/retry-policy.test.ts"
    mkdirSync(cwd, { recursive: true })
    const edit = {
      tool: "Edit",
      input: { file_path: join(cwd, path), old_string: "a", new_string: "b" },
      output: "ok",
    }
    await machine.hook("stop", machine.session({ cwd }).turn("Mend the retries", [edit], "Mended.").flush())
    const wide = [`${path} (app)`]
    const narrow = ["src/a-folder-with-a-long-name/", "retry-policy.test.ts (app)"]
    const told = cols === 80 ? wide : narrow
    for (const args of [
      ["files", "retry-policy.test.ts", "-a"],
      ["blame", "retry-policy.test.ts", "-a"],
    ]) {
      const { code, text } = await runAtTerminal(machine, args, { cols })
      const lines = Bun.stripANSI(text).split("\r\n")
      expect({ code, lines: lines.map((line) => line.trim()) }).toMatchObject({
        code: 0,
        lines: expect.arrayContaining(told),
      })
      for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(cols)
    }
  },
)

/** The place of the line was broken wherever the terminal ended. */
test.each(["blame", "why"])(
  "%s of a line in a folder with a long name fits into 40 columns",
  async (command) => {
    using machine = new Machine()
    const path = "src/a-folder-with-a-long-name/retry-policy.test.ts"
    const file = join(machine.cwd, path)
    mkdirSync(join(file, ".."), { recursive: true })
    writeFileSync(file, "export const attempts = 3\n")
    const input = { file_path: file, old_string: "attempts = 2", new_string: "attempts = 3" }
    const session = machine
      .session()
      .turn("Mend the retries", [{ tool: "Edit", input, output: "ok" }], "Mended.")
    await machine.hook("stop", session.flush())
    const { code, text } = await runAtTerminal(machine, [command, `${path}:1`], { cols: COLUMNS })
    const lines = text.split("\r\n")
    expect({ code, lines }).toMatchObject({
      code: 0,
      lines: expect.arrayContaining(["src/a-folder-with-a-long-name/", "retry-policy.test.ts:1"]),
    })
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(COLUMNS)
  },
)

/** `sessions --all-projects` left out what each had cost. */
test("in 80 columns nothing is left out of a list of sessions of several projects", async () => {
  using machine = new Machine()
  const projects = ["a-project-with-a-long-name", "another-one-with-a-long-name"]
  for (const [n, name] of projects.entries()) {
    const cwd = join(machine.root, name)
    mkdirSync(cwd)
    const id = `${n}e551011-0000-4000-8000-000000000001`
    const session = machine
      .session({ cwd, id })
      .turn("A prompt that says at some length what is to be done here")
    session.line({ type: "result", subtype: "success", total_cost_usd: 123.45, num_turns: 1 })
    await machine.hook("stop", session.flush())
  }
  const { code, text } = await runAtTerminal(machine, ["sessions", "--all-projects"])
  expect(code).toBe(0)
  const lines = text.split("\r\n").filter(Boolean)
  expect(lines[0]).toMatch(/^session +last active +turns +tokens +cost +tools +errors +size$/)
  expect(lines[1]).toBe("  project · title")
  expect(lines).toHaveLength(2 + 2 * projects.length)
  for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80)
  expect(text).toContain("$123.45")
  expect(text).toMatch(/\n {2}a-project-with-a-long-name · A prompt that says at some length what is to.*…\r/)
})

/** What Ctrl-C leaves was not said anywhere. */
test("long work says what Ctrl-C leaves behind, for as long as it lasts", async () => {
  using machine = new Machine()
  const program = (end: string): string => `
    const { createOutput } = await import(${JSON.stringify(join(import.meta.dir, "../../src/cli/output.ts"))})
    const out = createOutput({ json: false, color: () => false })
    out.resumable("Ctrl-C keeps what is archived; ctxbridge import continues")
    out.progress("archiving", 1, 4, "bytes")
    Bun.sleepSync(1100)
    out.progress("archiving", 2, 4, "bytes")
    ${end}`
  const shown = async (end: string) =>
    runAtTerminal(machine, [], { command: [process.execPath, "-e", program(end)] })
  const stopped = await shown('process.kill(process.pid, "SIGINT")')
  expect(stopped.code).toBe(130)
  expect(stopped.text.trimEnd()).toMatch(/; ctxbridge import continues\r\n\rarchiving \[.*2 B of 4 B$/)
  const done = await shown('out.print("Committed"); await out.end()')
  expect(done.code).toBe(0)
  // The bar is overwritten, and the line above it is erased.
  expect(done.text).toMatch(/\r +\r\x1b\[1A\x1b\[2KCommitted\r\n$/)
})

test("an export to a file shows how far it is, one to the terminal does not", async () => {
  using machine = new Machine()
  const session = machine.session()
  for (let n = 0; n < 20; n++) session.turn(`turn ${n}`)
  await machine.hook("stop", session.flush())
  const written = await runAtTerminal(machine, ["export", session.session, "--output", "session.md"])
  expect(written.text).toMatch(/turns \[=+ *\] +\d+%.*\r +\r.* written to .*session\.md\r\n$/)
  const shown = await runAtTerminal(machine, ["export", session.session])
  expect(shown.text).toContain("turn 19")
  expect(shown.text).not.toContain("%")
})

describe("what sums up, and what went wrong, is broken between words alone", () => {
  const machine = new Machine()
  const env = { CTXBRIDGE_PAGER: "cat", CTXBRIDGE_BUDGET_DAY: "5M", CTXBRIDGE_BUDGET_MONTH: "$500" }
  beforeAll(async () => {
    const fails = {
      tool: "mcp__kiln__fire_until_it_is_hot_enough",
      input: { command: "fire" },
      output:
        "Error: the kiln is at 900 degrees, which is more than this small and old one can stand for long",
      isError: true,
    }
    const file_path = "/srv/pottery/src/glazes/of-the-north/seaweed-and-ash.ts"
    const reads = { tool: "Edit", input: { file_path, old_string: "1", new_string: "2" }, output: "ok" }
    const session = machine
      .session({ cwd: machine.cwd })
      .turn("Fire the kiln until it is hot", [fails, reads])
    session
      .turn("Again", [fails])
      .block({ type: "text", text: "Hm." }, {}, { id: "m", model: "kiln-model-9" })
    session.boundary().summary("They fired the kiln.").turn("On").boundary().summary("On.").turn("And on")
    expect((await machine.hook("stop", session.flush())).code).toBe(0)
  })
  afterAll(() => machine[Symbol.dispose]())

  const COMMANDS: readonly (readonly string[])[] = [
    ["stats"],
    ...["week", "project", "agent", "model", "session"].map((by) => ["stats", "--by", by]),
    ["stats", "friction"],
    ["stats", "--blocks"],
    ["stats", "--help"],
    ["receipts"],
    ["receipts", "-n", "3"],
    ["receipts", "--lost"],
    ["doctor"],
    ["demo"],
    ["stats", "--since", "2030-01-01"],
    ["receipts", "--project", "nowhere-at-all"],
  ]
  test.each(COMMANDS.map((command) => [command.join(" "), command] as const))("%s", async (_, command) => {
    for (const cols of [40, 80, 120]) {
      const { text } = await runAtTerminal(machine, command, { cols, env })
      const lines = text.split("\r\n").map((line) => line.split("\r").at(-1)!)
      for (const line of lines) {
        const plain = Bun.stripANSI(line)
        // A word of more columns than there are, such as a path, has no better place.
        const words = plain
          .trim()
          .split(/\s+/)
          .map((word) => Bun.stringWidth(word))
        expect([cols, plain, Bun.stringWidth(plain) <= Math.max(cols, ...words)]).toEqual([cols, plain, true])
      }
    }
  })
})
