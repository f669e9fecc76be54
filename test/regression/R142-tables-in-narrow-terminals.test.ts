/** In a terminal of 40 columns each line of `sessions` wrapped. */
import { expect, test } from "bun:test"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

const COLUMNS = 40

test.each(["sessions", "show"])("%s fits into 40 columns", async (command) => {
  using machine = new Machine()
  const session = machine.session().turn("a prompt that is rather longer than what there is room for here")
  await machine.hook("stop", session.flush())
  const args = command === "show" ? [command, session.session] : [command]
  const { code, text } = await runAtTerminal(machine, args, { cols: COLUMNS })
  expect(code).toBe(0)
  const lines = text.split("\r\n")
  const table = lines.slice(lines.findIndex((line) => /^(session|turn) {2,}/.test(line))).filter(Boolean)
  expect(table).toHaveLength(2)
  for (const line of table) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(COLUMNS)
})
