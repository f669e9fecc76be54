/** What the evidence of a project makes of the order of its restores. */
import { expect, test } from "bun:test"
import type { Trial } from "../../../src/restore/learning/note-uses.ts"
import { weightsOf } from "../../../src/restore/learning/note-uses.ts"

const trial = (text: string, used: boolean, more: Partial<Trial> = {}): Trial => ({
  kind: "name",
  text,
  cell: "used, some, new",
  shown: true,
  used,
  found: false,
  ...more,
})
const times = (n: number, make: (i: number) => Trial): Trial[] => Array.from({ length: n }, (_, i) => make(i))

const weightOf = (rows: ReturnType<typeof weightsOf>, what: string): number | undefined =>
  rows.find(({ item, cell }) => (item === "" ? cell : item) === what)?.weight

test("without evidence there is no weight, and a little evidence changes little", () => {
  expect(weightsOf([])).toEqual([])
  const [row] = weightsOf([trial("fireKiln", false)])
  expect(row).toMatchObject({ shown: 1, used: 0, item: "" })
  expect(row!.weight).toBeGreaterThan(0.9)
  expect(row!.weight).toBeLessThan(1.1)
})

test("what is used again and again rises, what never is falls, within a factor of two", () => {
  const rows = weightsOf([
    ...times(30, (i) => trial(`other${i}`, i % 6 === 0)),
    ...times(8, () => trial("fireKiln", true)),
    ...times(8, () => trial("neverUsed", false)),
  ])
  expect(weightOf(rows, "fireKiln")).toBe(2)
  expect(weightOf(rows, "neverUsed")).toBe(0.5)
  expect(weightOf(rows, "used, some, new")).toBeGreaterThan(0.8)
  expect(weightOf(rows, "used, some, new")).toBeLessThan(1.25)
})

test("only the first time of an item counts for its cell", () => {
  const once = times(20, (i) => trial(`name${i}`, false))
  const before = weightOf(weightsOf(once), "used, some, new")
  const after = weightOf(weightsOf([...once, ...times(20, () => trial("name0", true))]), "used, some, new")
  expect(after).toBe(before!)
})

test("cells are compared within their kind: a project in which more is used of everything has the same order", () => {
  const cells = ["used, some, new", "used, often, new", "used, once, new"]
  const rates = [0.176, 0.24, 0.175]
  const rows = weightsOf(
    cells.flatMap((cell, c) =>
      times(200, (i) => trial(`${c}-${i}`, i < Math.round(200 * rates[c]! * 3), { cell })),
    ),
  )
  for (const cell of cells) {
    expect(weightOf(rows, cell)).toBeGreaterThan(0.9)
    expect(weightOf(rows, cell)).toBeLessThan(1.1)
  }
})

test("what was left out and had to be found was needed; what was shown and found elsewhere was not used", () => {
  const leftOut = weightsOf(times(9, (i) => trial(`n${i}`, false, { shown: false, found: true })))
  const shown = weightsOf(times(9, (i) => trial(`n${i}`, false, { found: true })))
  expect(leftOut[0]!.used).toBe(9)
  expect(shown[0]!.used).toBe(0)
})
