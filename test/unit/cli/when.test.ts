import { expect, test } from "bun:test"
import { ageOf, ago, dated, period } from "../../../src/cli/screen.ts"

const now = Date.parse("2026-03-10T12:00:00Z")

test.each([
  ["2026-03-10T11:59:30Z", "just now"],
  ["2026-03-10T11:55:00Z", "5 min ago"],
  ["2026-03-10T06:59:00Z", "5 h ago"],
  ["2026-03-10T00:00:00Z", "12 h ago"],
  ["2026-03-09T23:59:00Z", "yesterday 23:59"],
  ["2026-03-08T23:59:00Z", "2 days ago"],
  ["2026-03-04T00:00:00Z", "6 days ago"],
  ["2026-03-03T11:00:00Z", "3 Mar 11:00"],
  ["2025-12-31T23:05:00Z", "31 Dec 2025 23:05"],
  ["2026-03-11T11:00:00Z", "11 Mar 11:00"],
  ["nonsense", "unknown"],
  [null, "unknown"],
])("%p was %s", (time, said) => expect(ago(time, now)).toBe(said))

test("half an hour before is not yesterday, after midnight", () => {
  const midnight = Date.parse("2026-03-10T00:10:00Z")
  expect(ago("2026-03-09T23:40:00Z", midnight)).toBe("30 min ago")
})

test("a period names its day once", () => {
  expect(period("2026-03-02T08:05:09Z", "2026-03-02T09:10:00Z", now)).toBe("2 Mar 08:05 to 09:10")
  expect(period("2025-03-02T08:05:09Z", "2026-03-02T09:10:00Z", now)).toBe("2 Mar 2025 08:05 to 2 Mar 09:10")
  expect(period("2026-03-02T08:05:09Z", null, now)).toBe("2 Mar 08:05")
  expect(dated(null, now)).toBe("unknown")
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
