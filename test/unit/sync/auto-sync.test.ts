import { expect, test } from "bun:test"
import { isSyncDue, noteAutoSync, pauseAfter, readAutoSync } from "../../../src/sync/sync-again.ts"
import { tempFolder } from "../../support/temp.ts"

const MINUTE = 60_000

test("at most every five minutes, ever more seldom while it fails, at least once an hour", () => {
  expect([0, 1, 2, 3, 4, 50].map((failures) => pauseAfter(failures) / MINUTE)).toEqual([
    5, 10, 20, 40, 60, 60,
  ])
  const tried = 1_000_000_000
  const ok = { tried, failures: 0, failure: null }
  expect(isSyncDue(ok, tried + 5 * MINUTE - 1)).toBe(false)
  expect(isSyncDue(ok, tried + 5 * MINUTE)).toBe(true)
  expect(isSyncDue({ ...ok, failures: 2 }, tried + 19 * MINUTE)).toBe(false)
  expect(isSyncDue({ ...ok, failures: 2 }, tried + 20 * MINUTE)).toBe(true)
  // The clock was set back.
  expect(isSyncDue(ok, tried - 1)).toBe(true)
})

test("what went wrong is kept until it goes well; nothing, or half a file, is no failure", async () => {
  using folder = tempFolder()
  const nothing = { tried: 0, failures: 0, failure: null }
  expect(readAutoSync(folder.path)).toEqual(nothing)
  const failure = {
    target: "/x",
    code: "target-missing",
    message: "no such folder",
    hint: null,
    since: "2026-01-01",
  }
  noteAutoSync(folder.path, { tried: 5, failures: 1, failure })
  expect(readAutoSync(folder.path)).toEqual({ tried: 5, failures: 1, failure })
  await Bun.write(`${folder.path}/sync/auto.json`, '{"tried":')
  expect(readAutoSync(folder.path)).toEqual(nothing)
})
