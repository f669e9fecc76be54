/** Small JSON files: what a reader finds, and what is left of those that are taken. */
import { expect, test } from "bun:test"
import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { isMissing } from "../../../src/base/errors.ts"
import {
  dropFile,
  fileNamesIn,
  hashName,
  readJson,
  takeFile,
  writeJson,
} from "../../../src/base/json-files.ts"
import { tempFolder } from "../../support/temp.ts"

test("what is written is read, in a folder of our own", () => {
  using folder = tempFolder()
  const file = join(folder.path, "ours", `${hashName("a/b\0c")}.json`)
  writeJson(file, { a: [1, "ü"] })
  expect(readJson(file)).toEqual({ a: [1, "ü"] })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder.path, "ours")).mode & 0o777).toBe(0o700)
  expect(fileNamesIn(join(folder.path, "ours"))).toEqual([`${hashName("a/b\0c")}.json`])
})

test("names are what earlier versions have given", () => {
  expect(hashName("5e551011-0000-4000-8000-000000000001")).toBe(
    Bun.hash.xxHash64("5e551011-0000-4000-8000-000000000001").toString(16),
  )
})

test("half a file, a folder, and nothing at all are no JSON", () => {
  using folder = tempFolder()
  writeFileSync(join(folder.path, "half"), '{"a":')
  mkdirSync(join(folder.path, "folder"))
  for (const name of ["half", "folder", "nothing", "half/below"])
    expect(readJson(join(folder.path, name))).toBeUndefined()
})

test("a file is taken once, and dropped however often", () => {
  using folder = tempFolder()
  const [file, taken] = [join(folder.path, "a.json"), join(folder.path, "a.taken")]
  writeJson(file, 1)
  expect(takeFile(file, taken)).toBe(true)
  expect(takeFile(file, taken)).toBe(false)
  expect(readdirSync(folder.path)).toEqual(["a.taken"])
  dropFile(taken)
  dropFile(taken)
  expect(fileNamesIn(folder.path)).toEqual([])
})

test("a folder that cannot be listed has no names only if the caller says so", () => {
  using folder = tempFolder()
  const file = join(folder.path, "file")
  writeFileSync(file, "")
  expect(fileNamesIn(join(folder.path, "none"), isMissing)).toEqual([])
  expect(fileNamesIn(file)).toEqual([])
  expect(() => fileNamesIn(folder.path.repeat(200), isMissing)).toThrow("ENAMETOOLONG")
})
