import { expect, test } from "bun:test"
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { encode, replaceFile } from "../../../src/base/edited-file.ts"
import { lineDiff } from "../../../src/claude/install/register.ts"

test("a file written by someone else in the meantime is not overwritten", () => {
  const folder = mkdtempSync(join(tmpdir(), "ctxbridge-file-"))
  const path = join(folder, "settings.json")
  writeFileSync(path, "theirs")
  expect(() => replaceFile(path, encode("ours"), encode("seen"))).toThrow("another program wrote the file")
  expect(() => replaceFile(path, encode("ours"), null)).toThrow("another program wrote the file")
  expect(readFileSync(path, "utf8")).toBe("theirs")
  replaceFile(path, encode("ours"), encode("theirs"))
  expect(readFileSync(path, "utf8")).toBe("ours")
  expect(readdirSync(folder)).toEqual(["settings.json"])
  rmSync(folder, { recursive: true })
})

test.each([
  ["", "", []],
  ["a\n", "a\n", []],
  ["", "a\nb\n", ["+a", "+b"]],
  ["a\r\nb\r\n", "b\n", ["-a", " b"]],
  ["a\nb\nc\nd\ne\nf\n", "a\nB\nc\nd\ne\nF\n", [" a", "-b", "+B", " c", "...", " e", "-f", "+F"]],
])("difference of %j and %j", (before, after, lines) => {
  expect(lineDiff(before, after)).toEqual(lines)
})

test("the difference of long files is quick", () => {
  const long = Array.from({ length: 50_000 }, (_, line) => `line ${line}`)
  const before = long.join("\n")
  expect(lineDiff(before, long.toSpliced(25_000, 0, "new").join("\n"))).toEqual([
    "...",
    " line 24999",
    "+new",
    " line 25000",
  ])
})
