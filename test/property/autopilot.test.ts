/** Whatever comes: shares sum to 100, lines keep their width, and no document breaks the reading. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { glance } from "../../src/claude/glance.ts"
import { addStatusLine, chainedCommand, removeStatusLine } from "../../src/claude/install/status-line.ts"
import { readStatusLineInput } from "../../src/claude/status-line-input.ts"
import type { Part } from "../../src/record/types.ts"
import { FillCounter } from "../../src/restore/window/context-report.ts"
import { joinLines, NOTHING_KNOWN, renderLine } from "../../src/restore/window/status-line-text.ts"

const part: fc.Arbitrary<Part> = fc.oneof(
  fc.record({ kind: fc.constantFrom("text", "thinking", "summary"), text: fc.string({ maxLength: 400 }) }),
  fc.record({
    kind: fc.constant("toolUse"),
    id: fc.constantFrom("a", "b", "c"),
    name: fc.constantFrom("Read", "Bash", "Edit", ""),
    input: fc.record({ file_path: fc.constantFrom("/x.ts", "/y.ts"), command: fc.string() }),
  }),
  fc.record({
    kind: fc.constant("toolResult"),
    id: fc.constantFrom("a", "b", "z"),
    text: fc.string({ maxLength: 4000 }),
    isError: fc.boolean(),
  }),
) as fc.Arbitrary<Part>

test("what fills the window sums to 100 %, by kind and by file", () => {
  fc.assert(
    fc.property(
      fc.array(part, { maxLength: 40 }),
      fc.integer({ min: 1, max: 1_000_000 }),
      (parts, tokens) => {
        const counter = new FillCounter()
        counter.add(parts)
        const { kinds, files } = counter.fill(tokens)
        for (const list of [kinds, files]) {
          const permille = list.reduce((sum, { percent }) => sum + Math.round(percent * 10), 0)
          const counted = list.reduce((sum, one) => sum + one.tokens, 0)
          expect(permille).toBe(1000)
          // Each is rounded.
          expect(Math.abs(counted - tokens)).toBeLessThanOrEqual(list.length)
        }
      },
    ),
  )
})

test("what fills the window is told by tool and file, and what nobody wrote as unseen", () => {
  const counter = new FillCounter()
  const input = { file_path: "/src/a.ts", content: "w".repeat(8000) }
  counter.add([
    { kind: "prompt", via: "typed", text: "p".repeat(400) },
    { kind: "toolUse", id: "1", name: "Write", input },
    { kind: "toolUse", id: "2", name: "Bash", input: { command: "make" } },
    { kind: "toolResult", id: "2", text: "r".repeat(4000), isError: false },
    { kind: "toolResult", id: "unknown", text: "u".repeat(2000), isError: false },
  ])
  const { kinds, files } = counter.fill(100_000)
  expect(kinds.map(({ name }) => name)).toEqual([
    "system, tools and memory",
    "Write",
    "Bash",
    "tool",
    "prompts",
  ])
  expect(files.map(({ name }) => name)).toEqual(["(no file)", "/src/a.ts"])
})

const figure = fc.oneof(fc.constant(undefined), fc.double({ min: 0, max: 1e12, noNaN: true }))

test("a line is one line, of at most 24 columns", () => {
  fc.assert(
    fc.property(
      figure,
      figure,
      fc.nat(),
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom("ok" as const, "warning" as const, "critical" as const),
      fc.boolean(),
      (tokens, share, compactions, tracked, estimated, zone, color) => {
        const rounded = tokens && Math.round(tokens)
        const facts = { ...NOTHING_KNOWN, tracked, tokens: rounded, estimated, share, pressure: share, zone }
        const line = renderLine({ ...facts, compactions }, color)
        expect(line).not.toContain("\n")
        expect(Bun.stringWidth(Bun.stripANSI(line))).toBeLessThanOrEqual(24)
        expect(line.includes("\x1b")).toBe(color && share !== undefined)
      },
    ),
  )
})

test("another status line follows ours, and its other lines follow it", () => {
  expect(joinLines("own", "theirs\nmore\n")).toBe("own │ theirs\nmore")
  expect(joinLines("own", "")).toBe("own")
  expect(joinLines("", "theirs\n")).toBe("theirs")
  fc.assert(
    fc.property(fc.string(), (other) => {
      expect(joinLines("own", other).split("\n").length).toBeLessThanOrEqual(8)
      expect(joinLines("own", other).startsWith("own")).toBe(true)
    }),
  )
})

test("any document is read, and any bytes are glanced at", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.uint8Array({ maxLength: 300 }), (document, bytes) => {
      const nested = { session_id: document, context_window: document }
      for (const one of [document, nested, { context_window: { current_usage: document } }]) {
        const { tokens, share } = readStatusLineInput(one)
        if (tokens !== undefined) expect(tokens).toBeGreaterThan(0)
        if (share !== undefined) expect(share).toBeGreaterThanOrEqual(0)
      }
      expect(glance(bytes, true).compactions).toEqual([])
    }),
  )
})

const EXE = "/opt/it's here/ctxbridge"
const indent = fc.constantFrom("", "  ", "\t")
const others = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 })
const command = fc.string({ minLength: 1 })

test("a chained status line comes back byte for byte, and none leaves no byte", () => {
  fc.assert(
    fc.property(others, fc.option(command), indent, (rest, theirs, space) => {
      const { statusLine: _, ...settings } = rest
      fc.pre(theirs === null || chainedCommand(theirs) === undefined)
      const own = theirs === null ? {} : { statusLine: { type: "command", command: theirs, padding: 0 } }
      const before = JSON.stringify({ ...settings, ...own }, null, space)
      const { text, state } = addStatusLine(before, EXE, "chain")
      expect(state).toBe(theirs === null ? "added" : "chained")
      const written = JSON.parse(text).statusLine
      expect(chainedCommand(written.command)).toBe(theirs ?? "")
      if (theirs !== null) expect(written.padding).toBe(0)
      expect(addStatusLine(text, EXE, "chain")).toEqual({ text, state: "ours" })
      const moved = addStatusLine(text, "/usr/bin/ctxbridge", "update")
      expect(moved.state).toBe("updated")
      for (const one of [text, moved.text]) {
        expect(removeStatusLine(one, before)).toEqual({ text: before, removed: ["statusLine"] })
        expect(JSON.parse(removeStatusLine(one).text)).toEqual(JSON.parse(before))
      }
      expect(addStatusLine(before, EXE, "new").state).toBe(theirs === null ? "added" : "theirs")
      expect(addStatusLine(before, EXE, "update").text).toBe(before)
    }),
  )
})
