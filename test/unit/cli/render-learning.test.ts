/** What `learn report` says, and when it says that it cannot tell. */
import { expect, test } from "bun:test"
import type { LearningReport } from "../../../src/cli/commands/learn.ts"
import { type Lift, liftOf, renderLearning } from "../../../src/cli/commands/learn.ts"
import { createStyle } from "../../../src/cli/style.ts"
import type { Trial } from "../../../src/restore/learning/note-uses.ts"

const SCREEN = { columns: 100, style: createStyle(false), now: 0 }
const ON = { enabled: true, holdOut: 0 }
const SHARE = { n: 10, used: 4, found: 1 }
const REPORT: LearningReport = {
  restores: 3,
  sessions: 2,
  kinds: { path: SHARE, command: { n: 0, used: 0, found: 0 }, name: SHARE },
  all: { n: 20, used: 8, found: 2 },
  lift: null,
  uses: {},
  waiting: 0,
}

const told = (report: Partial<LearningReport>, options = ON): string =>
  renderLearning({ ...REPORT, ...report }, options, SCREEN).join("\n")

/** So many restores, in each of which so much of ten shown and ten left out is used. */
const lift = (restores: number, shown: number, leftOut: number): Lift => {
  const trial = (isShown: boolean, n: number, used: number): Trial => ({
    ...{ kind: "path", text: `f${n}`, cell: "", found: false },
    ...{ shown: isShown, used: n < used },
  })
  const ten = Array.from({ length: 10 }, (_, n) => n)
  const one = [...ten.map((n) => trial(true, n, shown)), ...ten.map((n) => trial(false, n, leftOut))]
  return liftOf(Array.from({ length: restores }, () => one))!
}

test("shares by kind, and none of what was never shown", () => {
  const text = told({})
  expect(text).toContain("3 restores in 2 sessions")
  expect(text).toMatch(/paths +10 +4 \(40\.0%\) +1 \(10\.0%\)/)
  expect(text).toMatch(/commands +0\n/)
  expect(text).toContain("learn.holdout = 0.1 would leave out a tenth")
})

test("what showing is worth, as far as it can be told", () => {
  expect(told({ lift: lift(2, 8, 1) })).toContain("Too little to say")
  expect(told({ lift: lift(10, 6, 1) })).toMatch(
    /used 50\.0 points more often \(95% interval \+3\d\.\d to \+\d\d\.\d, Newcombe's hybrid score\)\. Showing it helps\./,
  )
  expect(told({ lift: lift(10, 3, 3) })).toContain("0.0 points more often")
  expect(told({ lift: lift(10, 3, 3) })).toContain("the interval contains 0")
  expect(told({ lift: lift(10, 1, 6) })).toMatch(/50\.0 points less often .* Showing it does harm\./)
})

test("nothing yet, work that waits, and learning that is off", () => {
  const off = told({ restores: 0, waiting: 2 }, { enabled: false, holdOut: 0 })
  expect(off).toBe(
    "Off (learn.enabled): nothing new is noted.\nNo restore was followed by work yet.\nThe background job has still to look at 2 sessions.",
  )
})
