import { expect, test } from "bun:test"
import fc from "fast-check"
import { decodeLine, partsOfLine } from "../../src/agents/agents.ts"
import { exitCode, taskChanges, todosOf, toolFiles, toolTarget } from "../../src/agents/tool-kinds.ts"
import { commandPaths } from "../../src/record/path-words.ts"
import type { Part } from "../../src/record/types.ts"

const anyText = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    "\ud83d",
    "a\0b",
    "\udc00\ud800",
    "<system-reminder>",
    "</system-reminder>",
    "[Request interrupted by user",
  ),
  fc.constantFrom(
    "<command-name>",
    "<bash-stdout>",
    "<task-notification>",
    "/compact",
    "Exit code 1",
    "<persisted-output> saved to: ",
  ),
)
const anyWords = fc.array(anyText, { maxLength: 6 }).map((words) => words.join(""))
const anyJson = fc.jsonValue({ maxDepth: 5 })

const LINES: readonly unknown[] = [
  {
    type: "user",
    uuid: "u",
    isMeta: true,
    origin: { kind: "human" },
    message: { role: "user", content: [{ type: "text", text: "x" }] },
  },
  {
    type: "user",
    toolUseResult: "Error: x",
    userFeedback: "no",
    message: {
      content: [
        {
          type: "tool_result",
          tool_use_id: "t",
          is_error: true,
          content: [
            { type: "text", text: "x" },
            { type: "image", source: { data: "A" } },
          ],
        },
      ],
    },
  },
  {
    type: "assistant",
    message: {
      id: "m",
      model: "x",
      usage: { input_tokens: 1 },
      content: [
        { type: "thinking", thinking: "x" },
        { type: "tool_use", id: "t", name: "Bash", input: { command: "ls" } },
      ],
    },
  },
  {
    type: "system",
    subtype: "compact_boundary",
    compactMetadata: {
      trigger: "auto",
      preTokens: 1,
      preservedMessages: { uuids: ["a"] },
      preservedSegment: { headUuid: "a" },
    },
  },
  { type: "system", subtype: "api_error", error: { error: { message: "x" } } },
  {
    type: "attachment",
    attachment: { type: "queued_command", prompt: [{ type: "text", text: "x" }], commandMode: "prompt" },
  },
  { type: "attachment", attachment: { type: "hook_additional_context", hookEvent: "Stop", content: ["x"] } },
  { type: "queue-operation", operation: "enqueue", content: "x" },
  {
    type: "progress",
    data: {
      type: "agent_progress",
      agentId: "a",
      message: { type: "user", message: { role: "user", content: "x" } },
    },
  },
  { type: "summary", summary: "x" },
]

/** `value` with the node that `path` leads to (at each level one of its children, by turn) replaced. */
function mutate(value: unknown, path: readonly number[], replacement: unknown): unknown {
  const [step, ...rest] = path
  if (step === undefined || typeof value !== "object" || value === null) return replacement
  const keys = Object.keys(value)
  const key = keys[step % Math.max(1, keys.length)]
  if (key === undefined) return replacement
  const copy: Record<string, unknown> | unknown[] = Array.isArray(value) ? [...value] : { ...value }
  Reflect.set(copy, key, mutate(Reflect.get(value, key), rest, replacement))
  return copy
}

const KINDS = new Set<Part["kind"]>([
  ..."prompt enqueued brief text thinking toolUse toolResult output interrupt notice context".split(" "),
  ..."apiError summary boundary title media".split(" "),
] as Part["kind"][])

function check(line: string): void {
  const record = decodeLine(line)
  expect(record.type.isWellFormed()).toBe(true)
  const { uuid, parts } = partsOfLine(line)
  expect({ uuid, parts }).toEqual({ uuid: record.uuid, parts: record.parts })
  for (const part of record.parts) {
    expect(KINDS.has(part.kind)).toBe(true)
    if ("text" in part) {
      expect(part.text.isWellFormed()).toBe(true)
      expect(part.text.includes("\0")).toBe(false)
    }
    if (part.kind === "prompt") expect(record.sidechain).toBe(false)
    if (part.kind === "prompt") expect(part.text.trim()).not.toBe("")
  }
}

test("any string decodes", () => fc.assert(fc.property(anyWords, check), { numRuns: 500 }))

test("any JSON value decodes", () => {
  fc.assert(
    fc.property(anyJson, (value) => check(JSON.stringify(value))),
    { numRuns: 500 },
  )
})

test("any words in a user message decode", () => {
  const flags = fc.record({ isMeta: fc.boolean(), isSidechain: fc.boolean(), isCompactSummary: fc.boolean() })
  fc.assert(
    fc.property(anyWords, flags, (content, more) =>
      check(JSON.stringify({ type: "user", message: { content }, ...more })),
    ),
    { numRuns: 1000 },
  )
})

test("any mutation of a valid line decodes", () => {
  const path = fc.array(fc.nat(9), { maxLength: 7 })
  fc.assert(
    fc.property(fc.constantFrom(...LINES), path, fc.oneof(anyJson, anyWords), (line, at, value) =>
      check(JSON.stringify(mutate(line, at, value))),
    ),
    { numRuns: 3000 },
  )
})

test("a cut line never throws", () => {
  fc.assert(
    fc.property(fc.constantFrom(...LINES), fc.nat(400), (line, at) =>
      check(JSON.stringify(line).slice(0, at)),
    ),
  )
})

test("a human's plain words come back as they were", () => {
  const words = fc.string({ unit: "grapheme", minLength: 1 }).filter((text) => /^\p{L}/u.test(text))
  fc.assert(
    fc.property(words, (text) => {
      const { parts } = decodeLine(JSON.stringify({ type: "user", message: { role: "user", content: text } }))
      expect(parts).toEqual([{ kind: "prompt", via: "typed", text: text.toWellFormed() }])
    }),
  )
})

test("the helpers for tool calls take any input", () => {
  const name = fc.oneof(
    fc.constantFrom(
      "Bash",
      "Read",
      "MultiEdit",
      "Grep",
      "TodoWrite",
      "TaskCreate",
      "TaskUpdate",
      "Skill",
      "AskUserQuestion",
    ),
    fc.constantFrom("constructor", "__proto__", "toString"),
    fc.string(),
  )
  const field = fc.constantFrom(
    "command",
    "file_path",
    "path",
    "pattern",
    "todos",
    "taskId",
    "subject",
    "questions",
    "x",
  )
  const input = fc.oneof(anyJson, anyWords, fc.dictionary(field, fc.oneof(anyJson, anyWords)))
  fc.assert(
    fc.property(name, input, (tool, value) => {
      const target = toolTarget(tool, value)
      expect(target.split("\n").length).toBe(1)
      expect([...target].length).toBeLessThanOrEqual(300)
      toolFiles(tool, value)
      todosOf(tool, value)
      taskChanges(tool, value)
    }),
    { numRuns: 1000 },
  )
})

test("any command and any result are read", () => {
  fc.assert(
    fc.property(anyWords, (text) => {
      for (const path of commandPaths(text)) expect(path.length).toBeGreaterThan(1)
      exitCode(true, text)
    }),
    { numRuns: 1000 },
  )
})
