/**
 * After a compaction, a model of the fourth generation with a window of a million tokens was taken for one with the
 * usual window again: at 175,000 tokens it was told that its window was nearly full. And once a session had been
 * compacted by itself, what others had seen no longer counted.
 */
import { expect, test } from "bun:test"
import { run } from "../support/binary.ts"
import { contextOf, Machine } from "../support/machine.ts"
import type { Transcript } from "../support/transcript.ts"

function answer(session: Transcript, tokens: number, model = "claude-sonnet-4-6"): Transcript {
  const usage = { input_tokens: 20, cache_read_input_tokens: tokens - 60, output_tokens: 40 }
  const content = [{ type: "text", text: `answered at ${tokens}` }]
  return session.line({
    type: "assistant",
    message: { id: `msg_${tokens}`, role: "assistant", model, content, usage },
  })
}

/** What a session's next prompt brings; of that compaction, hooks were told. */
async function prompt(machine: Machine, session: Transcript): Promise<string> {
  const told = await machine.hook("user-prompt-submit", session.flush(), { prompt: "Go on" })
  expect(told).toMatchObject({ code: 0, stderr: "" })
  session.user("Go on")
  return contextOf(told) ?? ""
}

async function compact(
  machine: Machine,
  session: Transcript,
  trigger: string,
  tokens: number,
): Promise<void> {
  await machine.hook("pre-compact", session.flush(), { trigger })
  session.boundary(trigger, tokens).summary("So far.").flush()
  await machine.hook("session-start", session, { source: "compact" })
}

async function status(machine: Machine): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await run(["status", "--json"], { cwd: machine.cwd, env: machine.env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return JSON.parse(stdout).context
}

test.each([
  ["seen at a prompt", 300_000, 301_000],
  ["told by the compaction alone", 100_000, 960_000],
])("a window that held more stays as large: %s", async (_name, read, before) => {
  using machine = new Machine()
  const session = machine.session()
  await prompt(machine, session)
  answer(session, read)
  await prompt(machine, session)
  await compact(machine, answer(session, before - 500), "manual", before)
  expect(await status(machine)).toMatchObject({ window: 1_000_000, estimated: true })
  answer(session, 175_000)
  expect(await prompt(machine, session)).toBe("")
  expect(await status(machine)).toMatchObject({ window: 1_000_000, zone: "ok" })
  // Another model may have another window.
  answer(session, 175_100, "claude-haiku-4-5")
  expect(await prompt(machine, session)).toContain("~175.1K of 167.0K tokens")
  expect(await status(machine)).toMatchObject({ window: 200_000, zone: "critical" })
})

test("the lowest of the last three points counts, whoever has seen them", async () => {
  using machine = new Machine()
  for (const [before, after] of [
    [90_300, 20_000],
    [150_000, 85_000],
  ] as const) {
    const session = machine.session()
    await prompt(machine, session)
    await compact(machine, answer(session, before - 500), "auto", before)
    await machine.hook("stop", answer(session, after).flush())
    const told = await prompt(machine, session)
    if (after > 80_000) expect(told).toContain("~85.0K of 90.3K tokens")
    else expect(told).toBe("")
    // Later than all else: status tells of the latest session.
    session.line({
      type: "system",
      subtype: "informational",
      content: "…",
      timestamp: `2026-03-0${after > 80_000 ? 5 : 4}T08:00:00.000Z`,
    })
    await machine.hook("stop", session.flush())
    expect(await status(machine)).toMatchObject({
      session: session.session,
      compactsAt: 90_300,
      learnt: true,
    })
  }
})
