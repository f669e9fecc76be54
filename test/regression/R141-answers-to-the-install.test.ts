/**
 * When the question of `install` was closed with Ctrl-D, what followed stood on the same line; and `status` called for an
 * import that was under way.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(60_000)

const LATER = "`ctxbridge import` archives the transcript that Claude Code has kept"

/** What the terminal shows once the question is answered, and what `status` tells right after it. */
async function answered(answer: string): Promise<{ shown: string; status: string }> {
  using machine = new Machine()
  machine.session().turn("said before the install").flush()
  const { code, text } = await runAtTerminal(machine, ["install"], { cols: 200, answer })
  expect(code).toBe(0)
  const { stdout } = await run(["status"], { env: machine.env, cwd: machine.cwd })
  await machine.idle()
  return { shown: text.split("now? [yes] ")[1] ?? "", status: stdout }
}

test("Enter archives what there is, and status does not call for it", async () => {
  const { shown, status } = await answered("\n")
  expect(shown).toStartWith("\r\nArchiving the transcript that Claude Code has kept")
  expect(status).not.toContain("No archive yet")
})

test.each([
  ["n\n", "n\r\n"],
  ["\x04", "\r\n"],
])("%j leaves it alone", async (answer, echoed) => {
  const { shown, status } = await answered(answer)
  expect(shown).toStartWith(echoed + LATER)
  expect(status).toContain("No archive yet: it begins with the next session")
})
