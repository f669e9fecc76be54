import { expect, test } from "bun:test"
import { turnMarkdown } from "../../../src/cli/commands/export.ts"
import type { Part } from "../../../src/record/types.ts"
import { inputText } from "../../../src/views/part-text.ts"
import type { WholeTurn } from "../../../src/views/turn.ts"

const turn = (...parts: Part[]): string => shown(parts)
const turnHead = (fields: Partial<WholeTurn>): string => shown([], fields).trimEnd().split("\n").at(-1)!

const shown = (parts: readonly Part[], fields: Partial<WholeTurn> = {}): string =>
  [
    ...turnMarkdown({
      handle: "ctx:abcdef",
      session: "s",
      seq: 3,
      via: "typed",
      started: "2026-03-02T08:00:00Z",
      ended: null,
      interrupted: false,
      tools: [{ id: "t1", name: "Bash", target: "ls", isError: true, exitCode: 2 }],
      errors: 1,
      files: [],
      usage: [],
      prompt: "Fix *this*\n# now",
      messages: [
        {
          role: "assistant",
          time: null,
          sidechain: false,
          parts: parts.map((part) => ({ ...part, origin: "host" })),
        },
      ],
      ...fields,
    } satisfies WholeTurn),
  ].join("")

test("a turn's heading is one line of plain text", () => {
  expect(turn()).toBe("\n## 3. Fix \\*this\\* \\# now\n\n`ctx:abcdef`, 2026-03-02T08:00:00Z\n")
})

test("a time that is none is text like the others", () => {
  expect(turnHead({ started: "<b>now\n# soon" })).toBe("`ctx:abcdef`, \\<b\\>now \\# soon")
})

test("a fence is longer than any in the text", () => {
  const text = turn({ kind: "toolResult", id: "t1", text: "a\n````\nb\n", isError: true })
  expect(text).toContain("**result of Bash (error, exit 2)**\n\n`````\na\n````\nb\n`````\n")
})

test("prompts are quoted, answers stand as they are", () => {
  expect(turn({ kind: "prompt", via: "typed", text: "a\n\nb" })).toContain("\n> a\n> \n> b\n")
  expect(turn({ kind: "text", text: "| a |\n|---|\n" })).toContain("**answer**\n\n| a |\n|---|\n")
  expect(turn({ kind: "title", text: "x" })).toBe(turn())
})

test("an open fence is closed, unless it ends with its list", () => {
  const answer = (text: string): string => turn({ kind: "text", text }).split("**answer**\n\n")[1]!
  expect(answer("````md\n```\n")).toBe("````md\n```\n````\n")
  expect(answer("```\na\n  ```\nb")).toBe("```\na\n  ```\nb\n")
  expect(answer("``` is `a` fence ```")).toBe("``` is `a` fence ```\n")
  expect(answer("1. so:\n   ```\n   a\n\nb")).toBe("1. so:\n   ```\n   a\n\nb\n")
})

test("inputs: a command as typed, other fields one below the other", () => {
  expect(inputText("Bash", { command: "ls\npwd", timeout: 5 })).toBe("$ ls\npwd\ntimeout: 5")
  expect(inputText("Edit", { file_path: "/a", old: "x\ny", all: true })).toBe(
    "file_path: /a\nold:\n    x\n    y\nall: true",
  )
  expect(inputText("X", null)).toBe("null")
  expect(inputText("X", undefined)).toBe("")
})
