/** Codex' hooks: what it tells them, what it is answered, and what they look for in a rollout. */
import { describe, expect, test } from "bun:test"
import { CODEX_HOOKS } from "../../../src/agents/codex/codex-hooks.ts"
import type { EventName, HookEvent } from "../../../src/record/hook-event.ts"
import { CodexRollout, fullRollout } from "../../support/codex-rollout.ts"

const { encode, compactionOffsets, other } = CODEX_HOOKS
const places = { home: "/home/dev", claudeDir: "/home/dev/.claude", named: () => undefined }
const decode = (name: EventName, document: unknown) => CODEX_HOOKS.decode(name, document, places)
const ID = "0a1b2c3d-0000-7000-8000-000000000001"
const PATH = `/home/dev/.codex/sessions/2026/05/04/rollout-2026-05-04T10-00-00-${ID}.jsonl`
const told = (fields: object = {}) => ({
  session_id: ID,
  transcript_path: PATH,
  cwd: "/home/dev/kiln",
  model: "gpt-5.4",
  permission_mode: "default",
  ...fields,
})

describe("what Codex tells", () => {
  test("a prompt is a human's, and the event says whose it is", () => {
    const event = decode("user-prompt-submit", told({ prompt: "Light it", turn_id: "t" }))
    expect(event).toMatchObject({ agent: "codex", session: ID, transcript: PATH, prompt: "Light it" })
    expect(event).toMatchObject({ isHuman: true, isSubagents: false })
  })

  test("a rollout may not be there yet, or not at all", () => {
    const event = decode("session-start", told({ transcript_path: null, source: "startup" }))
    expect(event).toMatchObject({ session: ID, transcript: undefined, folder: undefined, source: "startup" })
  })

  test("what a subagent is told comes in the session's name, and is no human's", () => {
    for (const name of ["user-prompt-submit", "pre-compact", "session-start"] satisfies EventName[]) {
      const event = decode(name, told({ agent_id: "0a1b2c3d-0000-7000-8000-000000000002", prompt: "Look" }))
      expect(event).toMatchObject({ isHuman: false, isSubagents: true })
    }
    const agent_transcript_path = PATH.replace(ID, "0a1b2c3d-0000-7000-8000-000000000002")
    const stopped = decode("subagent-stop", told({ agent_id: "x", agent_transcript_path }))
    expect(stopped).toMatchObject({ isSubagents: false, agentTranscript: agent_transcript_path })
  })

  test.each([[null], [1], ["x"], [[]], [{}], [{ session_id: 7 }]])("%p is about no session", (document) => {
    expect(decode("stop", document)).toBeUndefined()
  })
})

describe("what Codex is answered", () => {
  const at = (name: EventName) => decode(name, told()) as HookEvent

  test("context at a start and at a prompt, in fields that it knows", () => {
    for (const [name, hookEventName] of [
      ["session-start", "SessionStart"],
      ["user-prompt-submit", "UserPromptSubmit"],
    ] as const) {
      expect(JSON.parse(encode(at(name), { text: "again", note: "told" }))).toEqual({
        systemMessage: "told",
        hookSpecificOutput: { hookEventName, additionalContext: "again" },
      })
      expect(encode(at(name), { text: "", note: "" })).toBe("")
    }
  })

  test("nothing before a compaction or at an end, where it takes no text", () => {
    for (const name of ["pre-compact", "stop", "subagent-stop", "session-end"] satisfies EventName[])
      expect(encode(at(name), { text: "again", note: "told" })).toBe("")
  })
})

describe("what hooks look for in a rollout", () => {
  const rollout = (mode: "legacy" | "paginated") =>
    fullRollout({ mode, folder: "/home/dev/.codex", id: ID, cwd: "/home/dev/kiln" })

  test.each(["legacy", "paginated"] as const)("compactions, where they begin: %s", (mode) => {
    const { lines, text } = rollout(mode)
    const n = lines.findIndex((line) => line.includes('"type":"compacted"'))
    expect(compactionOffsets(Buffer.from(text))).toEqual([Buffer.byteLength(lines.slice(0, n).join(""))])
  })

  test("words about one are none", () => {
    const said = new CodexRollout({ mode: "paginated", folder: "/x", id: ID, cwd: "/x" })
    said.turn('What does {"type":"compacted"} mean?').answer('"compacted" marks a compaction.')
    expect(compactionOffsets(Buffer.from(said.text))).toEqual([])
  })

  test("what it has left: the summary, and the user's messages", () => {
    const kept = [
      { type: "message", role: "user", content: [{ type: "input_text", text: "Never touch it." }] },
    ]
    const line = { type: "compacted", payload: { message: "Handover.", replacement_history: kept } }
    expect(other?.summaryIn(Buffer.from(`${JSON.stringify(line)}\n`))).toBe("Handover.\nNever touch it.")
    const silent = {
      type: "compacted",
      payload: { message: "", replacement_history: [{ type: "compaction" }] },
    }
    expect(other?.summaryIn(Buffer.from(`${JSON.stringify(silent)}\n`))).toBe("")
    expect(other?.summaryIn(Buffer.from("not JSON\n"))).toBe("")
  })

  test("whether the model has spoken since; a summary is no answer", () => {
    const since = new CodexRollout({ mode: "paginated", folder: "/x", id: ID, cwd: "/x" })
    since.compacted("Handover.").turn("Go on")
    expect(other?.hasAnswer(Buffer.from(since.text))).toBe(false)
    expect(other?.hasAnswer(Buffer.from(since.run("ls", "a").text))).toBe(true)
  })

  test("whether Codex starts our server", () => {
    const places = { home: "/home/dev", claudeDir: "/home/dev/.claude", named: () => undefined }
    const starts = (text: string | undefined) =>
      other?.startsServer(places, (file) => (file === "/home/dev/.codex/config.toml" ? text : undefined))
    expect(starts('[mcp_servers.ctxbridge]\ncommand = "/usr/bin/ctxbridge"\n')).toBe(true)
    expect(starts("# [mcp_servers.ctxbridge]\n[mcp_servers.other]\n")).toBe(false)
    expect(starts(undefined)).toBe(false)
  })
})
