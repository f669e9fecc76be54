/** What counts as written by Claude Code: whatever it may have written, and nothing that only others write. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { holdsRecord } from "../../../src/agents/agents.ts"
import { isNamedAsTranscript } from "../../../src/agents/layouts.ts"

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
    ["a snapshot", { type: "file-history-snapshot", messageId: "m1", snapshot: {}, isSnapshotUpdate: false }],
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
    ["Codex", '{"timestamp":"2026-01-01","type":"session_meta","payload":{"id":"x"}}'],
    ["Codex, a message", '{"type":"response_item","payload":{"type":"message","role":"user","content":[]}}'],
    ["Cursor", '{"role":"user","message":{"content":[{"type":"text","text":"Hello"}]}}'],
    ["Gemini", '{"sessionId":"x","projectHash":"y","startTime":"z"}'],
    ["Copilot", '{"type":"user.message","data":{"content":"Hello"},"id":"x","parentId":null}'],
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
    `/home/dev/.cursor/projects/shop/agent-transcripts/${ID}.jsonl`,
    "/home/dev/shop/subagents/list.jsonl",
  ]
  expect([...own, ...others].filter(path)).toEqual(own)
})
