import { describe, expect, test } from "bun:test"
import { GEMINI_HOOKS } from "../../../src/agents/gemini/gemini-hooks.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { GeminiChat } from "../../support/gemini-chat.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const PLACES = { home: "/h", claudeDir: "/c", named: () => undefined }
const CHATS = "/h/.gemini/tmp/kiln/chats"
const document = (fields: object) => ({
  session_id: ID,
  transcript_path: `${CHATS}/session-2026-08-09T10-11-0a1b2c3d.jsonl`,
  cwd: "/p",
  ...fields,
})
const decode = (name: HookEvent["name"], fields: object) =>
  GEMINI_HOOKS.decode(name, document(fields), PLACES)
const chat = (): GeminiChat => new GeminiChat({ home: "/h", session: ID, cwd: "/p" })
const bytes = (made: GeminiChat): Buffer => Buffer.from(made.lines.join(""))

describe("what it tells", () => {
  test("a prompt, without what hooks have said before it", () => {
    const told = "<hook_context>&lt;b&gt; `x`</hook_context>\n\n<hook_context>more</hook_context>\n\n"
    expect(decode("user-prompt-submit", { prompt: `${told}Mend it` })).toMatchObject({
      agent: "gemini",
      session: ID,
      prompt: "Mend it",
      isHuman: true,
    })
    const quoted = "What does <hook_context>x</hook_context> mean?"
    expect(decode("user-prompt-submit", { prompt: quoted })).toMatchObject({ prompt: quoted })
  })

  test("a start names the transcript, but not where a session is continued", () => {
    expect(decode("session-start", { source: "startup" })?.transcript).toEndWith("-0a1b2c3d.jsonl")
    expect(decode("session-start", { source: "resume" })).toMatchObject({
      source: "resume",
      transcript: undefined,
      folder: CHATS,
    })
  })

  test("a subagent's tools, and what names no session, are none for us", () => {
    expect(decode("post-tool-use", { transcript_path: `${CHATS}/${ID}/explore-1.jsonl` })).toBeUndefined()
    expect(GEMINI_HOOKS.decode("stop", {}, PLACES)).toBeUndefined()
  })
})

test("what it takes", () => {
  const said = (name: HookEvent["name"], text: string): string =>
    GEMINI_HOOKS.encode({ name } as HookEvent, { text, note: "" })
  for (const [name, hookEventName] of [
    ["session-start", "SessionStart"],
    ["user-prompt-submit", "BeforeAgent"],
    ["post-tool-use", "AfterTool"],
  ] as const)
    expect(JSON.parse(said(name, "`mcp__ctxbridge__get`"))).toEqual({
      hookSpecificOutput: { hookEventName, additionalContext: "`mcp_ctxbridge_get`" },
    })
  expect([said("stop", "x"), said("session-end", "x"), said("post-tool-use", "")]).toEqual(["", "", ""])
})

test("where a session was compacted, its summary, and whether the model has spoken since", () => {
  const { compactionOffsets, other } = GEMINI_HOOKS
  const made = chat().user(["Tell me of <state_snapshot>"])
  const before = bytes(made).length
  made.compaction("<state_snapshot>One</state_snapshot>")
  expect(compactionOffsets(bytes(made))).toEqual([before])
  expect(other!.summaryIn(bytes(made))).toBe("<state_snapshot>One</state_snapshot>")
  expect(other!.hasAnswer(bytes(made).subarray(before))).toBe(false)
  made.answer("It glows.")
  expect(other!.hasAnswer(bytes(made).subarray(before))).toBe(true)
})

test("lists that have an older summary are no compactions", () => {
  const made = chat().user(["Why?"])
  const list = (id: string, timestamp: string, lastUpdated: string): number => {
    const snapshot = {
      id,
      timestamp,
      type: "user",
      content: [{ text: "<state_snapshot>One</state_snapshot>" }],
    }
    const from = bytes(made).length
    made.line({ $set: { messages: [snapshot], lastUpdated } })
    return from
  }
  const first = list("a", "2026-08-09T10:11:12.100Z", "2026-08-09T10:11:12.101Z")
  // Where outputs are taken out at once, and where it is continued.
  list("a", "2026-08-09T10:11:12.100Z", "2026-08-09T10:11:12.400Z")
  list("a", "2026-08-09T10:11:12.100Z", "2026-08-09T11:00:00.000Z")
  const second = list("b", "2026-08-09T11:30:00.000Z", "2026-08-09T11:30:00.000Z")
  expect(GEMINI_HOOKS.compactionOffsets(bytes(made))).toEqual([first, second])
  expect(GEMINI_HOOKS.compactionOffsets(bytes(made).subarray(first, second))).toEqual([0])
})

test("whether it starts our server", () => {
  const starts = (text: string | undefined): boolean => GEMINI_HOOKS.other!.startsServer(PLACES, () => text)
  expect(starts('{"mcpServers":{"ctxbridge":{"command":"/usr/bin/ctxbridge","args":["mcp"]}}}')).toBe(true)
  expect([starts("{}"), starts(undefined), starts("nonsense")]).toEqual([false, false, false])
})
