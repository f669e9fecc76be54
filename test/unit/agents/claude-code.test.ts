import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { decodeLine, historyPrompt, holdsRecord, isNamedAsTranscript } from "../../../src/agents/agents.ts"
import { placeBeside, transcriptName } from "../../../src/agents/layouts.ts"
import { isPlainId, sessionIdOf } from "../../../src/base/session-id.ts"
import { claudeCode } from "../../../src/claude/claude-code.ts"
import { decodeEvent, HOOKS } from "../../../src/claude/hooks.ts"
import { isPromptHistory, userSettings } from "../../../src/claude/places.ts"
import { EVENTS, eventNamed } from "../../../src/record/hook-event.ts"

describe("claude code", () => {
  const SESSION = "11111111-0000-4000-8000-000000000001"
  const PROJECT = "/home/ada/.claude/projects/-home-ada-app"

  test("every event of ours is one of the agent's, and its own name for it means the same", () => {
    const events = HOOKS
    // After a tool, only agents call that say nothing behind a compaction.
    expect([...Object.values(events), "post-tool-use"]).toEqual([...EVENTS])
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
    expect(claudeCode.transcripts({ home: "/h", claudeDir: "/c", named: () => undefined })).toEqual([
      "/c/projects",
    ])
    expect(userSettings("/c")).toBe("/c/settings.json")
  })
})

/** What counts as written by Claude Code: whatever it may have written, and nothing that only others write. */
describe("own records", () => {
  const [line, path] = [holdsRecord, isNamedAsTranscript]
  const ID = "5e551011-0000-4000-8000-000000000001"
  const isOwn = (text: string): boolean => line(Buffer.from(text))

  describe("a line", () => {
    test.each([
      ["a prompt", { type: "user", message: { role: "user", content: "Hello" } }],
      ["a type of a newer version, with its own id", { type: "brand-new", uuid: "u1", body: 1 }],
      ["one with only its session's", { type: "brand-new", sessionId: ID }],
      ["the output of print mode", { type: "stream_event", session_id: ID, event: {} }],
      ["a title", { type: "summary", summary: "Totals", leafUuid: "u1" }],
      [
        "a snapshot",
        { type: "file-history-snapshot", messageId: "m1", snapshot: {}, isSnapshotUpdate: false },
      ],
      ["a prompt of the list of all", { display: "Hello", timestamp: 1, project: "/p", pastedContents: {} }],
      ["a command of that list", { display: "/clear", timestamp: 1, project: "/p", pastedContents: {} }],
      ["a message without a type", { message: { role: "user", content: "Hello" } }],
    ])("%s", (_, record) => {
      expect(isOwn(JSON.stringify(record))).toBe(true)
      expect(isOwn(`\ufeff${JSON.stringify(record)}\r`)).toBe(true)
      expect(isOwn(`\0\0\0${JSON.stringify(record)}`)).toBe(true)
    })

    test("half a record, with another glued to it", () => {
      const whole = JSON.stringify({ type: "brand-new", uuid: "u1", sessionId: ID, parentUuid: null })
      expect(isOwn(`{"type":"user","message":{"role":"us${whole}`)).toBe(true)
    })

    test.each([
      ["text", "Buy milk"],
      ["a number", "7"],
      ["an object", '{"a":1}'],
      ["a row of a data set", '{"messages":[{"role":"user","content":"Hello"}]}'],
      [
        "Codex, a message",
        '{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}',
      ],
      ["Gemini", '{"sessionId":"x","projectHash":"y","startTime":"z"}'],
      ["a log", '{"level":30,"time":1,"msg":"started","uuid":"x"}'],
    ])("not %s", (_, text) => {
      expect(isOwn(text)).toBe(false)
    })

    test("every transcript among the golden ones, by its first line", () => {
      const folder = join(import.meta.dir, "../../golden/transcripts")
      const names = [...new Bun.Glob("**/*.jsonl").scanSync(folder)]
      expect(names.length).toBeGreaterThan(5)
      const first = (name: string): string => readFileSync(join(folder, name), "utf8").split("\n", 1)[0]!
      expect(names.filter((name) => !isOwn(first(name)))).toEqual([])
    })
  })

  test("a place: where Claude Code would have put it, also in a backup", () => {
    const project = "/mnt/backup/.claude/projects/-home-dev-shop"
    const own = [
      `${project}/${ID}.jsonl`,
      `${project}/agent-a1b2.jsonl`,
      `${project}/${ID}/subagents/agent-a1b2.jsonl`,
      `${project}/${ID}/subagents/workflows/wf_1/journal.jsonl`,
    ]
    const others = [
      "/home/dev/projects/shop/train.jsonl",
      `/home/dev/shop/${ID}.jsonl`,
      "/home/dev/shop/subagents/list.jsonl",
    ]
    expect([...own, ...others].filter(path)).toEqual(own)
  })
})

