/** How hits share the room for what is shown. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { roomOfHits, shareOut } from "../../../src/find/hit-budget.ts"

const sum = (some: readonly number[]): number => some.reduce((all, one) => all + one, 0)
const long = (score: number) => ({ score, wants: 100_000 })

describe("roomOfHits", () => {
  test("equally good hits get equal room", () => {
    const alike = (wants: number) => roomOfHits(Array.from({ length: 10 }, () => ({ score: 7, wants })))
    expect(alike(900)).toEqual(Array(10).fill(400))
    expect(alike(100_000)).toEqual(Array(10).fill(600))
    expect(roomOfHits([])).toEqual([])
  })

  test("a much better hit is shown at length, and the others are still shown", () => {
    const rooms = roomOfHits([long(10), ...Array.from({ length: 9 }, () => long(5))])
    expect(rooms[0]).toBeGreaterThan(1200)
    expect(rooms[0]).toBeLessThanOrEqual(1500)
    for (const room of rooms.slice(1)) expect(room).toBeGreaterThanOrEqual(250)
  })

  test("room that one hit does not need goes to the others", () => {
    const rooms = roomOfHits([{ score: 10, wants: 120 }, long(6), long(6)])
    expect(rooms).toEqual([120, 1500, 1500])
  })

  test("with a budget, all hits together get no more", () => {
    const rooms = roomOfHits([{ score: 2, wants: 9000 }, ...Array(2).fill({ score: 1, wants: 9000 })], 2600)
    expect(rooms.reduce((sum, room) => sum + room, 0)).toBeLessThanOrEqual(2600)
    expect(rooms[0]).toBeGreaterThan(1400)
  })

  test("short turns get 4,000 together; the first few of long ones are shown at length", () => {
    const falling = (wants: number) =>
      roomOfHits(Array.from({ length: 10 }, (_, n) => ({ score: 20 - n, wants })))
    expect(sum(falling(1000))).toBeWithin(3990, 4001)
    const rooms = falling(100_000)
    expect(sum(rooms)).toBeWithin(5990, 6001)
    expect(sum(rooms.slice(0, 4))).toBeGreaterThan(3500)
  })

  test("for any hits: at most 40 % of all their text, and at most 1,500 and its own length each", () => {
    const hit = fc.record({
      score: fc.double({ min: 0, max: 100, noNaN: true }),
      wants: fc.integer({ min: 0, max: 5000 }),
    })
    fc.assert(
      fc.property(fc.array(hit, { maxLength: 16 }), (some) => {
        const hits = some.toSorted((a, b) => b.score - a.score)
        const rooms = roomOfHits(hits)
        expect(rooms).toHaveLength(hits.length)
        const fills = sum(hits.map(({ wants }) => Math.min(wants, 1500)))
        expect(sum(rooms)).toBeLessThanOrEqual(Math.max(4000, 0.4 * fills))
        for (const [n, room] of rooms.entries()) {
          expect(room).toBeGreaterThanOrEqual(Math.min(hits[n]!.wants, 250))
          expect(room).toBeLessThanOrEqual(Math.min(hits[n]!.wants, 1500))
        }
      }),
    )
  })
})

describe("shareOut", () => {
  test("shares in proportion, then shares the remainder again", () => {
    expect(shareOut(100, [1000, 1000], [3, 1])).toEqual([75, 25])
    expect(shareOut(100, [10, 1000, 1000], [2, 1, 1])).toEqual([10, 45, 45])
    expect(shareOut(100, [10, 20, 0], [1, 1, 1])).toEqual([10, 20, 0])
    expect(shareOut(0, [10], [1])).toEqual([0])
  })
})
