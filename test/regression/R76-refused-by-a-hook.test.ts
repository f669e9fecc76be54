/** A command that a hook of the user's had refused was told as the last failing one until the session's end, and as a failed run. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

const bash = (command: string, output: string, isError = false) => ({
  tool: "Bash",
  input: { command },
  output,
  isError,
})

test.each([
  // Later hosts tell the exit status of every command that was run.
  { version: "2.1.112", output: "Use the Read tool to read file contents", isRun: false },
  { version: "2.1.112", output: "Exit code 1\nno such file", isRun: true },
  { version: "1.0.51", output: "cat: notes.md: No such file or directory", isRun: true },
])("$version: $output", async ({ version, output, isRun }) => {
  using machine = new Machine()
  const session = machine.session({ version })
  session.turn("Read the notes", [bash("npm test", "passed"), bash("cat notes.md", output, true)])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given.includes("- last failing: `cat notes.md`")).toBe(isRun)
  expect(given).toContain("- last good: `npm test`")
  const { code, stdout, stderr } = await run(["how", "cat", "notes", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: isRun ? 0 : 3, stderr: "" })
  if (isRun) expect(JSON.parse(stdout).found).toMatchObject([{ command: "cat notes.md", failures: 1 }])
})
