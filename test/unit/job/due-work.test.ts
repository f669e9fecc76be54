/** How often slow work is due. */
import { expect, test } from "bun:test"
import { utimesSync } from "node:fs"
import { join } from "node:path"
import { hashName } from "../../../src/base/json-files.ts"
import { allDue, probeDue, sweepDue, vectorsDue } from "../../../src/job/due-work.ts"
import { tempFolder } from "../../support/temp.ts"

const MINUTE = 60_000

test("a folder is due once an hour, each for itself", () => {
  using state = tempFolder()
  // Stamps are written now, and must not be from the future.
  const now = Date.now() + 1000
  expect(["/a", "/b", "/a"].map((folder) => sweepDue(folder, state.path, now))).toEqual([true, true, false])
  const stamp = join(state.path, "swept", hashName("/a"))
  const age = (minutes: number): void => utimesSync(stamp, now / 1000, (now - minutes * MINUTE) / 1000)
  age(59)
  expect(sweepDue("/a", state.path, now)).toBe(false)
  age(61)
  expect(sweepDue("/a", state.path, now)).toBe(true)
  // The clock was set back: a stamp from the future would keep the work away until then.
  age(-10)
  expect(sweepDue("/a", state.path, now)).toBe(true)
})

test("other work is due once a day, each kind for itself", () => {
  using state = tempFolder()
  // Stamps are written now, and must not be from the future.
  const now = Date.now() + 1000
  for (const [due, name] of [
    [probeDue, "probe"],
    [vectorsDue, "vectors"],
    [allDue, "all"],
  ] as const) {
    expect([due(state.path, now), due(state.path, now)]).toEqual([true, false])
    utimesSync(join(state.path, "swept", name), now / 1000, (now - 23 * 60 * MINUTE) / 1000)
    expect(due(state.path, now)).toBe(false)
    utimesSync(join(state.path, "swept", name), now / 1000, (now - 25 * 60 * MINUTE) / 1000)
    expect(due(state.path, now)).toBe(true)
  }
})
