/** Runs of a command, as `how` and `fix` count them. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { join } from "node:path"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

async function foundIn(machine: Machine, ...words: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await run([...words, "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).found
}

/** Of a command that was run 400 times, `how` counted the 300 runs that it had looked at. */
test("all runs in the project count, and none of another's", async () => {
  using machine = new Inside()
  const bash = (command: string, isError: boolean) => ({
    tool: "Bash",
    input: { command },
    output: isError ? "Exit code 1\nfailed" : "passed",
    isError,
  })
  const session = machine.session()
  for (let n = 0; n < 100; n++)
    session.turn(
      `test ${n}`,
      [0, 1, 2, 3].map((k) => bash("npm test", n < 50 && k < 3)),
    )
  const other = machine.session({ cwd: join(machine.root, "other") }).turn("test", [bash("npm test", true)])
  const paths = [session, other].map((one) => one.flush().path)
  expect(await run(["import", ...paths], machine)).toMatchObject({ code: 0, stderr: "" })
  const how = (...words: string[]) => foundIn(machine, "how", "npm", "test", ...words)
  expect(await how()).toMatchObject([{ command: "npm test", runs: 400, failures: 150, failed: false }])
  expect(await how("--all-projects")).toMatchObject([{ command: "npm test", runs: 401, failures: 151 }])
})

/**
 * `how` and `fix` took commands for one whose first 300 characters are the same: runs and failures were added up, and one's
 * success solved the other's error. And no command of PowerShell was found.
 */
describe("commands that begin alike", () => {
  const script = (between: string, last: string): string => `cat <<'EOF' | node -\n${between}\n${last}\nEOF`
  /** Long lines, and lines so deeply indented that little is left of the first ones. */
  const LONG = "// one line of the walrusscript\n".repeat(12)
  const DEEP = `// ermine\n${`${" ".repeat(600)}step()\n`.repeat(3)}`

  const bash = (command: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output: isError ? "Exit code 1\nTypeError: the walrus is asleep" : "fine",
    isError,
  })
  const remote = (last: string, isError = false) => ({
    tool: "mcp__remote__run",
    input: { script: LONG + last },
    output: isError ? "RangeError: the narwhal is away" : "fine",
    isError,
  })

  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    session.turn("Try", [
      bash(script(LONG, "first()"), true),
      bash(script(LONG, "second()")),
      bash(script(DEEP, "third()"), true),
      bash(script(DEEP, "fourth()")),
      remote("first()", true),
      remote("second()"),
      { tool: "PowerShell", input: { command: "Get-Narwhal -All" }, output: "1" },
    ])
    session.turn("Again", [bash(script(LONG, "first()")), remote("first()")])
    await machine.hook("stop", session.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  const found = (...words: string[]) => foundIn(machine, ...words)

  test.each([
    ["walrusscript", LONG, "first()", { runs: 2, failures: 1, failed: false }],
    ["walrusscript", LONG, "second()", { runs: 1, failures: 0, failed: false }],
    ["ermine", DEEP, "third()", { runs: 1, failures: 1, failed: true }],
    ["ermine", DEEP, "fourth()", { runs: 1, failures: 0, failed: false }],
  ])("how %s: each by itself", async (word, between, last, ended) => {
    const all = await found("how", word)
    expect(all).toHaveLength(2)
    expect(all).toContainEqual(expect.objectContaining({ command: script(between, last), ...ended }))
  })

  test("how: commands of PowerShell", async () => {
    expect(await found("how", "narwhal")).toMatchObject([{ command: "Get-Narwhal -All", runs: 1 }])
  })

  test("fix: what solved an error is the same command", async () => {
    const fixes = await found("fix", "walrus is asleep")
    const [first, third] = ["first()", "third()"].map((name) =>
      fixes.find(({ target }) => String(target).includes(name)),
    )
    expect(first).toMatchObject({ solvedIn: expect.stringMatching(/^ctx:/), steps: { length: 6 } })
    expect(first!["solvedIn"]).not.toBe(first!["handle"])
    expect(third).toMatchObject({ solvedIn: null })
    const [away] = await found("fix", "narwhal is away")
    expect(away!["solvedIn"]).not.toBe(away!["handle"])
    expect(away!["solvedIn"]).toMatch(/^ctx:/)
  })
})

/** Of 2,500 commands in real sessions a third ended in a filter, and each counted as a command of its own. */
describe("commands that differ only in their filters and redirections", () => {
  const FAILED = "--- FAIL: TestWalrus (0.00s)\nFAIL\texample.com/shop\t0.1s\nFAIL"
  const PASSED = "ok  \texample.com/shop\t0.1s"
  const bash = (command: string, output: string) => ({ tool: "Bash", input: { command }, output })

  let machine: Machine

  beforeAll(async () => {
    machine = new Inside()
    const session = machine.session()
    session.turn("Test it", [
      bash("tail -5 go-test.log # of go test", "FAIL"),
      bash("go test ./... 2>&1 | tail -20", FAILED),
      bash("ls shop", "basket.go"),
      bash("go test ./... 2>&1 | grep -E 'ok|FAIL'", PASSED),
      bash("go test ./... > out.log 2>&1 || true", ""),
      bash("go vet ./... && go test -race ./... | head", PASSED),
    ])
    await machine.hook("stop", session.flush())
  })

  afterAll(() => machine[Symbol.dispose]())

  const found = (...words: string[]) => foundIn(machine, ...words)

  test("how: runs of one command, and those that begin as asked come first", async () => {
    const all = await found("how", "go test")
    expect(all).toMatchObject([
      { command: "go test ./... > out.log 2>&1 || true", runs: 3, failures: 1, failed: false },
      { command: "go vet ./... && go test -race ./... | head", runs: 1, failures: 0 },
    ])
  })

  test("fix: a run with another filter solved it", async () => {
    const [fix] = await found("fix", "TestWalrus")
    expect(fix).toMatchObject({
      target: "go test ./... 2>&1 | tail -20",
      solvedIn: expect.stringMatching(/^ctx:/),
      steps: [{ target: "ls shop", failed: false }],
    })
  })

  test("search --error finds what the pipe hid", async () => {
    const { code, stdout } = await run(["search", "TestWalrus", "--error", "--json"], machine)
    expect([code, JSON.parse(stdout).hits.length]).toEqual([0, 1])
  })
})
