/** Locks of files: who gets them, for how long, and what is left of them. */
import { describe, expect, test } from "bun:test"
import { closeSync, existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { holdLockFile, isLockFree, withLockFile } from "../../../src/base/lock.ts"
import { tempFolder } from "../../support/temp.ts"

const openFiles = (): number => readdirSync("/dev/fd").length

describe("a lock file", () => {
  test("is made, held by one at a time, and free when it is closed", () => {
    using folder = tempFolder()
    const file = join(folder.path, "a.lock")
    const held = holdLockFile(file, 0)!
    expect(holdLockFile(file, 0)).toBeUndefined()
    expect(isLockFree(file, 0)).toBe(false)
    closeSync(held)
    expect(isLockFree(file, 0)).toBe(true)
    const again = holdLockFile(file, 0)
    expect(again).toBeNumber()
    closeSync(again!)
  })

  test("is waited for as long as asked, and no longer", () => {
    using folder = tempFolder()
    const file = join(folder.path, "a.lock")
    const held = holdLockFile(file, 0)!
    const start = performance.now()
    expect(holdLockFile(file, 30)).toBeUndefined()
    expect(performance.now() - start).toBeGreaterThanOrEqual(30)
    closeSync(held)
  })

  test("that does not exist is free, and is not made by looking", () => {
    using folder = tempFolder()
    const file = join(folder.path, "a.lock")
    expect(isLockFree(file, 0)).toBe(true)
    expect(existsSync(file)).toBe(false)
  })

  test("has a folder, or none is held", () => {
    using folder = tempFolder()
    const file = join(folder.path, "none", "a.lock")
    expect(() => holdLockFile(file, 0)).toThrow("ENOENT")
    expect(isLockFree(file, 0)).toBe(true)
  })
})

test("work is done under the lock, which it gives back even when it fails; otherwise something else is done", () => {
  using folder = tempFolder()
  const file = join(folder.path, "a.lock")
  const before = openFiles()
  const inner = (): string =>
    withLockFile(
      file,
      0,
      () => "twice",
      () => "busy",
    )
  expect(withLockFile(file, 0, inner, () => "never")).toBe("busy")
  const fails = (): never => {
    throw new Error("no")
  }
  expect(() => withLockFile(file, 0, fails, fails)).toThrow("no")
  expect(inner()).toBe("twice")
  expect(openFiles()).toBe(before)
})
