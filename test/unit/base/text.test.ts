import { expect, test } from "bun:test"
import { addressShown, bytes, withoutPasswords } from "../../../src/base/text.ts"

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

test.each([
  ["https://bob:moss7@example.com/a", "https://bob:***@example.com/a"],
  ["cannot fetch http://bob:moss7@127.0.0.1:80/a: no", "cannot fetch http://bob:***@127.0.0.1:80/a: no"],
  ["two: ftp://a:moss7@h and postgres://b:moss8@h", "two: ftp://a:***@h and postgres://b:***@h"],
  ["https://a:mo/s?s#7@@h/x", "https://a:***@h/x"],
  ["postgres:bob:moss7@h/db", "postgres:bob:***@h/db"],
  ["https://0123456789abcdefx@h/a", "https://***@h/a"],
  ["https://h/a?x=1&access_token=moss7&y=2", "https://h/a?x=1&access_token=***&y=2"],
  // What is no password stays.
  ["https://h:8443/npm/@scope/a@2", "https://h:8443/npm/@scope/a@2"],
  ["postgres://bob@h:5432/db", "postgres://bob@h:5432/db"],
  ["https://h/a?key_id=7&page=2", "https://h/a?key_id=7&page=2"],
  ["a@b.example: C:\\x and git@h:a/b", "a@b.example: C:\\x and git@h:a/b"],
])("addresses without their passwords: %s", (text, shown) => {
  expect(withoutPasswords(text)).toBe(shown)
})

test("of an address that was typed, the password ends at the last @", () => {
  expect(addressShown("postgres://bob:moss 7@x y@h/db")).toBe("postgres://bob:***@h/db")
  expect(addressShown("/srv/a b:c@d")).toBe("/srv/a b:c@d")
})

test("takes time in proportion to the text", () => {
  for (const piece of ["https://", "https://a:", "a:b@", "?token=", "&key=a", "https://a:b@"]) {
    const start = performance.now()
    withoutPasswords(piece.repeat((1 << 18) / piece.length))
    expect(performance.now() - start).toBeLessThan(5000)
  }
})
