/** At a terminal that says it has 0 columns (serial lines, containers), prompts and answers were cut to nothing. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

test("it is taken for one of 80", async () => {
  using machine = new Machine()
  const edit = {
    tool: "Edit",
    input: { file_path: "/src/x.ts", old_string: "a", new_string: "b" },
    output: "ok",
  }
  await machine.hook("stop", machine.session().turn("Mend the parser of dates", [edit], "Mended.").flush())
  const decoder = new TextDecoder()
  let seen = ""
  const child = Bun.spawn(["sh", "-c", 'stty cols 0 rows 0; exec "$0" blame x.ts', binary()], {
    env: { PATH: process.env["PATH"] ?? "", ...machine.env, TERM: "xterm", NO_COLOR: "1" },
    cwd: machine.cwd,
    terminal: {
      cols: 80,
      rows: 24,
      data(_terminal, data) {
        seen += decoder.decode(data, { stream: true })
      },
    },
  })
  expect(await child.exited).toBe(0)
  expect(seen).toContain("  Mend the parser of dates\r\n  Mended.\r\n")
})
