import { expect, test } from "bun:test"
import { ageOf, ago, clock } from "../../../src/cli/when.ts"

const now = Date.parse("2026-03-10T12:00:00Z")

test.each([
  ["2026-03-10T11:59:30Z", "just now"],
  ["2026-03-10T11:55:00Z", "5 min ago"],
  ["2026-03-10T06:59:00Z", "5 h ago"],
  ["2026-03-08T11:00:00Z", "2 d ago"],
  ["2026-03-03T11:00:00Z", "2026-03-03"],
  ["2026-03-11T11:00:00Z", "2026-03-11"],
  ["nonsense", "unknown"],
  [null, "unknown"],
])("%p was %s", (time, said) => expect(ago(time, now)).toBe(said))

test("a clock shows the local time", () => {
  expect(clock("2026-03-02T08:05:09.123Z")).toBe("2026-03-02 08:05:09")
  expect(clock(null)).toBe("unknown")
})

test.each([
  ["36h", 36],
  ["90d", 90 * 24],
  ["2w", 14 * 24],
  ["1y", 365 * 24],
])("%p is an age", (word, hours) => expect(ageOf(word)).toBe(hours * 3_600_000))

test.each(["", "90", "d", "-1d", "1.5d", "1m", "90 d", "9999999d"])("%p is no age", (word) => {
  expect(ageOf(word)).toBeUndefined()
})
