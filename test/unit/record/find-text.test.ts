/** Where a text stands in a line. */
import { expect, test } from "bun:test"
import { textFinder } from "../../../src/record/find-text.ts"

/** Of U+FFFD, which takes three bytes, one was filled: the rest stayed, and the line was no UTF-8 any more. */
test("U+FFFD is found with all its bytes, and a byte that is no character with its one", () => {
  const written = Buffer.from(JSON.stringify({ a: "a walrus \ufffd here" }))
  const from = written.indexOf("walrus")
  expect(textFinder("walrus \ufffd")(written)).toEqual([[from, from + 10]])
  const stray = Buffer.from([...written.subarray(0, from + 7), 0x82, ...Buffer.from(' here"}')])
  expect(textFinder("walrus \ufffd")(stray)).toEqual([[from, from + 8]])
  const cut = Buffer.from([...written.subarray(0, from + 7), 0xef, 0xbf, ...Buffer.from('"}')])
  expect(textFinder("walrus")(cut)).toEqual([[from, from + 6]])
})
