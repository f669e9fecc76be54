/** A command was told as failing that had succeeded since, typed with another redirection or without its `cd`. */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"

test.each([
  ["npm test", "npm test", true],
  ["npm test 2>&1", "npm test", true],
  ["npm test", "npm test > /tmp/log 2>&1", true],
  ["cd app && npm test", "npm test", true],
  ['cd "my app"; npm test', 'cd "my app" && npm test', true],
  // Elsewhere, of something else, or with a filter that always succeeds.
  ["cd app && npm test", "cd lib && npm test", false],
  ["npm test", "cd lib && npm test", false],
  ["npm test", "npm test -- retry", false],
  ["npm test", "npm test | tail -5", false],
])("%s, then %s", async (failing, good, isMended) => {
  using machine = new Machine()
  const bash = (command: string, output: string, isError = false) => ({
    tool: "Bash",
    input: { command },
    output,
    isError,
  })
  const session = machine.session()
  session.turn("Mend it", [bash(failing, "Exit code 1\nit failed", true), bash(good, "it passed")])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain("- last good: `")
  expect(given.includes("- last failing: `")).toBe(!isMended)
})
