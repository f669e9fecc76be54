/** What a hook takes from the host's document. */
import { describe, expect, test } from "bun:test"
import { decodeEvent, isHumanPrompt, isSubagents } from "../../../src/claude/hooks.ts"
import { eventNamed, type HookEvent } from "../../../src/record/hook-event.ts"

const event = (fields: object, name: HookEvent["name"] = "user-prompt-submit"): HookEvent =>
  decodeEvent(name, { session_id: "s-1", ...fields })!

describe("a prompt", () => {
  test.each([
    "<div> is not closed, why?",
    "fix it\n<system-reminder>no</system-reminder>",
    "< 3 tests fail",
    "",
  ])("is a human's: %s", (prompt) => expect(isHumanPrompt(event({ prompt }))).toBe(true))

  test.each([
    "<task-notification>done</task-notification>",
    "\n <teammate-message from='x'>hi</teammate-message>",
    "<mcp-resource-update>",
  ])("is the host's: %s", (prompt) => expect(isHumanPrompt(event({ prompt }))).toBe(false))

  test("is the host's where the host says so", () => {
    expect(isHumanPrompt(event({ prompt: "go on", source: "system" }))).toBe(false)
    expect(isHumanPrompt(event({ prompt: "go on", source: "sdk" }))).toBe(true)
  })
})

test("a compaction is a subagent's where one is named; other events are the session's", () => {
  const agent = { agent_id: "a-1" }
  expect(isSubagents(event(agent, "pre-compact"))).toBe(true)
  expect(isSubagents(event(agent, "session-start"))).toBe(true)
  expect(isSubagents(event(agent, "subagent-stop"))).toBe(false)
  expect(isSubagents(event({}, "pre-compact"))).toBe(false)
})

test("an event is known by its name in any spelling, and by no other", () => {
  for (const name of ["PreCompact", "pre-compact", "precompact", "pre_compact", "PRE COMPACT"])
    expect(eventNamed(name)).toBe("pre-compact")
  expect(eventNamed("SubagentStop")).toBe("subagent-stop")
  expect(eventNamed("Stop")).toBe("stop")
  for (const name of ["", "PostCompact", "__proto__", "stops", "stop stop"])
    expect(eventNamed(name)).toBeUndefined()
})
