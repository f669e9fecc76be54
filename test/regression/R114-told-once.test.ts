/**
 * A long error was told twice, cut under "Commands" and whole under "Errors met", and a command both on its own line and
 * among the beginnings of the others.
 */
import { expect, test } from "bun:test"
import { commandLines } from "../../src/restore/command-lines.ts"
import { contextOf, Machine } from "../support/machine.ts"

const BAKER = "Argument of type 'Readonly<Record<string, Kiln>>' is not assignable to a parameter of the type"
const OVEN = `src/kiln/oven.ts(12,5): error TS2345: ${BAKER} 'Map<string, Oven>' of the baker who bakes all the bread`
const DOOR = `src/kiln/door.ts(12,5): error TS2345: ${BAKER} 'Map<string, Door>' of the baker who bakes all the bread`

test("the failed command's error is met once, and others still are", async () => {
  using machine = new Machine()
  const failed = (error: string) => ({
    tool: "Bash",
    input: { command: "npx tsc --noEmit" },
    output: `Exit code 2\n${error}\nFound 1 error in the sources of this project, see above.`,
    isError: true,
  })
  const session = machine.session().turn("Build it", [failed(DOOR), failed(OVEN)])
  await machine.hook("stop", session.flush())
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  expect(given).toContain(`last failing: \`npx tsc --noEmit\` → "${OVEN.slice(0, 40)}`)
  expect(given.split("oven.ts(12,5)")).toHaveLength(2)
  expect(given.split("door.ts(12,5)")).toHaveLength(2)
})

test("a command that is told among the beginnings has no line of its own", () => {
  const long = (n: number) => ({ text: `kiln fire --shelf ${"oak ".repeat(12)}${n}`, times: 9 - n, age: n })
  const commands = [...[0, 1, 2].map(long), { text: "oven --version", times: 2, age: 90 }]
  const lines = commandLines(commands, 230, () => false).join("\n")
  expect(lines).toContain("- also: `")
  expect(lines.split("oven --version")).toHaveLength(2)
})
