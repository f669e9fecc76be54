/** Copilot CLI's hooks: what it tells them, what it is answered, and what they look for in a session's events. */
import { describe, expect, test } from "bun:test"
import { COPILOT_HOOKS } from "../../../src/agents/copilot/copilot-hooks.ts"
import type { EventName, HookEvent } from "../../../src/record/hook-event.ts"
import { CopilotEvents } from "../../support/copilot-events.ts"

const { encode, compactionOffsets, other } = COPILOT_HOOKS
const ID = "0a1b2c3d-0000-4000-8000-00000000000a"
const PATH = `/home/dev/.copilot/session-state/${ID}/events.jsonl`
const places = (named?: string) => ({ home: "/home/dev", claudeDir: "/home/dev/.claude", named: () => named })
const told = (fields: object = {}) => ({ sessionId: ID, timestamp: 1, cwd: "/home/dev/kiln", ...fields })
const decode = (name: EventName, document: unknown, named?: string) =>
  COPILOT_HOOKS.decode(name, document, places(named))

describe("what Copilot tells", () => {
  test("a prompt is a human's; its session's transcript is where all are", () => {
    const event = decode("user-prompt-submit", told({ prompt: "Light it" }))
    expect(event).toMatchObject({ agent: "copilot", session: ID, transcript: PATH, cwd: "/home/dev/kiln" })
    expect(event).toMatchObject({ prompt: "Light it", isHuman: true, isSubagents: false })
    expect(decode("stop", told(), "/x")?.transcript).toBe(`/x/session-state/${ID}/events.jsonl`)
    expect(decode("pre-compact", told({ transcriptPath: "/y/events.jsonl" }))?.transcript).toBe(
      "/y/events.jsonl",
    )
  })

  test("a new session starts up, another is resumed", () => {
    expect(decode("session-start", told({ source: "new" }))?.source).toBe("startup")
    expect(decode("session-start", told({ source: "resume" }))?.source).toBe("resume")
    expect(decode("stop", told({ source: "new" }))?.source).toBeUndefined()
  })

  test("what the user wants kept of a compaction", () => {
    const event = decode("pre-compact", told({ trigger: "manual", customInstructions: "the valve" }))
    expect(event).toMatchObject({ trigger: "manual", focus: "the valve" })
  })

  test("an id that is no name leads to no file", () => {
    const event = decode("stop", told({ sessionId: "../../etc" }))
    expect(event).toMatchObject({ isStrange: true, transcript: undefined })
  })

  test.each([[null], [1], ["x"], [[]], [{}], [{ sessionId: 7 }], [{ session_id: ID }]])(
    "%p is about no session",
    (document) => {
      expect(decode("stop", document)).toBeUndefined()
    },
  )
})

describe("what Copilot is answered", () => {
  const at = (name: EventName) => decode(name, told()) as HookEvent
  const said = (name: EventName, text: string) => encode(at(name), { text, note: "1 turn" })

  test("context at a start, a prompt and a tool, and nothing elsewhere", () => {
    for (const name of ["session-start", "user-prompt-submit", "post-tool-use"] as const) {
      expect(JSON.parse(said(name, "kept"))).toEqual({ additionalContext: "kept" })
      expect(said(name, "")).toBe("")
    }
    for (const name of ["pre-compact", "stop", "session-end", "subagent-stop"] as const)
      expect(said(name, "kept")).toBe("")
  })

  test("our tools have the names that they have there, and nothing else that is quoted", () => {
    const text = 'the tool `mcp__ctxbridge__get` opens; "mcp__ctxbridge__get"'
    expect(JSON.parse(said("post-tool-use", text)).additionalContext).toBe(
      'the tool `ctxbridge-get` opens; "mcp__ctxbridge__get"',
    )
  })
})

describe("what is looked for in the events", () => {
  const events = () => new CopilotEvents({ folder: "/x", id: ID, cwd: "/p" })
  const offsets = (made: CopilotEvents): number[] => compactionOffsets(Buffer.from(made.text))

  test("compactions that were applied, and not their names elsewhere", () => {
    const made = events()
      .prompt('What is "session.compaction_complete"?')
      .run("ls", '"session.compaction_complete"')
    expect(offsets(made)).toEqual([])
    const before = made.text.length
    made.event("session.compaction_complete", { success: false })
    made.event("session.compaction_complete", { success: true, outcome: "cancelled" })
    made.event("session.compaction_complete", { success: true }, { agentId: "a" })
    expect(offsets(made)).toEqual([])
    const at = made.text.length
    made.compacted("x")
    const start = made.text.indexOf('{"type":"session.compaction_complete"', at)
    expect(offsets(made)).toEqual([start])
    expect(before).toBeLessThan(start)
  })

  test("the last summary, and whether the model has spoken since", () => {
    const made = events().compacted("first").answer("So.").compacted("second")
    expect(other!.summaryIn(Buffer.from(made.text))).toBe("second")
    expect(other!.hasAnswer(Buffer.from(made.text))).toBe(true)
    const subagents = events().compacted("x").answer("So.", {}, { agentId: "a" })
    expect(other!.hasAnswer(Buffer.from(subagents.text))).toBe(false)
  })

  test("whether it starts our server", () => {
    const starts = (text: string | undefined) =>
      other!.startsServer(places("/x"), (file) => (file === "/x/mcp-config.json" ? text : undefined))
    const ours = { command: "/opt/ctxbridge", args: ["mcp"] }
    expect(starts(JSON.stringify({ mcpServers: { ctxbridge: ours } }))).toBe(true)
    expect(starts(JSON.stringify({ mcpServers: { ctxbridge: { command: "/opt/other" } } }))).toBe(false)
    for (const none of [undefined, "", "{ broken"]) expect(starts(none)).toBe(false)
  })
})
