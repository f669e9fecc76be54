/** What ctxbridge carried of a session is told from what others said, whatever line of the host it is in. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { carriedFinder, type Names } from "../../../src/job/forget-text.ts"
import { fillSpans } from "../../../src/vault/tombstone.ts"
import type { Source } from "../../../src/views/view-sources.ts"

const SECRET = "5ec2e7aa-0000-4000-8000-000000000001"
const OTHER = "0dde7aaa-0000-4000-8000-000000000002"
const NAMES: Names = {
  ids: new Set([SECRET, SECRET.slice(0, 8), "imported:one"]),
  otherIds: ["imported:one"],
  handles: new Set(["abc123", "sha3ed"]),
  shared: new Map([["fork", new Set(["sha3ed"])]]),
  told: new Set(),
}
const SENTENCE = "the heron nests behind the observatory"

/** The lines with what was found filled. */
function filled(lines: readonly object[], session = OTHER): string[] {
  const finder = carriedFinder(NAMES, { session } as Source)
  return lines.map((line) => {
    const bytes = new TextEncoder().encode(JSON.stringify(line))
    fillSpans(bytes, finder(bytes))
    return new TextDecoder().decode(bytes)
  })
}

const isGone = (lines: readonly object[], session?: string): boolean =>
  !filled(lines, session).some((line) => line.includes(SENTENCE))

const frame = (about: string, session = OTHER): string =>
  `<ctxbridge-restore source="compact" session="${session}">\nQuoted. ${about} "${SENTENCE}"\n</ctxbridge-restore>`
const hook = (fields: object) => ({
  type: "attachment",
  attachment: { hookEvent: "SessionStart", ...fields },
})
const asked = (name: string, input: object) => ({
  type: "assistant",
  message: { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name, input }] },
})
const answered = (text: string) => ({
  type: "user",
  message: {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text }] }],
  },
  toolUseResult: [{ type: "text", text }],
})
const said = (role: string, text: string) => ({
  type: role,
  message: { role, content: [{ type: "text", text }] },
})

describe("goes", () => {
  const told = `- ctx:abc123 ${SENTENCE}`
  test.each([
    [
      "a restore that names a turn",
      [hook({ type: "hook_additional_context", content: [frame("ctx:abc123")] })],
    ],
    ["a restore of the session", [hook({ type: "hook_additional_context", content: [frame("", SECRET)] })]],
    [
      "of a session from another tool",
      [hook({ type: "hook_additional_context", content: [frame("", "imported:one")] })],
    ],
    ["a hook's plain output", [hook({ type: "hook_success", content: told, stdout: told })]],
    ["a restore without an end", [said("user", frame("ctx:abc123").replace("</ctxbridge-restore>", ""))]],
    ["an answer of our tool", [asked("mcp__ctxbridge__search", { query: "x" }), answered(told)]],
    ["through a plugin", [asked("mcp__plugin_x_ctxbridge__search", { query: "x" }), answered(told)]],
    [
      "an answer to a question that names it",
      [asked("mcp__ctxbridge__get", { handle: "ctx:abc123" }), answered(`page 2 ${SENTENCE}`)],
    ],
    [
      "a list with short ids",
      [asked("mcp__ctxbridge__status", {}), answered(`${SECRET.slice(0, 8)} "${SENTENCE}"`)],
    ],
    ["output of our command", [asked("Bash", { command: "cd x; ctxbridge show abc" }), answered(told)]],
  ])("%s", (_, lines) => {
    expect(isGone(lines)).toBe(true)
    const [, ...rest] = filled([...lines, said("user", "next")])
    expect(rest.at(-1)).toContain("next")
  })
})

describe("stays", () => {
  test.each([
    ["a restore about others", [hook({ type: "hook_additional_context", content: [frame("ctx:zzz999")] })]],
    ["what a human said", [said("user", `I read ctx:abc123: ${SENTENCE}`)]],
    ["what the model said", [said("assistant", `In ctx:abc123, ${SENTENCE}`)]],
    [
      "an answer of our tool about others",
      [asked("mcp__ctxbridge__search", { query: "x" }), answered(`ctx:zzz999 ${SENTENCE}`)],
    ],
    [
      "output of another command",
      [asked("Bash", { command: "cat notes" }), answered(`ctx:abc123 ${SENTENCE}`)],
    ],
    [
      "an answer of another tool",
      [asked("mcp__other__search", { query: "ctx:abc123" }), answered(`ctx:abc123 ${SENTENCE}`)],
    ],
  ])("%s", (_, lines) => {
    expect(filled(lines)).toEqual(lines.map((line) => JSON.stringify(line)))
  })

  test("what names only turns that a fork has as well", () => {
    const lines = [hook({ type: "hook_additional_context", content: [frame("ctx:sha3ed")] })]
    expect(isGone(lines, "fork")).toBe(false)
    expect(isGone(lines)).toBe(true)
  })
})

test("the lines stay JSON of the same length and kind, and nothing is found in them again", () => {
  const text = fc
    .string({ unit: "grapheme", maxLength: 30 })
    .map((some) => `${some} ctx:abc123 ${SENTENCE} ${some}`)
  const line = fc.oneof(
    text.map((one) => hook({ type: "hook_additional_context", content: [frame(one)] })),
    text.map((one) => hook({ type: "hook_success", content: one, stdout: frame(one), exitCode: 0 })),
    text.map(answered),
    fc.constant(asked("mcp__ctxbridge__search", { query: "x" })),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const all = [asked("mcp__ctxbridge__get", { handle: "ctx:abc123" }), ...lines]
      const after = filled(all)
      for (const [n, json] of after.entries()) {
        expect(json).not.toContain(SENTENCE)
        expect(Buffer.byteLength(json)).toBe(Buffer.byteLength(JSON.stringify(all[n])))
        expect(JSON.parse(json)).toMatchObject({ type: (all[n] as { type: string }).type })
      }
      expect(filled(after.map((json) => JSON.parse(json) as object))).toEqual(after)
    }),
  )
})
