import { describe, expect, test } from "bun:test"
import { QWEN_HOOKS } from "../../../src/agents/qwen/qwen-hooks.ts"
import type { HookEvent } from "../../../src/record/hook-event.ts"
import { QwenChat } from "../../support/qwen-chat.ts"

const ID = "0a1b2c3d-0000-4000-8000-000000000001"
const PLACES = { home: "/h", claudeDir: "/c", named: () => undefined }
const document = (fields: object) => ({
  session_id: ID,
  transcript_path: `/h/.qwen/projects/-p/chats/${ID}.jsonl`,
  cwd: "/p",
  ...fields,
})
const decode = (name: HookEvent["name"], fields: object) => QWEN_HOOKS.decode(name, document(fields), PLACES)
const chat = (): QwenChat => new QwenChat({ folder: "/h/.qwen", session: ID, cwd: "/p" })
const bytes = (made: QwenChat): Buffer => Buffer.from(made.lines.join(""))

describe("what it tells", () => {
  test("a prompt, as it was submitted", () => {
    expect(
      decode("user-prompt-submit", { prompt: "Mend it, expanded", submitted_prompt: "Mend it" }),
    ).toMatchObject({
      agent: "qwen",
      session: ID,
      cwd: "/p",
      prompt: "Mend it",
      isHuman: true,
      isSubagents: false,
    })
  })

  test.each([
    ["user-prompt-submit", { prompt: "" }],
    ["session-start", { source: "compact" }],
    ["post-tool-use", { agent_id: "explore-call_1" }],
    ["pre-compact", { agent_id: "explore-call_1", trigger: "auto" }],
  ] as const)("%s with %o is none for us", (name, fields) => {
    expect(decode(name, fields)).toBeUndefined()
  })

  test("a start, a tool, a subagent's end", () => {
    expect(decode("session-start", { source: "startup" })).toMatchObject({ source: "startup" })
    expect(decode("post-tool-use", { tool_name: "read_file" })).toMatchObject({
      name: "post-tool-use",
      isHuman: false,
    })
    const agentTranscript = `/h/.qwen/projects/-p/subagents/${ID}/agent-x.jsonl`
    expect(
      decode("subagent-stop", {
        agent_id: "x",
        agent_type: "explore",
        agent_transcript_path: agentTranscript,
      }),
    ).toMatchObject({ agentType: "explore", agentTranscript })
    expect(QWEN_HOOKS.decode("stop", {}, PLACES)).toBeUndefined()
  })
})

test("what it takes", () => {
  const said = (name: HookEvent["name"], text: string): string =>
    QWEN_HOOKS.encode({ name } as HookEvent, { text, note: "" })
  for (const [name, hookEventName] of [
    ["session-start", "SessionStart"],
    ["user-prompt-submit", "UserPromptSubmit"],
    ["post-tool-use", "PostToolUse"],
  ] as const)
    expect(JSON.parse(said(name, "x"))).toEqual({
      hookSpecificOutput: { hookEventName, additionalContext: "x" },
    })
  expect([said("pre-compact", "x"), said("stop", "x"), said("post-tool-use", "")]).toEqual(["", "", ""])
})

test("where a session was compacted, its summary, and whether the model has spoken since", () => {
  const { compactionOffsets, other } = QWEN_HOOKS
  const made = chat().user(['Tell me of "chat_compression"'])
  const before = bytes(made).length
  made.compaction("<state_snapshot>One</state_snapshot>")
  expect(compactionOffsets(bytes(made))).toEqual([before])
  expect(other!.summaryIn(bytes(made))).toBe("<state_snapshot>One</state_snapshot>")
  expect(other!.hasAnswer(bytes(made))).toBe(false)
  expect(other!.hasAnswer(bytes(made.answer("x")))).toBe(true)
  expect(other!.summaryIn(bytes(chat().answer("x")))).toBe("")
})

test("whether it starts our server", () => {
  const starts = (text: string | undefined) =>
    QWEN_HOOKS.other!.startsServer(PLACES, (file) => (file === "/h/.qwen/settings.json" ? text : undefined))
  expect(starts('{"mcpServers":{"ctxbridge":{"command":"/bin/ctxbridge","args":["mcp"]}}}')).toBe(true)
  expect([starts(undefined), starts("{}"), starts("x")]).toEqual([false, false, false])
})
