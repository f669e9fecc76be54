/** At a terminal that says it has 0 columns (serial lines, containers), prompts and answers were cut to nothing. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(60_000)

test("it is taken for one of 80", async () => {
  using machine = new Machine()
  const edit = {
    tool: "Edit",
    input: { file_path: "/src/x.ts", old_string: "a", new_string: "b" },
    output: "ok",
  }
  await machine.hook("stop", machine.session().turn("Mend the parser of dates", [edit], "Mended.").flush())
  const command = ["sh", "-c", 'stty cols 0 rows 0; exec "$0" blame x.ts', binary()]
  const { code, text } = await runAtTerminal(machine, [], { command })
  expect(code).toBe(0)
  expect(text).toContain("  Mend the parser of dates\r\n  Mended.\r\n")
})
