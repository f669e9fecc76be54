/** Patterns of folders. */
import { expect, test } from "bun:test"
import { isWithin, literalStart } from "../../../src/base/globs.ts"

test.each([
  ["/a/b", "/a/b", true],
  ["/a/b/", "/a/b/c", true],
  ["/a/b", "/a/bc", false],
  ["/a/b/c", "/a/b", false],
  ["/a/*", "/a", false],
  ["/a/*/c", "/a/b/c/d", true],
  ["/a/*/c", "/a/b/x/c", false],
  ["/a/**/c", "/a/c", true],
  ["/a/**/c", "/a/b/x/c/y", true],
  ["/a/x*y?z", "/a/x--y1z", true],
  ["/a/x*y?z", "/a/x--yz", false],
  ["/", "/a", true],
  ["/a/[b]", "/a/b", false],
  ["/a/*(old)", "/a/shop (old)", true],
  ["/a/?(b)", "/a/(b)", false],
  ["/a/{b,c}", "/a/b", false],
  ["/a/{b,c}", "/a/{b,c}/d", true],
  ["/a/[bc]", "/a/b", false],
  ["/a/!b", "/a/!b", true],
  ["/a/b\\c", "/a/b\\c", true],
  ["/a/?", "/a/😀", true],
  ["C:/dev/**", "C:/dev/a", true],
  ["C:/dev", "D:/work", false],
])("%s and %s: %p", (pattern, folder, expected) => expect(isWithin(pattern, folder)).toBe(expected))

test.each([
  ["/a/b/*/c", "/a/b"],
  ["/*", "/"],
  ["C:/dev/*", "C:/dev"],
])("%s begins with the folder %s", (pattern, folder) => expect(literalStart(pattern)).toBe(folder))

test("a pattern that could run for ever does not", () => {
  const started = performance.now()
  expect(isWithin(`/${"*a".repeat(40)}b`, `/${"a".repeat(4000)}`)).toBe(false)
  expect(performance.now() - started).toBeLessThan(1000)
})
