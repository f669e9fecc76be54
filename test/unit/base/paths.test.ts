import { describe, expect, test } from "bun:test"
import { win32 } from "node:path"
import { isWithin, literalStart } from "../../../src/base/globs.ts"
import { fromWindows, isOnDrive, slashing, withSlashes } from "../../../src/base/path.ts"

describe("windows path", () => {
  const path = slashing(win32)

  test.each([
    ["C:\\Users\\dev\\a.ts", "C:/Users/dev/a.ts"],
    ["c:\\Users", "C:/Users"],
    ["c:/Users/dev", "C:/Users/dev"],
    ["\\\\?\\C:\\Users\\dev", "C:/Users/dev"],
    ["\\\\.\\c:\\Users\\dev", "C:/Users/dev"],
    ["\\\\server\\share\\a", "//server/share/a"],
    ["\\\\?\\UNC\\server\\share\\a", "//server/share/a"],
    ["..\\a\\b", "../a/b"],
    ["a/b", "a/b"],
  ])("%p, said by Windows, is %p", (said, ours) => {
    expect(fromWindows(said)).toBe(ours)
  })

  test.each([
    ["C:\\a", true],
    ["c:/a", true],
    ["\\\\server\\share", true],
    ["//server/share", true],
    // On whatever drive the program happens to be.
    ["\\a", false],
    ["/a", false],
    ["C:a", false],
    ["a\\b", false],
    ["", false],
  ])("%p is on a drive: %p", (text, is) => {
    expect(isOnDrive(text)).toBe(is)
  })

  describe("node:path for Windows, with slashes", () => {
    test.each([
      ["join", path.join("C:\\Users", "dev", "..", "a"), "C:/Users/a"],
      ["join of a share", path.join("//server/share", "a"), "//server/share/a"],
      ["dirname", path.dirname("C:/Users/dev"), "C:/Users"],
      ["dirname of a root is itself, so that looking upwards ends", path.dirname("C:/"), "C:/"],
      ["dirname of a share's root", path.dirname("//server/share/"), "//server/share/"],
      ["basename", path.basename("C:\\a\\b.jsonl", ".jsonl"), "b"],
      ["normalize", path.normalize("c:\\a\\.\\b\\..\\c"), "C:/a/c"],
      ["resolve", path.resolve("C:/a/b", "..\\c"), "C:/a/c"],
      ["resolve on another drive", path.resolve("C:/a", "D:\\b"), "D:/b"],
      ["relative, whatever the case", path.relative("C:/Dev/app", "c:/dev/app/src/a.ts"), "src/a.ts"],
    ])("%s", (_name, got, expected) => {
      expect(got).toBe(expected)
    })

    test("looking upwards from a folder ends at its drive", () => {
      const folders = []
      for (let folder = "C:/a/b"; ; folder = path.dirname(folder)) {
        folders.push(folder)
        if (folder === path.dirname(folder)) break
      }
      expect(folders).toEqual(["C:/a/b", "C:/a", "C:/"])
    })
  })

  test("what is no Windows path stays, in transcripts of any system", () => {
    for (const text of ["/home/dev\\x", "a\\b", "\\d+", "C:", "https://a/b"])
      expect(withSlashes(text)).toBe(text)
  })
})

/** Patterns of folders. */
describe("globs", () => {
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
})
