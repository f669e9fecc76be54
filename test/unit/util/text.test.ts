import { expect, test } from "bun:test"
import { bytes } from "../../../src/util/text.ts"

test("bytes: two or three digits, and never 1000 of a unit", () => {
  const shown = [0, 999, 1000, 1536, 9949, 9960, 10_400, 999_499, 999_600, 1_000_000, 999_600_000].map(bytes)
  expect(shown).toEqual([
    "0 B",
    "999 B",
    "1.0 KB",
    "1.5 KB",
    "9.9 KB",
    "10 KB",
    "10 KB",
    "999 KB",
    "1.0 MB",
    "1.0 MB",
    "1.0 GB",
  ])
})
