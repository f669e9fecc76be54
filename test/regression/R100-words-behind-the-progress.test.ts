/** An error, or a question, stood behind the progress bar: `searching the vault [====] 100%ctxbridge: nothing …`. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { Machine } from "../support/machine.ts"
import { runAtTerminal } from "../support/terminal.ts"

setDefaultTimeout(60_000)

/** What a terminal would show, line by line. */
async function lines(machine: Machine, args: readonly string[], answer?: string): Promise<string[]> {
  const { text } = await runAtTerminal(machine, args, answer === undefined ? {} : { answer })
  return text.split("\r\n").map((line) => line.split("\r").at(-1)!)
}

test("an error has a line of its own", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("Begin").flush())
  const shown = await lines(machine, ["search", "--cold", "nowhere"])
  expect(shown[0]).toStartWith("ctxbridge: nothing in ")
})

test("so has a question", async () => {
  using machine = new Machine()
  await machine.hook("stop", machine.session().turn("Begin").flush())
  const shown = await lines(machine, ["forget", "--match", "Begin"], "n\r")
  expect(shown[0]).toStartWith("Would replace 2 places ")
  expect(shown).toContain("Nothing was changed")
})
