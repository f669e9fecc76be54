import { expect, test } from "bun:test"
import { decodeLine, documentLines } from "../../../src/agents/agents.ts"
import { amp } from "../../../src/agents/amp/amp.ts"
import { isDocument, transcriptName } from "../../../src/agents/layouts.ts"
import { replacedTexts, toolFiles } from "../../../src/agents/tool-kinds.ts"
import { vaultPath } from "../../../src/vault/layout.ts"

const PATH = "/h/.local/share/amp/threads/T-1.json"
const THREAD = {
  v: 3,
  id: "T-1",
  title: "Kiln",
  created: 1_780_000_000_000,
  env: { initial: { trees: [{ uri: "file:///home/a%20b/p" }] } },
  messages: [
    {
      role: "user",
      content: [{ type: "text", text: "Why does it overheat?" }],
      meta: { sentAt: 1_780_000_001_000 },
    },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "a", name: "Bash", input: { cmd: "npm test", cwd: "/p" } },
        { type: "tool_use", id: "b", name: "edit_file", input: { path: "/p/a", old_str: "x", new_str: "y" } },
      ],
      usage: {
        model: "m",
        inputTokens: 5,
        outputTokens: 7,
        cacheReadInputTokens: 11,
        timestamp: "2026-05-28T20:26:42.000Z",
      },
    },
    {
      role: "user",
      content: [
        {
          type: "tool_result",
          toolUseID: "a",
          run: { status: "done", result: { output: "1 failed", exitCode: 1 } },
        },
        { type: "tool_result", toolUseID: "b", run: { status: "error", error: { message: "no such text" } } },
        { type: "tool_result", toolUseID: "c", run: { status: "done", result: "ok" } },
      ],
    },
    { role: "info", content: [] },
  ],
}
const records = (thread: object) =>
  documentLines(PATH, JSON.stringify(thread), () => undefined).map((line) => decodeLine(JSON.stringify(line)))

test("places and copies", () => {
  expect([isDocument(PATH), isDocument("/h/.local/share/amp/secrets.json")]).toEqual([true, false])
  expect(transcriptName(PATH)).toEqual({ session: "T-1", agent: undefined })
  expect(vaultPath(PATH, "/h")).toBe("amp/home/T-1.jsonl.zst")
  const named = (name: string) => (name === "XDG_DATA_HOME" ? "/d" : undefined)
  expect(amp.transcripts({ home: "/h", claudeDir: "/c", named })).toEqual(["/d/amp/threads"])
  expect(amp.isUntried).toBe(true)
})

test("a thread's beginning", () => {
  expect(records(THREAD)[0]).toMatchObject({
    program: "amp",
    type: "thread",
    sessionId: "T-1",
    cwd: "/home/a b/p",
    timestamp: "2026-05-28T20:26:40.000Z",
    parts: [{ kind: "title", text: "Kiln" }],
  })
  expect(records({ ...THREAD, env: {}, title: undefined })[0]).toMatchObject({ cwd: undefined, parts: [] })
})

test("messages, calls and results", () => {
  const [, user, answer, results, other] = records(THREAD)
  expect(user).toMatchObject({
    type: "user",
    uuid: "T-1-0",
    timestamp: "2026-05-28T20:26:41.000Z",
    parts: [{ kind: "prompt", text: "Why does it overheat?" }],
  })
  expect(answer).toMatchObject({
    timestamp: "2026-05-28T20:26:42.000Z",
    usage: { messageId: "amp T-1-1", model: "m", input: 5, output: 7, cacheRead: 11, cacheCreation: 0 },
    parts: [
      { kind: "thinking", text: "Hm" },
      { kind: "text", text: "I look." },
      { kind: "toolUse", id: "a", input: { command: "npm test", cwd: "/p" } },
      { kind: "toolUse", id: "b", input: { path: "/p/a", old_string: "x", new_string: "y" } },
    ],
  })
  expect(results!.parts).toEqual([
    { kind: "toolResult", id: "a", text: "Exit code 1\n1 failed", isError: true },
    { kind: "toolResult", id: "b", text: "no such text", isError: true },
    { kind: "toolResult", id: "c", text: "ok", isError: false },
  ])
  expect(other).toMatchObject({ program: "amp", type: "message", parts: [] })
})

test("tools, and what is no thread", () => {
  expect(toolFiles("create_file", { path: "/p/a" })).toEqual([{ path: "/p/a", op: "write" }])
  expect(replacedTexts("edit_file", { old_string: "x", new_string: "y" })).toEqual([
    { before: "x", after: "y" },
  ])
  expect(() => documentLines(PATH, "{}", () => undefined)).toThrow()
  expect(amp.wrote('{"amp":"other"}')).toBe(false)
})
