/**
 * `how` and `fix` took commands for one whose first 300 characters are the same: runs and failures were added up, and one's
 * success solved the other's error. And no command of PowerShell was found.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

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
  machine = new Machine()
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

async function found(...args: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await run([...args, "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).found
}

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
