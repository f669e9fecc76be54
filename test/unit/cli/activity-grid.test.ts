/** The grid of weeks: which days, and how dark. */
import { expect, test } from "bun:test"
import { gridOf } from "../../../src/cli/stats/activity-grid.ts"

// A Wednesday.
const TODAY = "2026-03-04"

test("from the first week with activity until today", () => {
  const grid = gridOf([{ day: "2026-02-21", turns: 1 }], TODAY, 53, 4)
  expect(grid.map(({ days }) => days[0]!.day)).toEqual(["2026-02-16", "2026-02-23", "2026-03-02"])
  expect(grid.map(({ days }) => days.length)).toEqual([7, 7, 3])
  expect(grid.map(({ month }) => month)).toEqual([undefined, 3, undefined])
})

test("as many weeks as fit; the darkest day of those is the darkest shade", () => {
  const days = [
    { day: "2025-01-01", turns: 900 },
    { day: "2026-02-24", turns: 1 },
    { day: "2026-03-03", turns: 5 },
    { day: "2026-03-04", turns: 20 },
  ]
  const grid = gridOf(days, TODAY, 2, 4)
  const shades = new Map(grid.flatMap((week) => week.days.map(({ day, shade }) => [day, shade])))
  expect(shades.size).toBe(10)
  expect(["2026-02-24", "2026-02-25", "2026-03-03", "2026-03-04"].map((day) => shades.get(day))).toEqual([
    1, 0, 1, 4,
  ])
  expect(gridOf(days, TODAY, 99, 4)).toHaveLength(53)
})

test("a year's end and a leap day", () => {
  const grid = gridOf([{ day: "2027-12-27", turns: 1 }], "2028-03-01", 53, 4)
  expect(grid.flatMap(({ days }) => days.map(({ day }) => day)).slice(-4)).toEqual([
    ...["2028-02-27", "2028-02-28", "2028-02-29", "2028-03-01"],
  ])
  expect(grid.map(({ month }) => month).filter(Boolean)).toEqual([1, 2, 3])
})
