/** At a terminal narrower than the progress bar, each drawing of it left a line. */
import { expect, test } from "bun:test"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

test.each([20, 30, 80])("in %d columns the bar stays on its line", async (cols) => {
  using machine = new Machine()
  machine.session().turn("hello").flush()
  let shown = ""
  const child = Bun.spawn([binary(), "import"], {
    env: { PATH: process.env["PATH"] ?? "", ...machine.env, TERM: "xterm" },
    cwd: machine.cwd,
    terminal: {
      cols,
      rows: 24,
      data(_terminal, data) {
        shown += new TextDecoder().decode(data)
      },
    },
  })
  expect(await child.exited).toBe(0)
  const drawn = shown.split(/[\r\n]+/).filter((line) => line.startsWith("archiving"))
  expect(drawn.at(-1)).toContain("100%")
  for (const line of drawn) expect(line.length).toBeLessThan(cols)
})
