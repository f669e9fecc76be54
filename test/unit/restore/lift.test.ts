/** What showing something is worth: the difference of two shares and its interval. */
import { expect, test } from "bun:test"
import { LEAST_LEFT_OUT, LEAST_RESTORES, liftOf, wilson } from "../../../src/cli/commands/learn.ts"
import type { Trial } from "../../../src/restore/learning/note-uses.ts"

const trials = (n: number, used: number, shown: boolean): Trial[] =>
  Array.from({ length: n }, (_, i) => ({
    kind: "path",
    text: `f${i}`,
    cell: "used, once, new",
    shown,
    used: i < used,
    found: false,
  }))

test("Wilson's and Newcombe's own examples", () => {
  // Newcombe, Statistics in Medicine 17 (1998): 81 of 263, and 56 of 70 against 48 of 80.
  const [least, most] = wilson({ n: 263, used: 81 })
  expect(least).toBeCloseTo(0.2553, 4)
  expect(most).toBeCloseTo(0.3662, 4)
  const lift = liftOf([[...trials(70, 56, true), ...trials(80, 48, false)]])!
  expect(lift.lift).toBeCloseTo(0.2, 10)
  expect(lift.interval[0]).toBeCloseTo(0.0524, 4)
  expect(lift.interval[1]).toBeCloseTo(0.3339, 4)
})

test("no interval leaves the possible, even where nothing or everything is used", () => {
  const { interval, lift } = liftOf([[...trials(40, 40, true), ...trials(40, 0, false)]])!
  expect(lift).toBe(1)
  expect(interval[0]).toBeGreaterThan(0.8)
  expect(interval[1]).toBeCloseTo(1, 10)
})

test("only restores in which something was left out count, and a few of them tell nothing", () => {
  const one = [...trials(10, 5, true), ...trials(LEAST_LEFT_OUT / LEAST_RESTORES, 1, false)]
  expect(liftOf([trials(10, 10, true)])).toBeUndefined()
  const few = liftOf([trials(50, 50, true), ...Array.from({ length: LEAST_RESTORES - 1 }, () => one)])!
  expect(few.shown.n).toBe(10 * (LEAST_RESTORES - 1))
  expect(few.isTelling).toBe(false)
  expect(liftOf(Array.from({ length: LEAST_RESTORES }, () => one))!.isTelling).toBe(true)
})
