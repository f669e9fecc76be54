import { expect, test } from "bun:test"
import fc from "fast-check"
import { distance, nearNames } from "../../../src/base/text.ts"

test.each([
  ["", "", 0],
  ["abc", "", 3],
  ["chekpoint", "checkpoint", 1],
  ["serach", "search", 1],
  ["hceckpoint", "checkpoint", 1],
  ["kitten", "sitting", 3],
  ["ca", "abc", 3],
])("%p and %p: %p", (a, b, far) => {
  expect(distance(a, b)).toBe(far)
})

test("the same in both directions, 0 only for the same, never more than the longer one", () => {
  const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 })
  fc.assert(
    fc.property(text, text, (a, b) => {
      const far = distance(a, b)
      expect(far).toBe(distance(b, a))
      expect(far === 0).toBe(a === b)
      expect(far).toBeLessThanOrEqual(Math.max(a.length, b.length))
    }),
  )
})

test("names that are like a typed one, nearest first", () => {
  const names = ["Read", "Bash", "BashOutput", "mcp__shop__basket", "Task"]
  expect(nearNames("Bsh", names)).toEqual(["Bash"])
  expect(nearNames("bash", names)).toEqual(["Bash", "BashOutput"])
  expect(nearNames("basket", names)).toEqual(["mcp__shop__basket"])
  expect(nearNames("walrus", names)).toEqual([])
})
