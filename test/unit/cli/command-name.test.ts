/** Which command a word means, and that every command is in the overview. */
import { expect, test } from "bun:test"
import { ALIASES, GROUPS, PLUMBING } from "../../../src/cli/command-groups.ts"
import { COMMANDS } from "../../../src/cli/commands.ts"
import { overview, wholeOverview } from "../../../src/cli/overview.ts"
import { commandMeant } from "../../../src/cli/router.ts"
import { createStyle } from "../../../src/cli/style.ts"

const NAMES = Object.keys(COMMANDS)

test.each([
  ["search", "search"],
  ["stat", "status"],
  ["sess", "sessions"],
  ["ls", "sessions"],
  ["grep", "search"],
  ["cat", "show"],
  ["log", "timeline"],
])("%s means %s", (word, name) => {
  const names = word === "stat" ? NAMES.filter((one) => one !== "stats") : NAMES
  expect(commandMeant(word, names)).toBe(name)
})

test.each([
  ["re", "re could be receipts, "],
  ["s", "unknown command: s"],
  ["constructor", "unknown command: constructor"],
  ["--force", "no command before --force"],
  ["comp", "compact"],
])("%s: %s", (word, told) => {
  let said = ""
  try {
    said = commandMeant(word, NAMES)
  } catch (error) {
    said = String((error as Error).message)
  }
  // Programs call the plumbing by its whole name.
  expect(said).toStartWith(told)
})

test("every command is in the overview once, and every alias means one", () => {
  const shown = [...GROUPS.flatMap(({ commands, also = [] }) => [...commands, ...also]), ...PLUMBING]
  expect(shown.toSorted()).toEqual(NAMES.toSorted())
  for (const [alias, name] of Object.entries(ALIASES)) {
    expect(NAMES).toContain(name)
    expect(NAMES).not.toContain(alias)
  }
})

test("the help fits 80 columns and 24 rows, with the next prompt below it", async () => {
  const lines = (await overview(createStyle(false))).split("\n")
  expect(lines.length).toBeLessThanOrEqual(24)
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  const whole = (await wholeOverview(createStyle(false))).split("\n")
  expect(Math.max(...whole.map((line) => line.length))).toBeLessThanOrEqual(100)
  for (const name of NAMES) expect(whole.some((line) => line.startsWith(`  ${name} `))).toBe(true)
})
