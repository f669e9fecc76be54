/** Lines that a crash has torn or glued: whole records are found wherever they are, once, and nothing else is. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { recordsIn } from "../../src/agents/agents.ts"
import { wholeRecordsIn } from "../../src/record/whole-records.ts"

const words = fc.oneof(
  fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
  fc.constantFrom('{"', '"}', "{", "}", '\\"', "\\", "[{", '{"type":"user","sessionId":"x"}', "größer 🛡️", ""),
)
const said = fc.array(words, { maxLength: 4 }).map((some) => some.join(""))
const block = fc.oneof(
  said.map((text) => ({ type: "text", text })),
  said.map((text) => ({
    type: "tool_use",
    id: "t",
    name: "Edit",
    input: { text, list: [{}, [], { a: null }] },
  })),
)
const anyRecord = fc
  .record({
    uuid: fc.uuid(),
    type: fc.constantFrom("user", "assistant"),
    content: fc.oneof(said, fc.array(block, { maxLength: 3 })),
    extra: fc.jsonValue({ maxDepth: 2 }),
    isSpaced: fc.boolean(),
  })
  .map(({ uuid, type, content, extra, isSpaced }) => {
    const fields = { parentUuid: null, sessionId: "s", uuid, type, message: { role: type, content }, extra }
    return isSpaced ? JSON.stringify(fields, null, 1).replaceAll("\n", "") : JSON.stringify(fields)
  })

/** A record's beginning: at least its first byte, never all of it. */
const torn = fc.tuple(anyRecord, fc.double({ min: 0, max: 1, noNaN: true })).map(([text, share]) => {
  const bytes = Buffer.from(text)
  return bytes.subarray(0, 1 + Math.floor(share * (bytes.length - 2)))
})
const padding = fc
  .constantFrom("", "\r", "\0", "\0".repeat(40), "\ufeff", " ")
  .map((text) => Buffer.from(text))
const whole = anyRecord.map((text) => Buffer.from(text))

type Piece = readonly [kind: "whole" | "torn" | "padding", bytes: Buffer]
const piece: fc.Arbitrary<Piece> = fc.oneof(
  { weight: 3, arbitrary: whole.map((bytes): Piece => ["whole", bytes]) },
  { weight: 2, arbitrary: torn.map((bytes): Piece => ["torn", bytes]) },
  { weight: 1, arbitrary: padding.map((bytes): Piece => ["padding", bytes]) },
)

const textsIn = (line: Buffer): string[] =>
  wholeRecordsIn(line).map(({ from, to }) => line.toString("utf8", from, to))

test("of records that are torn, glued and padded, all whole ones are found in their order, and nothing else", () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 6 }), (pieces) => {
      const line = Buffer.concat(pieces.map(([, bytes]) => bytes))
      const wanted = pieces.flatMap(([kind, bytes]) => (kind === "whole" ? [bytes.toString()] : []))
      expect(textsIn(line)).toEqual(wanted)
    }),
    { numRuns: 3000 },
  )
})

test("wherever the first of two records is cut, the second is found", () => {
  fc.assert(
    fc.property(anyRecord, anyRecord, (first, second) => {
      const bytes = Buffer.from(first)
      for (let cut = 0; cut < bytes.length; cut++)
        expect(textsIn(Buffer.concat([bytes.subarray(0, cut), Buffer.from(second)]))).toEqual([second])
    }),
    { numRuns: 60 },
  )
})

test("what lacks its beginning loses nothing of what follows", () => {
  fc.assert(
    fc.property(anyRecord, anyRecord, fc.nat(), (first, second, cut) => {
      const rest = Buffer.from(first).subarray(1 + (cut % (first.length - 1)))
      expect(textsIn(Buffer.concat([rest, Buffer.from(second)])).at(-1)).toBe(second)
    }),
    { numRuns: 1000 },
  )
})

test("any bytes are read without an exception, within their line and without overlaps", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(torn, { maxLength: 3 }), (noise, pieces) => {
      const line = Buffer.concat([noise, ...pieces])
      let end = 0
      for (const { from, to } of wholeRecordsIn(line)) {
        expect(from).toBeGreaterThanOrEqual(end)
        expect(to).toBeGreaterThan(from)
        end = to
      }
      expect(end).toBeLessThanOrEqual(line.length)
    }),
  )
})

test("a line that is a record is one, at any length, and a long torn one costs no more than its length", () => {
  const record = JSON.stringify({ type: "user", message: { content: '{"'.repeat(500_000) } })
  expect(recordsIn(Buffer.from(record))).toMatchObject([{ from: 0, to: record.length }])
  const started = process.cpuUsage()
  expect(wholeRecordsIn(Buffer.from('{"a":'.repeat(400_000)))).toEqual([])
  expect(wholeRecordsIn(Buffer.from("{".repeat(2_000_000)))).toEqual([])
  expect(wholeRecordsIn(Buffer.from(record.slice(0, -1)))).toEqual([])
  expect(process.cpuUsage(started).user).toBeLessThan(5_000_000)
})
