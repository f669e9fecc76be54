/** A search found the restores that quote a turn beside the turn itself, more of them with every compaction. */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"

test("what was given back is not found again", async () => {
  using machine = new Machine()
  const session = machine.session({ version: "2.1.112" })
  session
    .turn("What was the name of the ship?", [], "The ship is called Marigold.")
    .turn("Go on.", [], "Yes.")
    .flush()
  await machine.hook("pre-compact", session, { trigger: "manual", custom_instructions: "" })
  const given = contextOf(await machine.hook("session-start", session, { source: "compact" }))!
  expect(given).toContain("Marigold")
  const attachment = (type: string, text: string) => ({
    type: "attachment",
    attachment: { type, hookEvent: "SessionStart", hookName: "SessionStart:compact", content: [text] },
  })
  session.boundary("manual").summary("1. Work")
  session.line(attachment("hook_additional_context", given))
  session.line(attachment("hook_additional_context", "A lighthouse, by somebody else's hook."))
  session.turn("And now?", [], "Done.").flush()
  await machine.hook("stop", session)
  expect(await found(machine, "Marigold")).toEqual(["assistant"])
  expect(await found(machine, "lighthouse")).toEqual(["host"])
})

/** Whose words the hits are, those shown beside them too. */
async function found(machine: Machine, query: string): Promise<string[]> {
  const ran = await run(["search", "--all-projects", "--json", query], machine)
  expect(ran).toMatchObject({ code: 0, stderr: "" })
  const { hits } = JSON.parse(ran.stdout) as { hits: (Shown & { also?: Shown[] })[] }
  return hits.flatMap(({ role, also = [] }) => [role, ...also.map((one) => one.role)])
}

interface Shown {
  readonly role: string
}
