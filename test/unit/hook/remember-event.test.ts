/** What each event leaves for later ones. */
import { describe, expect, test } from "bun:test"
import { decodeEvent } from "../../../src/claude/hooks.ts"
import type { Settings } from "../../../src/config/load.ts"
import { callFor } from "../../../src/hook/call.ts"
import { remember } from "../../../src/hook/remember.ts"
import type { SessionState } from "../../../src/hook/state.ts"
import type { EventName, HookEvent } from "../../../src/record/hook-event.ts"
import { FILTERED } from "../../../src/secrets/filter.ts"
import type { Taken } from "../../../src/views/capture-transcript.ts"

const NOW = 1_000_000

const event = (name: EventName, fields: Record<string, unknown> = {}): HookEvent =>
  decodeEvent(name, { session_id: "s", ...fields })!

const SETTINGS = { paths: { secrets: FILTERED } } as Settings

function after(state: SessionState, one: HookEvent, size = 500): SessionState {
  const taken = [{ captured: { size } } as Taken]
  return remember({ ...callFor(one, SETTINGS, NOW, 0), taken, before: state, state })?.state ?? state
}

describe("a prompt", () => {
  test("stays open until the turn ends or the session is cleared", () => {
    const open = after({}, event("user-prompt-submit", { prompt: "go on" }))
    expect(open).toEqual({ prompt: "go on", promptAt: 500, promptOpen: true })
    expect(after(open, event("stop")).promptOpen).toBe(false)
    expect(after(open, event("session-end", { reason: "clear" })).promptOpen).toBe(false)
    expect(after(open, event("session-end", { reason: "other" }))).toBe(open)
  })

  test("of another program, or none, changes nothing", () => {
    const state = { prompt: "mine", promptAt: 0, promptOpen: true }
    expect(after(state, event("user-prompt-submit"))).toBe(state)
    expect(after(state, event("user-prompt-submit", { prompt: "report", source: "system" }))).toBe(state)
    expect(after({}, event("stop"))).toEqual({})
  })

  test("is kept without what is private, and only its beginning", () => {
    const long = `keep <private>hidden</private> ${"x".repeat(30_000)}`
    const { prompt = "" } = after({}, event("user-prompt-submit", { prompt: long }))
    expect(prompt).toHaveLength(20_000)
    expect(prompt).not.toContain("hidden")
    expect(prompt).toStartWith("keep ")
  })
})

describe("a compaction", () => {
  test("is dated after the last answer, also when the clock was set back", () => {
    const state = after(
      { restoreTime: NOW + 50, summary: "old", compactTime: NOW, compactAt: 7, unannounced: true },
      event("pre-compact"),
    )
    expect(state).toEqual({ restoreTime: NOW + 50, compactTime: NOW + 51, compactAt: 500 })
  })

  test("keeps the place of one that is still unanswered, and the user's words", () => {
    const open = { compactTime: NOW - 1, compactAt: 300 }
    const words = event("pre-compact", { custom_instructions: " the tests " })
    expect(after(open, words)).toEqual({ compactTime: NOW, compactAt: 300, focus: "the tests" })
  })

  test("gives a summary only with an agent that has no type, soon after, or in the summary's form", () => {
    const said = (last_assistant_message: string, agent_type?: string): HookEvent =>
      event("subagent-stop", { last_assistant_message, agent_type })
    const compacting = { compactTime: NOW - 1000, compactAt: 0 }
    expect(after(compacting, said("all of it", "")).summary).toBe("all of it")
    expect(after(compacting, said("all of it", "Explore"))).toBe(compacting)
    expect(after(compacting, said("all of it"))).toBe(compacting)
    const long = { compactTime: NOW - 11 * 60_000, compactAt: 0 }
    expect(after(long, said("all of it", ""))).toBe(long)
    expect(after(long, said("<summary>all</summary>", "")).summary).toBe("<summary>all</summary>")
  })
})

test("a resumed or forked session remembers how long its transcript was", () => {
  for (const source of ["resume", "fork"])
    expect(after({}, event("session-start", { source }))).toEqual({ resumedAt: 500 })
  const state = {}
  expect(after(state, event("session-start", { source: "startup" }))).toBe(state)
})
