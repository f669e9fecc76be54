/**
 * A `/compact` early in a session made all other sessions forget where the host compacts by itself, and a session's first
 * automatic compaction made them forget those before.
 */
import { expect, setDefaultTimeout, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

setDefaultTimeout(60_000)

function answer(transcript: Transcript, tokens: number): Transcript {
  const usage = { input_tokens: 20, cache_read_input_tokens: tokens - 60, output_tokens: 40 }
  const content = [{ type: "text", text: `answered at ${tokens}` }]
  const message = { id: `msg_${tokens}`, role: "assistant", model: "claude-sonnet-4-6", content, usage }
  return transcript.line({ type: "assistant", message })
}

/** A session whose first prompt came before its first answer, and in whose first turn the host compacted. */
async function compacted(machine: Machine, trigger: string, preTokens: number): Promise<void> {
  const session = machine.session()
  await machine.hook("user-prompt-submit", session, { prompt: "begin" })
  answer(session.user("begin"), preTokens - 500).flush()
  await machine.hook("pre-compact", session, { trigger })
  session.boundary(trigger, preTokens).summary("so far").flush()
  await machine.hook("session-start", session, { source: "compact" })
  expect(await machine.hook("stop", session)).toMatchObject({ code: 0, stderr: "" })
  answer(session, 20_000).flush()
  expect(await machine.hook("user-prompt-submit", session, { prompt: "on" })).toMatchObject({ stdout: "" })
}

test("a compaction by the user forgets nothing, and an automatic one adds to what others saw", async () => {
  using machine = new Machine()
  await compacted(machine, "auto", 90_300)
  await compacted(machine, "manual", 12_000)
  await compacted(machine, "auto", 90_900)
  const session = machine.session()
  answer(session.user("begin"), 80_000).flush()
  const told = await machine.hook("user-prompt-submit", session, { prompt: "go on" })
  expect(contextOf(told)).toContain("~80.0K of 90.3K tokens")
  const status = await run(["status", "--json"], { cwd: machine.cwd, env: machine.env })
  expect({ code: status.code, stderr: status.stderr }).toEqual({ code: 0, stderr: "" })
  expect(JSON.parse(status.stdout).context).toMatchObject({ compactsAt: 90_300, learnt: true })
})
