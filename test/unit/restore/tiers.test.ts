import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type Aged, coldOf } from "../../../src/restore/learning/tiers.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR
const now = Date.parse("2026-04-05T09:00:00Z")

const aged = (turn: number, days: number, more: Partial<Aged> = {}): Aged => ({
  turn,
  handle: `turn${turn}`,
  born: now - days * DAY,
  isNote: false,
  hasSummary: false,
  bytes: 100,
  hasTools: false,
  hasFiles: false,
  uses: [],
  ...more,
})

const cold = (turns: readonly Aged[], retention: number, maxSize: number) => {
  const { byAge, bySize } = coldOf(turns, { retention, maxSize }, now)
  return { byAge: [...byAge].sort((a, b) => a - b), bySize: [...bySize].sort((a, b) => a - b) }
}

describe("cold turns", () => {
  test("without limits there are none, however old", () => {
    expect(cold([aged(1, 4000), aged(2, 1)], 0, 0)).toEqual({ byAge: [], bySize: [] })
  })

  test("by age: older than the retention and never used", () => {
    const turns = [aged(1, 31), aged(2, 30), aged(3, 400, { uses: [now - 390 * DAY] }), aged(4, 0)]
    expect(cold(turns, 30, 0)).toEqual({ byAge: [1], bySize: [] })
  })

  test("by size: only as many as needed, the least important first", () => {
    const turns = [aged(1, 20), aged(2, 10), aged(3, 20, { hasTools: true }), aged(4, 1)]
    expect(cold(turns, 0, 400)).toEqual({ byAge: [], bySize: [] })
    expect(cold(turns, 0, 399)).toEqual({ byAge: [], bySize: [1] })
    expect(cold(turns, 0, 200)).toEqual({ byAge: [], bySize: [1, 3] })
  })

  test("by size: only with a confidence of at most 0.15, and never used", () => {
    const turns = [
      aged(1, 0, { born: now - 129 * HOUR }),
      aged(2, 0, { born: now - 130 * HOUR }),
      aged(3, 90, { uses: [now - 89 * DAY] }),
    ]
    expect(cold(turns, 0, 1)).toEqual({ byAge: [], bySize: [2] })
  })

  test("what is cold by age takes no room of the others", () => {
    expect(cold([aged(1, 40), aged(2, 20), aged(3, 10)], 30, 200)).toEqual({ byAge: [1], bySize: [] })
  })

  test("a turn of unknown age stays", () => {
    expect(cold([aged(1, 0, { born: undefined })], 1, 1)).toEqual({ byAge: [], bySize: [] })
  })

  test("what the model asked to keep stays", () => {
    expect(cold([aged(1, 400, { isNote: true })], 1, 1)).toEqual({ byAge: [], bySize: [] })
  })

  test("equally important turns: the older one goes, then the one whose handle comes first", () => {
    // So long ago that importance has no digits left.
    expect(cold([aged(1, 9000), aged(2, 9001), aged(3, 9000)], 0, 250).bySize).toEqual([2])
    expect(cold([aged(1, 9000), aged(2, 9001), aged(3, 9000)], 0, 150).bySize).toEqual([1, 2])
  })

  const turns = fc.array(
    fc.record({
      days: fc.integer({ min: 0, max: 400 }),
      bytes: fc.integer({ min: 1, max: 1000 }),
      hasTools: fc.boolean(),
      hasFiles: fc.boolean(),
      used: fc.option(fc.integer({ min: 0, max: 400 }), { nil: undefined }),
    }),
    { maxLength: 40 },
  )

  test("the order of the rows and their numbers do not matter: a rebuild has the same turns cold", () => {
    fc.assert(
      fc.property(
        turns,
        fc.integer({ min: 0, max: 60 }),
        fc.integer({ min: 0, max: 20_000 }),
        (all, days, size) => {
          const made = all.map((one, n): Aged => {
            const born = now - one.days * DAY
            const uses = one.used === undefined ? [] : [born + one.used * DAY]
            const { bytes, hasTools, hasFiles } = one
            return {
              turn: n,
              handle: `t${n}`,
              born,
              isNote: false,
              hasSummary: false,
              bytes,
              hasTools,
              hasFiles,
              uses,
            }
          })
          const renumbered = made.map((one) => ({ ...one, turn: 1000 - one.turn })).reverse()
          const { byAge, bySize } = cold(made, days, size)
          const again = cold(renumbered, days, size)
          const back = (some: number[]) => some.map((one) => 1000 - one).sort((a, b) => a - b)
          expect({ byAge: back(again.byAge), bySize: back(again.bySize) }).toEqual({ byAge, bySize })
          const chosen = new Set([...byAge, ...bySize])
          expect(made.filter((one) => chosen.has(one.turn) && one.uses.length > 0)).toEqual([])
        },
      ),
    )
  })
})
