/** Lines in bytes, against the same lines in text. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { endOfLines, linesIn } from "../../../src/base/byte-lines.ts"

const bytesOf = (text: string): Buffer => Buffer.from(text)

test("each line comes once, with an end that tells whether it is whole", () => {
  expect([...linesIn(bytesOf("a\n\nbc"))]).toEqual([
    [0, 1],
    [2, 2],
    [3, 5],
  ])
  expect([...linesIn(bytesOf("a\n"))]).toEqual([[0, 1]])
  expect([...linesIn(bytesOf(""))]).toEqual([])
  expect(["", "a", "\n", "a\nb", "a\nb\n"].map((text) => endOfLines(bytesOf(text)))).toEqual([0, 0, 1, 2, 4])
})

test("the lines and their newlines are all of the bytes", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a", "ü", "\n", "\r", "\n\n")), (parts) => {
      const bytes = bytesOf(parts.join(""))
      const lines = [...linesIn(bytes)].map(([from, to]) => bytes.toString("utf8", from, to))
      const wanted = parts.join("").split("\n")
      // Behind the last newline, there is no line.
      expect(lines).toEqual(wanted.at(-1) === "" ? wanted.slice(0, -1) : wanted)
      expect(bytes.toString("utf8", 0, endOfLines(bytes))).toBe(parts.join("").replace(/[^\n]*$/, ""))
    }),
  )
})
