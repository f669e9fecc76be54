/** Which lines of a turn are shown around a match. */
import { expect, test } from "bun:test"
import { stretchAround } from "../../../src/cli/server/hit-passages.ts"

const linesOf = (...sizes: readonly number[]) =>
  sizes.map((size, message) => ({ text: "x".repeat(size - 1), message, title: "", isAnswer: false }))

/** A long line was left out, and only the heading before it was shown. */
test("the line of the match is always shown, however long it is", () => {
  const lines = linesOf(100, 10, 900, 10, 10)
  for (const room of [50, 200, 910, 1000, 5000]) {
    const { from, to } = stretchAround(lines, 2, room)
    expect({ room, isShown: from <= 2 && to > 2 }).toEqual({ room, isShown: true })
  }
  expect(stretchAround(lines, 2, 200)).toEqual({ from: 2, to: 3 })
})

test("lines before it take a quarter of the room, if it fits beside them", () => {
  expect(stretchAround(linesOf(10, 10, 10, 10, 10, 10, 10, 10), 4, 40)).toEqual({ from: 3, to: 7 })
})
