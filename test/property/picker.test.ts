/** Whatever is pressed, and whatever the archive holds: each frame fits the screen, and steers nothing. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { fitted, harmless, styled, widthOf, wrappedCells } from "../../src/cli/picker/cell-text.ts"
import { KeyDecoder } from "../../src/cli/picker/key-decoder.ts"
import { pickerPicture } from "../../src/cli/picker/picker-picture.ts"
import type { PickerEvent } from "../../src/cli/picker/picker-state.ts"
import { PICKER_KEYS } from "../../src/cli/picker/query-line.ts"
import type { SessionSummary } from "../../src/find/session-summary.ts"
import { afterEvents, hit, nameOf, pickerState, screen } from "../support/picker.ts"

/** Escapes, marks that reorder, wide and joined characters, heaps of accents, blanks of all kinds. */
const EVIL = [
  ..."\x1b[31m|\x1b]0;owned\x07|\x9b2J|\u202e|\u2066|\r|\n|\t|\0|\u2028|\ufeff|\u200d|👨‍👩‍👧|🛡️|语言|e\u0301|\u0300".split(
    "|",
  ),
  "\u0301".repeat(200),
  "\ud83d",
  "x".repeat(500),
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...EVIL), fc.string({ unit: "grapheme" })), { maxLength: 12 })
  .map((all) => all.join(""))

const size = fc.record({ columns: fc.integer({ min: 1, max: 150 }), rows: fc.integer({ min: 1, max: 50 }) })
const excerpt = fc.record({
  text,
  marks: fc
    .uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 6 })
    .map((ends) =>
      ends.toSorted((a, b) => a - b).flatMap((at, n, all) => (n % 2 ? [[all[n - 1]!, at] as const] : [])),
    ),
})
const hits = fc.array(
  fc
    .record({ excerpt, prompt: fc.option(text), project: fc.option(text), tool: fc.option(text) })
    .map(({ excerpt, ...rest }) => hit(1, { ...rest, snippet: excerpt.text, marks: excerpt.marks })),
  { maxLength: 5 },
)
const extract = (request: string): SessionSummary => ({
  kind: "extract",
  request,
  decisions: [],
  folder: null,
  files: [],
  filesChanged: 0,
  outcome: null,
  results: [],
  said: null,
  todos: [],
})
const event = fc.oneof(
  text.map((bytes): readonly PickerEvent[] => new KeyDecoder().decode(bytes)),
  fc
    .constantFrom(...PICKER_KEYS.flatMap(({ keys }) => keys))
    .map((name): readonly PickerEvent[] => [{ kind: "key", name }]),
  fc
    .record({
      action: fc.constantFrom("press", "wheel-up", "wheel-down"),
      column: fc.nat(200),
      row: fc.nat(60),
    })
    .map((one): readonly PickerEvent[] => [{ kind: "mouse", ...one } as PickerEvent]),
  size.map((one): readonly PickerEvent[] => [{ kind: "resized", ...one }]),
  fc
    .record({
      hits,
      titles: fc.constant(new Map<string, string>()),
      nameOf: fc.constant(nameOf),
      more: fc.boolean(),
      note: fc.option(text, { nil: undefined }),
    })
    .map((found): readonly PickerEvent[] => [{ kind: "found", found }]),
  fc
    .record({
      prompt: excerpt,
      found: fc.option(excerpt, { nil: undefined }),
      answer: excerpt,
      request: text,
    })
    .map(({ request, ...turn }): readonly PickerEvent[] => [
      {
        kind: "previewed",
        preview: { handle: "ctx:turn1", turn: { started: null, ...turn, summary: extract(request) } },
      },
    ]),
  text.map((told): readonly PickerEvent[] => [{ kind: "told", text: told }]),
)

/** All that a frame may send besides text: looks, and where a column begins. */
const OURS = /\x1b\[(?:[\d;]*m|\d+G)/g
const STEERING = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/

test("each frame has all rows, none wider than the screen, and nothing that steers it", () => {
  fc.assert(
    fc.property(
      size,
      fc.array(event, { maxLength: 12 }),
      fc.boolean(),
      fc.boolean(),
      (at, events, color, unicode) => {
        const state = afterEvents(pickerState([], at), ...events.flat())
        const { lines, cursor } = pickerPicture(state, screen({ color, unicode }))
        expect(lines).toHaveLength(state.rows)
        for (const line of lines) {
          const plain = line.replace(OURS, "")
          expect(plain).not.toMatch(STEERING)
          expect(Bun.stringWidth(plain)).toBeLessThanOrEqual(state.columns)
          if (!unicode) expect(plain).toMatch(/^[\x20-\x7e]*$/)
        }
        expect(cursor.column).toBeLessThan(Math.max(state.columns, 1))
      },
    ),
    { numRuns: 200 },
  )
})

test("text is cut and wrapped by its width; wrapping loses nothing but blanks", () => {
  const words = fc.array(fc.string({ unit: "grapheme", maxLength: 30 }), { maxLength: 8 })
  fc.assert(
    fc.property(words, fc.integer({ min: 33, max: 60 }), (all, width) => {
      const charset = { unicode: true }
      const line = [styled(harmless(all.join("\n ")))]
      expect(widthOf(fitted(line, width, charset), charset)).toBeLessThanOrEqual(width)
      const lines = wrappedCells(line, width, charset)
      for (const one of lines) expect(widthOf(one, charset)).toBeLessThanOrEqual(width)
      const dense = (text: string): string => text.replace(/[\s\p{M}]+/gu, "")
      expect(
        dense(
          lines
            .flat()
            .map((one) => one.text)
            .join(""),
        ),
      ).toBe(dense(line[0]!.text))
    }),
  )
})
