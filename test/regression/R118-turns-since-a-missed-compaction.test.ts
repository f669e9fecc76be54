/**
 * A compaction that no hook had seen was answered with the turns, files and commands since it as well, although the model
 * still had them before it.
 */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

const edit = (name: string) => ({
  tool: "Edit",
  input: { file_path: `/kiln/${name}.ts`, old_string: "a", new_string: "b" },
  output: "ok",
})
const bash = (command: string) => ({ tool: "Bash", input: { command }, output: "" })

/** Two turns that hooks have seen. */
async function begun(machine: Machine): Promise<Transcript> {
  const session = machine.session()
  for (const name of ["first", "second"]) {
    await machine.hook("user-prompt-submit", session.flush(), { prompt: `The ${name} thing` })
    session.turn(`The ${name} thing`, [edit(name), bash(`make ${name}`)])
    await machine.hook("stop", session.flush())
  }
  return session
}

test("what was said since is not given back", async () => {
  using machine = new Machine()
  const session = await begun(machine)
  session.boundary().summary("So far.")
  for (const name of ["third", "fourth"])
    session.turn(`The ${name} thing`, [edit(name), bash(`make ${name}`)])
  const given =
    contextOf(await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on" })) ?? ""
  expect(given).toContain("2 turns archived")
  for (const told of ["The second thing", "/kiln/first.ts", "last good: `make second`"])
    expect(given).toContain(told)
  expect(given).not.toMatch(/third|fourth/)
})

test("a turn within which it happened is given back", async () => {
  using machine = new Machine()
  const session = await begun(machine)
  session.turn("The third thing", [edit("third"), bash("make third")], "")
  session.boundary().summary("So far.").say("The third thing is done.")
  session.turn("The fourth thing", [edit("fourth")])
  const given =
    contextOf(await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on" })) ?? ""
  for (const told of ["The third thing", "/kiln/third.ts", "last good: `make third`"])
    expect(given).toContain(told)
  expect(given).not.toContain("fourth")
})
