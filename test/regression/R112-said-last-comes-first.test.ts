/**
 * A rule that the user had just repeated came where it was first given, so that newer ones took its room, and what was
 * decided within one turn came in the order of the alphabet, last letter first.
 */
import { expect, test } from "bun:test"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

const FIRST = "Never push to main."
const SECOND = "Always use pnpm, not npm."

/** The quotations below a title. */
async function givenBelow(machine: Machine, session: Transcript, title: string): Promise<string[]> {
  await machine.hook("stop", session.flush())
  const text = contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  const section = text.split("\n## ").find((one) => one.startsWith(title)) ?? ""
  return [...section.matchAll(/^- "(.*)" \(ctx:/gm)].map(([, quoted]) => quoted!)
}

test("a rule that is repeated counts where it was said last, and is given once", async () => {
  using machine = new Machine()
  const session = machine.session().turn(FIRST).turn(SECOND).turn(FIRST)
  expect(await givenBelow(machine, session, "Standing constraints")).toEqual([FIRST, SECOND])
})

test("decisions of one turn come latest first", async () => {
  using machine = new Machine()
  const session = machine.session().user("Choose them all").message()
  const decided = ["zinc", "ash", "moss", "ash", "brick"].map(
    (one) => `For the roof I decided on ${one} rather than tar because it lasts.`,
  )
  for (const [n, text] of decided.entries()) {
    session.say(text).step({ tool: "Read", input: { file_path: `/roof/${n}.md` }, output: "…" })
  }
  const [zinc, , moss, ash, brick] = decided
  const given = await givenBelow(machine, session.say("Chosen."), "Decisions")
  expect(given).toEqual([brick!, ash!, moss!, zinc!].slice(0, given.length))
  expect(given.length).toBeGreaterThan(2)
})
