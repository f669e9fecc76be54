/** Whose words a part is: what the model is told of them, and whether they come back as prose, hangs on it. */
import { expect, test } from "bun:test"
import { type Foreign, messageOrigin, originsOf, withoutForgedWords } from "../../../src/agents/origin.ts"
import type { Part } from "../../../src/record/types.ts"

const TOOLS: Readonly<Record<string, string>> = {
  a: "Bash",
  b: "WebFetch",
  c: "Task",
  d: "mcp__browser__open",
  e: "mcp__notes__read",
}
const toolName = (id: string): string | undefined => TOOLS[id]
const origins = (parts: readonly Part[], around: { foreign?: Foreign; subagent?: boolean } = {}) =>
  originsOf(parts, { foreign: undefined, subagent: false, toolName, ...around })

const prompt: Part = { kind: "prompt", text: "go on", via: "typed" }
const text: Part = { kind: "text", text: "done" }
const media: Part = { kind: "media", mediaType: "image/png", base64Length: 8 }
const result = (id: string): Part => ({ kind: "toolResult", id, text: "ok", isError: false })

test("a result is its tool's: a stranger's page, a subagent's answer, or an output", () => {
  expect(origins(["a", "b", "c", "d", "e", "unknown"].map(result))).toEqual([
    "tool",
    "web",
    "subagent",
    "web",
    "tool",
    "tool",
  ])
})

test("a picture is the human's beside a prompt, and the tool's beside a result", () => {
  expect(origins([prompt, media])).toEqual(["human", "human"])
  expect(origins([result("a"), media])).toEqual(["tool", "tool"])
})

test("in a subagent's transcript nobody is human; of another tool's archive everything is imported", () => {
  expect(origins([prompt, text, media], { subagent: true })).toEqual(["assistant", "subagent", "subagent"])
  expect(origins([prompt, text, result("b")], { foreign: "import" })).toEqual(["import", "import", "import"])
})

test("a message is known by whom it has words of, the host's last", () => {
  expect(messageOrigin(["host", "web", "human"])).toBe("web")
  expect(messageOrigin(["host"])).toBe("host")
  expect(messageOrigin([])).toBe("host")
})

test("a reason in a refusal's text is a human's only where nothing else can have written it", () => {
  const reason: Part = { kind: "prompt", text: "Never push.", via: "typed", within: "a" }
  const kinds = (tool: string | undefined, version: string | undefined) =>
    withoutForgedWords([reason], () => tool, version).map(({ kind }) => kind)
  expect(kinds("Edit", "1.0.98")).toEqual(["prompt"])
  expect(kinds("Bash", "2.1.31")).toEqual(["prompt"])
  // There, a failed command's output stands alone, and may begin like a refusal.
  for (const version of ["1.0.98", "2.0.5", undefined]) expect(kinds("Bash", version)).toEqual(["notice"])
  for (const tool of ["mcp__x__y", "WebFetch", undefined]) expect(kinds(tool, "2.1.31")).toEqual(["notice"])
})
