/** At a terminal narrower than the progress bar, each drawing of it left a line. */
import { expect, test } from "bun:test"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

test.each([20, 30, 80])("in %d columns the bar stays on its line", async (cols) => {
  using machine = new Machine()
  machine.session().turn("hello").flush()
  const { code, text } = await runAtTerminal(machine, ["import"], { cols, env: {} })
  expect(code).toBe(0)
  const drawn = text.split(/[\r\n]+/).filter((line) => line.startsWith("archiving"))
  expect(drawn.at(-1)).toContain("100%")
  for (const line of drawn) expect(line.length).toBeLessThan(cols)
})
