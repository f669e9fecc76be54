/** Where the host compacts is learnt from what sessions have seen. */
import { describe, expect, test } from "bun:test"
import { Inside, run } from "../../support/inside.ts"
import { contextOf, type Machine } from "../../support/machine.ts"
import type { Transcript } from "../../support/transcript.ts"

/**
 * A `/compact` early in a session made all other sessions forget where the host compacts by itself, and a session's first
 * automatic compaction made them forget those before.
 */
describe("points that were learnt", () => {
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
    using machine = new Inside()
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
})

const SMALL = "claude-sonnet-4-6"
const LARGE = "claude-opus-5-5"

function answer(transcript: Transcript, model: string, tokens: number): Transcript {
  const usage = { input_tokens: 20, cache_read_input_tokens: tokens - 60, output_tokens: 40 }
  const content = [{ type: "text", text: `answered at ${tokens}` }]
  return transcript.line({
    type: "assistant",
    message: { id: `msg_${tokens}`, role: "assistant", model, content, usage },
  })
}

/**
 * Where the host compacts was learnt for one model and went on counting after `/model` chose another in the same session:
 * one with five times the window was told that it was nearly full.
 */
test("points that were learnt count for their model alone", async () => {
  using machine = new Inside()
  // No hook is told of the compactions here: only advice is to come at a prompt.
  machine.env["CTXBRIDGE_RESTORE"] = "false"
  const prompt = async (session: Transcript, text: string): Promise<string | undefined> => {
    const told = await machine.hook("user-prompt-submit", session.flush(), { prompt: text })
    expect(told).toMatchObject({ code: 0, stderr: "" })
    session.user(text)
    return told.stdout === "" ? undefined : contextOf(told)
  }
  const first = machine.session()
  await prompt(first, "begin")
  answer(first, SMALL, 90_000).boundary("auto", 90_300).summary("so far")
  answer(first, SMALL, 20_000)
  expect(await prompt(first, "go on")).toBeUndefined()

  const session = machine.session()
  await prompt(session, "begin")
  answer(session, SMALL, 20_000)
  expect(await prompt(session, "choose another model")).toBeUndefined()
  answer(session, LARGE, 80_000)
  expect(await prompt(session, "go on")).toBeUndefined()
  answer(session, SMALL, 80_100)
  expect(await prompt(session, "and back")).toContain("~80.1K of 90.3K tokens")
  answer(session, SMALL, 90_000).boundary("auto", 90_900).summary("so far")
  answer(session, LARGE, 85_000)
  expect(await prompt(session, "go on once more")).toBeUndefined()
  expect(await machine.hook("stop", session.flush())).toMatchObject({ code: 0, stdout: "", stderr: "" })
  const status = await run(["status", "--json"], { cwd: machine.cwd, env: machine.env })
  expect({ code: status.code, stderr: status.stderr }).toEqual({ code: 0, stderr: "" })
  const { context } = JSON.parse(status.stdout)
  expect(context).toMatchObject({ session: session.session, window: 1_000_000, learnt: false, zone: "ok" })
})

/**
 * After a compaction, a model of the fourth generation with a window of a million tokens was taken for one with the
 * usual window again: at 175,000 tokens it was told that its window was nearly full. And once a session had been
 * compacted by itself, what others had seen no longer counted.
 */
describe("windows that held more", () => {
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
    using machine = new Inside()
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
    using machine = new Inside()
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
})
