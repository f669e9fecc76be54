/** A search for the newest showed turns that are nothing but `/compact`, with no text. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { Machine } from "../support/machine.ts"

const command = (name: string): string =>
  `<command-name>${name}</command-name>\n<command-message>${name.slice(1)}</command-message>\n<command-args></command-args>`

test("the newest turns are those in which something was said", async () => {
  using machine = new Machine()
  const session = machine.session().turn("Count the shelves", [], "There are nine.")
  session.user(command("/compact")).boundary("manual").summary("Shelves were counted.")
  session.user(command("/compact")).turn("Paint them", [], "They are green.")
  session.user(command("/review")).message().say("I have read it all.")
  expect(await run(["import", session.flush().path], machine)).toMatchObject({ code: 0, stderr: "" })
  const { code, stdout, stderr } = await run(["search", "--json"], machine)
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const hits: { prompt: string | null; snippet: string }[] = JSON.parse(stdout).hits
  expect(hits.map(({ prompt, snippet }) => [prompt, snippet])).toEqual([
    ["/review", "I have read it all."],
    ["Paint them", "They are green."],
    ["Count the shelves", "There are nine."],
  ])
})
