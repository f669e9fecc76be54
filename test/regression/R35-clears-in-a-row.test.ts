/** After a second `/clear`, with nothing said since the first, nothing was given back: the session it ended was empty. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

const COMMAND =
  "<command-name>/clear</command-name>\n<command-message>clear</command-message>\n<command-args></command-args>"

/** `/clear` in a session; the host writes the command into the next one. */
async function clear(machine: Machine, former: Transcript): Promise<{ next: Transcript; given: string }> {
  await machine.hook("session-end", former, { reason: "clear" })
  const next = machine.session()
  const given = contextOf(await machine.hook("session-start", next, { source: "clear" })) ?? ""
  next.user(COMMAND).flush()
  return { next, given }
}

test("each is given the same, until something is said", async () => {
  using machine = new Machine()
  const first = machine.session().turn("Never touch the grammar file.").flush()
  await machine.hook("stop", first)
  const once = await clear(machine, first)
  expect(once.given).toContain("Never touch the grammar file.")
  const twice = await clear(machine, once.next)
  expect(twice.given).toBe(once.given)
  const thrice = await clear(machine, twice.next)
  expect(thrice.given).toBe(once.given)
  thrice.next.turn("Always run the linter.").flush()
  const { given } = await clear(machine, thrice.next)
  expect(given).toContain("Always run the linter.")
  expect(given).not.toContain("grammar file")
  using views = machine.views()
  expect(views.query("SELECT count(*) FROM lineage WHERE kind = 'clear'").values()).toEqual([[4]])
})
