/** What the user ruled out before `/clear` stays so: after compactions, after more clears, and after a rebuild. */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

const RULE = "Never touch the generated files."
const COMMAND = "<command-name>/clear</command-name>\n<command-args></command-args>"

async function clear(machine: Machine, former: Transcript): Promise<{ next: Transcript; given: string }> {
  await machine.hook("session-end", former, { reason: "clear" })
  const next = machine.session()
  const given = contextOf(await machine.hook("session-start", next, { source: "clear" })) ?? ""
  next.user(COMMAND).flush()
  return { next, given }
}

async function work(machine: Machine, session: Transcript, prompt: string): Promise<void> {
  session
    .turn(prompt, [
      { tool: "Edit", input: { file_path: "/src/door.ts", new_string: "open()" }, output: "ok" },
    ])
    .flush()
  await machine.hook("stop", session)
}

const compact = async (machine: Machine, session: Transcript): Promise<string> =>
  contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""

test("a constraint survives a compaction in the cleared session, and a second clear", async () => {
  using machine = new Machine()
  const first = machine.session()
  await work(machine, first, `Add a door. ${RULE}`)
  const once = await clear(machine, first)
  expect(once.given).toContain(RULE)
  await work(machine, once.next, "Paint the door.")
  const compacted = await compact(machine, once.next)
  expect(compacted).toContain("Paint the door.")
  expect(compacted).toContain(`## Standing constraints of the user\n- "${RULE}"`)
  // Only the constraint: the cleared conversation itself is over.
  expect(compacted).not.toContain("Add a door.")

  await work(machine, once.next, "Add a bell.")
  const twice = await clear(machine, once.next)
  expect(twice.given).toContain(RULE)
  await work(machine, twice.next, "Always oil the hinge.")
  const last = await compact(machine, twice.next)
  const at = [last.indexOf("Always oil the hinge."), last.indexOf(RULE)]
  expect(Math.min(...at)).toBeGreaterThan(0)
  expect(at).toEqual(at.toSorted((a, b) => a - b))

  twice.next.boundary().summary("A hinge.").flush()
  await machine.hook("stop", twice.next)
  await machine.idle()
  expect(await run(["rebuild"], { env: machine.env })).toMatchObject({ code: 0, stderr: "" })
  expect(await compact(machine, twice.next)).toContain(RULE)
})
