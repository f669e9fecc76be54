import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { confidence, importance } from "../../../src/restore/learning/tiers.ts"

const HOUR = 3_600_000
const DAY = 24 * HOUR
const born = Date.parse("2026-01-05T09:00:00Z")

describe("confidence", () => {
  test.each([
    [0, 0.8],
    [1, 0.795],
    [20, 0.7],
    [130, 0.15],
    [140, 0.1],
    [141, 0.1],
    [10_000, 0.1],
  ])("after %p hours without use it is %p", (hours, expected) => {
    expect(confidence(born, [], born + hours * HOUR)).toBeCloseTo(expected, 12)
  })

  test("a turn that holds Claude Code's own summary starts at 1, and falls as fast", () => {
    expect(confidence(born, [], born, true)).toBe(1)
    expect(confidence(born, [], born + 130 * HOUR, true)).toBeCloseTo(0.35, 12)
    expect(confidence(born, [], born + 10_000 * HOUR, true)).toBeCloseTo(0.1, 12)
  })

  test("a use adds 0.03 at its own time", () => {
    expect(confidence(born, [born + 20 * HOUR], born + 20 * HOUR)).toBeCloseTo(0.73, 12)
    expect(confidence(born, [born + 20 * HOUR], born + 40 * HOUR)).toBeCloseTo(0.63, 12)
    // Credit that comes when nothing is left counts from the floor, not from what decayed below it.
    expect(confidence(born, [born + 1000 * HOUR], born + 1000 * HOUR)).toBeCloseTo(0.13, 12)
  })

  test("is at most 1 and loses from there", () => {
    const often = Array.from({ length: 50 }, () => born)
    expect(confidence(born, often, born)).toBe(1)
    expect(confidence(born, often, born + 10 * HOUR)).toBeCloseTo(0.95, 12)
  })

  test("what lies before its birth or after now counts for nothing", () => {
    expect(confidence(born, [born - DAY, born + DAY], born + HOUR)).toBeCloseTo(0.795, 12)
  })

  test("a clock that was set back makes nothing younger than new", () => {
    expect(confidence(born, [], born - 5 * DAY)).toBe(0.8)
  })

  test("how often it is asked for changes nothing: 130 times in one minute", () => {
    const expected = confidence(born, [], born + HOUR)
    for (let n = 0; n < 130; n++) confidence(born, [], born + n * 460)
    expect(confidence(born, [], born + HOUR)).toBe(expected)
  })

  test("follows the definition, step by step, whatever the order of the uses", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 90 * 24 }), { maxLength: 30 }),
        fc.integer({ min: 0, max: 90 * 24 }),
        (hours, until) => {
          // As the design documents have it: hour by hour.
          let stepped = 0.8
          for (let hour = 0; hour <= until; hour++) {
            if (hour > 0) stepped = Math.max(0.1, stepped - 0.005)
            for (const one of hours) if (one === hour) stepped = Math.min(1, stepped + 0.03)
          }
          const uses = hours.map((hour) => born + hour * HOUR)
          const value = confidence(born, uses, born + until * HOUR)
          expect(Math.abs(value - stepped)).toBeLessThan(0.01 * stepped)
          expect(value).toBeGreaterThanOrEqual(0.1)
          expect(value).toBeLessThanOrEqual(1)
        },
      ),
    )
  })
})

describe("importance", () => {
  const plain = { born, uses: 0, hasTools: false, hasFiles: false }

  test.each([
    [plain, 0, 1],
    [plain, 7, 0.5],
    [plain, 14, 0.25],
    [{ ...plain, hasTools: true }, 0, 1.5],
    [{ ...plain, hasFiles: true }, 0, 1.3],
    [{ ...plain, hasTools: true, hasFiles: true }, 7, 0.9],
    [{ ...plain, uses: 1 }, 0, 2],
    [{ ...plain, uses: 7 }, 0, 4],
  ])("of %j after %p days is %p", (turn, days, expected) => {
    expect(importance(turn, born + days * DAY)).toBeCloseTo(expected, 12)
  })
})
