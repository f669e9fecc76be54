/** An error, or a question, stood behind the progress bar: `searching the vault [====] 100%ctxbridge: nothing …`. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { binary } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

setDefaultTimeout(60_000)

/** What a terminal would show, line by line. */
async function lines(machine: Machine, args: readonly string[], answer = ""): Promise<string[]> {
  const decoder = new TextDecoder()
  let seen = ""
  let answered = false
  const child = Bun.spawn([binary(), ...args], {
    env: { ...machine.env, TERM: "xterm", NO_COLOR: "1" },
    cwd: machine.cwd,
    terminal: {
      cols: 80,
      rows: 24,
      data(terminal, data) {
        seen += decoder.decode(data, { stream: true })
        if (!answered && seen.includes("[y/N]")) {
          answered = true
          terminal.write(answer)
        }
      },
    },
  })
  await child.exited
  return seen.split("\r\n").map((line) => line.split("\r").at(-1)!)
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
