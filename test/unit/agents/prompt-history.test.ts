/** Lines of Claude Code's list of all prompts, of every version that has written one. */

import { expect, test } from "bun:test"
import { decodeLine, historyPrompt } from "../../../src/agents/agents.ts"
import { isPromptHistory } from "../../../src/agents/layouts.ts"

const ID = "aaaaaaaa-0000-4000-8000-000000000001"
const TIME = Date.UTC(2025, 10, 1, 12)
const line = (fields: object): string =>
  JSON.stringify({ display: "mend the sail", pastedContents: {}, timestamp: TIME, project: "/p", ...fields })
const paste = (id: number, content?: string) => ({ [id]: { id, type: "text", ...(content && { content }) } })

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
