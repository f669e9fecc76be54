import { expect, test } from "bun:test"
import { momentOf } from "../../../src/base/local-time.ts"

const NOW = Date.parse("2026-03-10T12:00:00Z")

test("a moment is a day, a day and a time, or an age", () => {
  expect(momentOf("2026-03-01T08:30Z", NOW)).toBe("2026-03-01T08:30:00.000Z")
  expect(momentOf("2024-02-29T00:00Z", NOW)).toBe("2024-02-29T00:00:00.000Z")
  expect(momentOf("2026-03-01", NOW)).toBe(new Date(2026, 2, 1).toISOString())
  expect(momentOf("2026-03-01 18:30", NOW)).toBe(new Date(2026, 2, 1, 18, 30).toISOString())
  expect(momentOf("12h", NOW)).toBe("2026-03-10T00:00:00.000Z")
})

test.each([
  "2026-02-31",
  "2025-02-29",
  "2026-04-31 10:00",
  "2026-13-01",
  "2026-00-10",
  "2026-03-01 25:00",
  "since 2026-03-01",
  "2026-03-01 or so",
  "999999y",
  "soon",
  "",
])("%s is none", (text) => expect(momentOf(text, NOW)).toBeUndefined())
