import { expect, test } from "bun:test"
import { placeBeside, transcriptName } from "../../../src/agents/layouts.ts"
import { isPlainId, sessionIdOf } from "../../../src/base/session-id.ts"
import { claudeCode } from "../../../src/claude/claude-code.ts"
import { decodeEvent, HOOKS } from "../../../src/claude/hooks.ts"
import { userSettings } from "../../../src/claude/places.ts"
import { EVENTS, eventNamed } from "../../../src/record/hook-event.ts"

const SESSION = "11111111-0000-4000-8000-000000000001"
const PROJECT = "/home/ada/.claude/projects/-home-ada-app"

test("every event of ours is one of the agent's, and its own name for it means the same", () => {
  const events = HOOKS
  expect(Object.values(events)).toEqual([...EVENTS])
  expect(Object.keys(events).map(eventNamed)).toEqual(Object.values(events))
})

test("what it tells a hook becomes our event; a document without a session is none", () => {
  const told = {
    session_id: SESSION,
    transcript_path: `${PROJECT}/../${SESSION}.jsonl`,
    source: "compact",
    cwd: 7,
  }
  expect(decodeEvent("session-start", told)).toMatchObject({
    name: "session-start",
    session: SESSION,
    transcript: `/home/ada/.claude/projects/${SESSION}.jsonl`,
    source: "compact",
    cwd: undefined,
  })
  expect(decodeEvent("stop", { transcript_path: `${PROJECT}/a.jsonl` })).toBeUndefined()
})

test("its layout names sessions, subagents beside and below them, and what a workflow keeps", () => {
  const nameOf = (below: string) => transcriptName(`${PROJECT}/${below}`)
  expect(nameOf(`${SESSION}.jsonl`)).toEqual({ session: SESSION, agent: undefined })
  expect(nameOf("agent-a1.jsonl")).toEqual({ session: undefined, agent: "a1" })
  expect(nameOf(`${SESSION}/subagents/agent-a1.jsonl`)).toEqual({ session: SESSION, agent: "a1" })
  expect(nameOf(`${SESSION}/subagents/workflows/r1/journal.jsonl`)).toEqual({
    session: SESSION,
    agent: "workflows/r1/journal",
  })
})

test("its layout names the session of a file beside a transcript", () => {
  const nameOf = (below: string) => transcriptName(`${PROJECT}/${below}`)
  const session = { session: SESSION, agent: undefined }
  expect(nameOf(`${SESSION}/tool-results/b1.txt`)).toEqual(session)
  expect(nameOf(`${SESSION}/tool-results/rows.jsonl`)).toEqual(session)
  expect(nameOf(`${SESSION}/plans/quiet-otter.md`)).toEqual(session)
  expect(nameOf(`${SESSION}/subagents/agent-a1.meta.json`)).toEqual({ session: SESSION, agent: "a1" })
  expect(nameOf(`${SESSION}/subagents/workflows/r1/state.json`)).toEqual(session)
  expect(placeBeside(`${PROJECT}/${SESSION}/tool-results/b1.txt`)).toEqual({
    session: SESSION,
    name: "tool-results/b1.txt",
  })
  for (const none of [`${SESSION}.jsonl`, "memory.md", `${SESSION}/subagents/agent-a1.jsonl`])
    expect(placeBeside(`${PROJECT}/${none}`)).toBeUndefined()
  expect(placeBeside("/backup/b1.txt")).toBeUndefined()
})

test.each([
  ["--dangerously-skip-permissions", false],
  ["-p", false],
  ["a b", false],
  ["a/b", false],
  [".hidden", false],
  ["_x", false],
  ["grün", false],
  ["x\ny", false],
  ["", false],
  ["x".repeat(201), false],
  ["x".repeat(200), true],
  [SESSION, true],
  ["my-session", true],
  ["v1.2_x", true],
])("%j is an id of a session: %p", (name, isOne) => {
  const hashed = new Bun.CryptoHasher("sha256").update(name).digest("hex")
  expect(sessionIdOf(name)).toBe(isOne ? name : hashed)
  expect(isPlainId(sessionIdOf(name))).toBe(true)
  const event = decodeEvent("stop", { session_id: name })
  expect(event).toMatchObject({ session: isOne ? name : hashed, isStrange: !isOne })
})

test("a line of its transcripts becomes a record in our words", () => {
  const block = { type: "tool_use", id: "t1", name: "Bash", input: { command: "ls" } }
  const line = JSON.stringify({ type: "assistant", sessionId: SESSION, message: { content: [block] } })
  const { sessionId, parts } = claudeCode.decode(line)
  expect({ sessionId, parts }).toEqual({
    sessionId: SESSION,
    parts: [{ kind: "toolUse", id: "t1", name: "Bash", input: { command: "ls" } }],
  })
  expect(claudeCode.tools["Bash"]).toEqual({ kind: "run", target: ["command"] })
  expect(claudeCode.decode("half a li").type).toBe("malformed")
})

test("its places lie below its folder", () => {
  expect(claudeCode.transcripts({ home: "/h", claudeDir: "/c" })).toBe("/c/projects")
  expect(userSettings("/c")).toBe("/c/settings.json")
})
