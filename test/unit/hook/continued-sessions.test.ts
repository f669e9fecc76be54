/** Which session continues the one that `/clear` has ended. */
import { expect, test } from "bun:test"
import { existsSync, mkdirSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { CLEAR_LASTS, claimClear, clearedSession, isCleared, rememberClear } from "../../../src/hook/state.ts"
import { tempFolder } from "../../support/temp.ts"

const NOW = 10 * CLEAR_LASTS

test("each ended session is continued once, the latest first, in its own project", () => {
  using folder = tempFolder()
  const { path } = folder
  mkdirSync(join(path, "sessions"))
  rememberClear(path, "/a", "one", NOW)
  rememberClear(path, "/a", "two", NOW + 1)
  expect(clearedSession(path, "/a", 0)).toBe("two")
  expect(claimClear(path, "/b", 0)).toBeUndefined()
  expect([claimClear(path, "/a", 0), claimClear(path, "/a", 0), claimClear(path, "/a", 0)]).toEqual([
    "two",
    "one",
    undefined,
  ])
  expect(readdirSync(join(path, "sessions"))).toEqual([])
})

test("what is too old does not count, and is forgotten when another session ends", () => {
  using folder = tempFolder()
  const { path } = folder
  rememberClear(path, "/a", "old", NOW)
  const later = NOW + CLEAR_LASTS + 1
  expect([isCleared(path, "/a", NOW), isCleared(path, "/a", NOW + 1)]).toEqual([true, false])
  rememberClear(path, "/a", "new", later)
  expect(claimClear(path, "/a", 0)).toBe("new")
  expect(claimClear(path, "/a", 0)).toBeUndefined()
})

test("a session that ends twice is continued once", () => {
  using folder = tempFolder()
  const { path } = folder
  for (const time of [NOW, NOW + 5]) rememberClear(path, "/a", "one", time)
  expect(claimClear(path, "/a", 0)).toBe("one")
  expect(claimClear(path, "/a", 0)).toBeUndefined()
})

test("nothing is made by looking", () => {
  using folder = tempFolder()
  expect(claimClear(folder.path, "/a", 0)).toBeUndefined()
  expect(existsSync(join(folder.path, "sessions"))).toBe(false)
})
