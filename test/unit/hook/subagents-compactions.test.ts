/** A subagent's compaction is not the session's. */
import { expect, test } from "bun:test"
import { Inside } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

const SILENT = { code: 0, stdout: "", stderr: "" }
const AGENT = { agent_id: "a4896785b52fcd81b", agent_type: "general-purpose" }
const RULE = "Write the parser; never touch the grammar file"

/** The host's lines carry the time at which they are written; by this one it tells that a turn is over. */
const now = (): { timestamp: string } => ({ timestamp: new Date().toISOString() })
const answer = (transcript: Transcript, text: string): Transcript =>
  transcript
    .block({ type: "text", text }, now())
    .line({ type: "system", subtype: "stop_hook_summary", ...now() })
    .flush()

/** A turn is under way in which an agent looks around. */
async function begun(machine: Machine, version: string): Promise<Transcript> {
  const session = machine.session({ version })
  await machine.hook("session-start", session, { source: "startup" })
  await machine.hook("user-prompt-submit", session, { prompt: RULE })
  session.user(RULE).message().say("An agent looks around.").flush()
  return session
}

/**
 * A subagent's compaction was taken for the session's: the subagent was given what the session had lost, with the user's
 * open prompt, and the session, which compacted at the same time, was given nothing.
 */
test("a host that tells whose it is: the agent is given nothing, the session all of it", async () => {
  using machine = new Inside()
  const session = await begun(machine, "2.1.330")
  const before = { trigger: "auto" }
  const after = { source: "compact" }
  expect((await machine.hook("pre-compact", session, before)).stdout).toStartWith("ctxbridge:")
  expect(await machine.hook("pre-compact", session, { ...before, ...AGENT })).toMatchObject(SILENT)
  expect(await machine.hook("session-start", session, { ...after, ...AGENT })).toMatchObject(SILENT)
  const given = contextOf(await machine.hook("session-start", session, after))
  expect(given).toStartWith('<ctxbridge-restore source="compact"')
  expect(given).toContain(RULE)
})

test("a host that tells whose it is: an agent's alone changes nothing for the session", async () => {
  using machine = new Inside()
  const session = await begun(machine, "2.1.330")
  await machine.hook("pre-compact", session, { trigger: "auto", ...AGENT })
  await machine.hook("session-start", session, { source: "compact", ...AGENT })
  answer(session, "It has looked around.")
  expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  for (const prompt of ["Go on", "And on"]) {
    expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject(SILENT)
    answer(session.user(prompt, now()).message(), "Gone on.")
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  }
  expect((await machine.hook("pre-compact", session, { trigger: "manual" })).stdout).toContain("ctxbridge:")
})

test("a host that does not tell: the session is not given it later, as if it had been lost", async () => {
  using machine = new Inside()
  const session = await begun(machine, "2.1.112")
  await machine.hook("pre-compact", session, { trigger: "auto" })
  expect(contextOf(await machine.hook("session-start", session, { source: "compact" }))).toContain(RULE)
  answer(session, "It has looked around.")
  await machine.hook("stop", session)
  for (const prompt of ["Go on", "And on", "And further"]) {
    expect(await machine.hook("user-prompt-submit", session, { prompt })).toMatchObject(SILENT)
    answer(session.user(prompt, now()).message(), "Gone on.")
    expect(await machine.hook("stop", session)).toMatchObject(SILENT)
  }
})

test("a host that does not tell, and forgets: nor when the session is resumed", async () => {
  using machine = new Inside()
  const session = await begun(machine, "2.0.76")
  await machine.hook("pre-compact", session, { trigger: "auto" })
  expect(contextOf(await machine.hook("session-start", session, { source: "compact" }))).toContain(RULE)
  session.say("It has looked around.").flush()
  await machine.hook("stop", session)
  await machine.hook("session-end", session, { reason: "other" })
  expect(await machine.hook("session-start", session, { source: "resume" })).toMatchObject(SILENT)
  session.boundary("auto").summary("A parser is written.").flush()
  await machine.hook("stop", session)
  const given = contextOf(await machine.hook("session-start", session, { source: "resume" }))
  expect(given).toContain(RULE)
})
