/** What the host's summary says is not given back again. */
import { describe, expect, test } from "bun:test"
import { Inside } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/**
 * The restore said again what the summary says where the host had written both compaction and summary down before it
 * called the hook of the new start, and where the announcement had been lost.
 */
describe("a summary that is there already", () => {
  const RULE = "Never touch the generated files."
  const FILE = "/src/app/client.ts"
  const SUMMARY = `The user wants this: ${RULE}`

  const begun = (machine: Machine): Transcript =>
    machine
      .session()
      .turn(`Add retries to the client. ${RULE}`, [
        { tool: "Edit", input: { file_path: FILE }, output: "ok" },
      ])
      .flush()

  async function givenAtStart(machine: Machine, session: Transcript): Promise<string> {
    return contextOf(await machine.hook("session-start", session, { source: "compact" })) ?? ""
  }

  test("what the summary says is left out, whether or not the compaction was announced", async () => {
    for (const isAnnounced of [true, false]) {
      using machine = new Inside()
      const session = begun(machine)
      if (isAnnounced) await machine.hook("pre-compact", session, { trigger: "auto" })
      session.boundary().summary(SUMMARY).flush()
      const given = await givenAtStart(machine, session)
      expect(given).toContain(FILE)
      expect(given).not.toContain("Standing user constraints")
    }
  })

  test("the summary of an earlier compaction says nothing of this one", async () => {
    using machine = new Inside()
    const session = begun(machine).boundary().summary(SUMMARY).turn("go on").flush()
    const given = await givenAtStart(machine, session)
    expect(given).toContain(FILE)
    expect(given).toContain("Standing user constraints")
  })

  test("a summary is known by its form where the announcement was lost", async () => {
    using machine = new Inside()
    const session = begun(machine)
    const message = `<analysis>Retries.</analysis><summary>${SUMMARY}</summary>`
    await machine.hook("subagent-stop", session, { agent_type: "", last_assistant_message: message })
    const given = await givenAtStart(machine, session)
    expect(given).toContain(FILE)
    expect(given).not.toContain("Standing user constraints")
  })
})