/** Lines of Claude Code's list of all prompts, of every version that has written one. */
describe("prompt history", () => {
  const ID = "aaaaaaaa-0000-4000-8000-000000000001"
  const TIME = Date.UTC(2025, 10, 1, 12)
  const line = (fields: object): string =>
    JSON.stringify({
      display: "mend the sail",
      pastedContents: {},
      timestamp: TIME,
      project: "/p",
      ...fields,
    })
  const paste = (id: number, content?: string) => ({
    [id]: { id, type: "text", ...(content && { content }) },
  })

  test.each<[name: string, fields: object, text: string]>([
    ["a prompt", {}, "mend the sail"],
    ["several lines", { display: "mend\nthe sail\n" }, "mend\nthe sail"],
    [
      "what was pasted, in its place",
      { display: "see [Pasted text #1 +2 lines] now", pastedContents: paste(1, "a\nb\nc") },
      "see a\nb\nc now",
    ],
    [
      "two pastes, one of which is not there",
      { display: "[Pasted text #1][Pasted text #2 +9 lines]", pastedContents: paste(1, "a") },
      "a[Pasted text #2 +9 lines]",
    ],
    [
      "a paste in a file of its own",
      { display: "[Pasted text #1 +9 lines]", pastedContents: paste(1) },
      "[Pasted text #1 +9 lines]",
    ],
    [
      "pasted text with a replacement's signs",
      { display: "[Pasted text #1]", pastedContents: paste(1, "$& $1") },
      "$& $1",
    ],
    [
      "an image",
      { display: "[Image #1] what is it?", pastedContents: { 1: { type: "image" } } },
      "[Image #1] what is it?",
    ],
    ["pastes of a wrong type", { pastedContents: ["x"] }, "mend the sail"],
    ["a command of the user's own", { display: "/tidy" }, "/tidy"],
    ["a command with words", { display: "/compact keep the sail" }, "/compact keep the sail"],
    ["a command of Claude Code's own", { display: "/clear" }, ""],
    ["nothing", { display: "  " }, ""],
  ])("%s", (_name, fields, text) => {
    expect(historyPrompt(line({ sessionId: ID, ...fields }))).toEqual({
      session: ID,
      text,
      time: "2025-11-01T12:00:00.000Z",
      project: "/p",
    })
    expect(decodeLine(line({ sessionId: ID, ...fields }))).toMatchObject({
      type: "user",
      sessionId: ID,
      cwd: "/p",
      imported: true,
      parts: text === "" ? [] : [{ kind: "prompt", via: "history", text }],
    })
  })

  test("prompts that name no session are one of their project's day", () => {
    const sessionOf = (fields: object) => historyPrompt(line(fields))?.session
    const day = sessionOf({})
    expect(day).toMatch(/^[0-9a-f]{8}-2025-11-01$/)
    expect(sessionOf({ timestamp: TIME + 1000, display: "other" })).toBe(day!)
    expect(sessionOf({ project: "/q" })).not.toBe(day!)
    expect(sessionOf({ timestamp: TIME + 86_400_000 })).toMatch(/-2025-11-02$/)
    // Nobody can be made to start something by an id.
    for (const sessionId of ["--dangerously-skip-permissions", "../x", "a b", "", 7])
      expect(sessionOf({ sessionId })).toBe(day!)
  })

  test.each([
    ["no JSON", "***"],
    ["half a line", line({}).slice(0, 40)],
    ["a list", "[]"],
    ["no prompt", JSON.stringify({ timestamp: TIME, project: "/p" })],
    ["a time that is none", line({ timestamp: 1e300 })],
    ["a time in words", line({ timestamp: "2025" })],
    ["a line of a transcript", line({ type: "user", message: { content: "x" } })],
  ])("%s is no prompt", (_name, text) => {
    expect(historyPrompt(text)).toBeUndefined()
    expect(decodeLine(text).parts.filter((part) => part.kind === "prompt" && part.via === "history")).toEqual(
      [],
    )
  })

  test("it is known by its name", () => {
    const paths = [
      "/h/.claude/history.jsonl",
      "/backup/history.jsonl",
      "/h/.claude/projects/p/my-history.jsonl",
      "/h/history.json",
    ]
    expect(paths.map(isPromptHistory)).toEqual([true, true, false, false])
  })
})
