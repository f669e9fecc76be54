/** `git log` was told with the exit status of the `git rev-parse` that had failed before it in the same script. */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"

test.each([
  ["make kiln --hot", true],
  ["cd app && make kiln --hot 2>&1", true],
  ["make clay --wet && make kiln --hot", false],
  ["make kiln --hot\nmake glaze --red", false],
])("%j", async (script, isTold) => {
  using machine = new Machine()
  const bash = (command: string, output: string, isError: boolean) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  const session = machine.session()
  session.turn("Fire the kiln", [
    bash(script, "Exit code 7\nit is cold", true),
    // So that it does not stand among the last commands, whatever they are.
    bash("make shelves --oak", "Exit code 1\nno oak", true),
  ])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("make kiln --hot")
  expect(/`(?:cd app && )?make kiln --hot(?: 2>&1)?` \(Exit code 7\)/.test(given)).toBe(isTold)
})
