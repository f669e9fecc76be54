import { describe, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import { join } from "node:path"
import fc from "fast-check"
import { CtxError } from "../../../src/base/errors.ts"
import { momentOf } from "../../../src/base/local-time.ts"
import { pageOf, shortLines } from "../../../src/base/pages.ts"
import { addressShown, bytes, distance, nearNames, withoutPasswords } from "../../../src/base/text.ts"

describe("edit distance", () => {
  test.each([
    ["", "", 0],
    ["abc", "", 3],
    ["chekpoint", "checkpoint", 1],
    ["serach", "search", 1],
    ["hceckpoint", "checkpoint", 1],
    ["kitten", "sitting", 3],
    ["ca", "abc", 3],
  ])("%p and %p: %p", (a, b, far) => {
    expect(distance(a, b)).toBe(far)
  })

  test("the same in both directions, 0 only for the same, never more than the longer one", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b", "c"), maxLength: 8 })
    fc.assert(
      fc.property(text, text, (a, b) => {
        const far = distance(a, b)
        expect(far).toBe(distance(b, a))
        expect(far === 0).toBe(a === b)
        expect(far).toBeLessThanOrEqual(Math.max(a.length, b.length))
      }),
    )
  })

  test("names that are like a typed one, nearest first", () => {
    const names = ["Read", "Bash", "BashOutput", "mcp__shop__basket", "Task"]
    expect(nearNames("Bsh", names)).toEqual(["Bash"])
    expect(nearNames("bash", names)).toEqual(["Bash", "BashOutput"])
    expect(nearNames("basket", names)).toEqual(["mcp__shop__basket"])
    expect(nearNames("walrus", names)).toEqual([])
  })
})

describe("text", () => {
  test("bytes: two or three digits, and never 1000 of a unit", () => {
    const shown = [0, 999, 1000, 1536, 9949, 9960, 10_400, 999_499, 999_600, 1_000_000, 999_600_000].map(
      bytes,
    )
    expect(shown).toEqual([
      "0 B",
      "999 B",
      "1.0 KB",
      "1.5 KB",
      "9.9 KB",
      "10 KB",
      "10 KB",
      "999 KB",
      "1.0 MB",
      "1.0 MB",
      "1.0 GB",
    ])
  })

  test.each([
    ["https://bob:moss7@example.com/a", "https://bob:***@example.com/a"],
    ["cannot fetch http://bob:moss7@127.0.0.1:80/a: no", "cannot fetch http://bob:***@127.0.0.1:80/a: no"],
    ["two: ftp://a:moss7@h and postgres://b:moss8@h", "two: ftp://a:***@h and postgres://b:***@h"],
    ["https://a:mo/s?s#7@@h/x", "https://a:***@h/x"],
    ["postgres:bob:moss7@h/db", "postgres:bob:***@h/db"],
    ["https://0123456789abcdefx@h/a", "https://***@h/a"],
    ["https://h/a?x=1&access_token=moss7&y=2", "https://h/a?x=1&access_token=***&y=2"],
    // What is no password stays.
    ["https://h:8443/npm/@scope/a@2", "https://h:8443/npm/@scope/a@2"],
    ["postgres://bob@h:5432/db", "postgres://bob@h:5432/db"],
    ["https://h/a?key_id=7&page=2", "https://h/a?key_id=7&page=2"],
    ["a@b.example: C:\\x and git@h:a/b", "a@b.example: C:\\x and git@h:a/b"],
  ])("addresses without their passwords: %s", (text, shown) => {
    expect(withoutPasswords(text)).toBe(shown)
  })

  test("of an address that was typed, the password ends at the last @", () => {
    expect(addressShown("postgres://bob:moss 7@x y@h/db")).toBe("postgres://bob:***@h/db")
    expect(addressShown("/srv/a b:c@d")).toBe("/srv/a b:c@d")
  })

  test("takes time in proportion to the text", () => {
    for (const piece of ["https://", "https://a:", "a:b@", "?token=", "&key=a", "https://a:b@"]) {
      const start = performance.now()
      withoutPasswords(piece.repeat((1 << 18) / piece.length))
      expect(performance.now() - start).toBeLessThan(5000)
    }
  })
})

/** Local times. */
describe("local time", () => {
  /** Moments from 1894 to 2137, as the engine tells them and as we do. */
  const PROGRAM = `
const { localTimeOf } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/base/local-time.ts"))})
const { hourFinder } = await import(${JSON.stringify(join(import.meta.dir, "../../../src/cli/stats/activity-grid.ts"))})
const moments = Array.from({ length: 3000 }, (_, n) => n * 2_555_555_555 - 2_400_000_000_000 + (n % 1000))
const told = moments.map((ms) => {
  const date = new Date(ms)
  return [date.getFullYear(), date.getMonth() + 1, date.getDate(), date.getHours(), date.getMinutes(), date.getSeconds()].join()
})
const others = moments.filter((ms, n) => {
  const { year, month, day, hour, minute, second } = localTimeOf(ms)
  return [year, month, day, hour, minute, second].join() !== told[n]
})
const isUtc = told.every((text, n) => Number(text.split(",")[3]) === new Date(moments[n]).getUTCHours())
const slotOf = hourFinder()
// From June 2025 on, for almost two years.
const wrong = Array.from({ length: 60_000 }, (_, n) => 1_943_000 + n).filter((quarter) => {
  const date = new Date(quarter * 15 * 60_000)
  const { day, hour } = slotOf(quarter)
  return hour !== date.getHours() || Number(day.slice(8)) !== date.getDate()
})
console.log(JSON.stringify({ isUtc, others, wrong }))
`

  /** We ask the C library, because the engine loads data of time zones of its own: 6 to 10 ms for each short command. */
  test
    .if(existsSync("/usr/share/zoneinfo/Asia/Kolkata"))
    .each(["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns"])(
    "local times in %s are those that the engine tells",
    (zone) => {
      const env = { ...process.env, TZ: zone }
      const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, "-e", PROGRAM], { env })
      expect({ stdout: JSON.parse(stdout.toString()), stderr: stderr.toString(), exitCode }).toEqual({
        stdout: { isUtc: zone === "UTC", others: [], wrong: [] },
        stderr: "",
        exitCode: 0,
      })
    },
  )
})

describe("parse moment", () => {
  const NOW = Date.parse("2026-03-10T12:00:00Z")

  test("a moment is a day, a day and a time, or an age", () => {
    expect(momentOf("2026-03-01T08:30Z", NOW)).toBe("2026-03-01T08:30:00.000Z")
    expect(momentOf("2024-02-29T00:00Z", NOW)).toBe("2024-02-29T00:00:00.000Z")
    expect(momentOf("2026-03-01", NOW)).toBe(new Date(2026, 2, 1).toISOString())
    expect(momentOf("2026-03-01 18:30", NOW)).toBe(new Date(2026, 2, 1, 18, 30).toISOString())
    expect(momentOf("12h", NOW)).toBe("2026-03-10T00:00:00.000Z")
  })

  test.each([
    "2026-02-31",
    "2025-02-29",
    "2026-04-31 10:00",
    "2026-13-01",
    "2026-00-10",
    "2026-03-01 25:00",
    "since 2026-03-01",
    "2026-03-01 or so",
    "999999y",
    "soon",
    "",
  ])("%s is none", (text) => expect(momentOf(text, NOW)).toBeUndefined())
})

describe("pages", () => {
  const size = (text: string): number => text.length

  describe("pageOf", () => {
    test("the pages together contain all items, and each fits its room unless it has only one", () => {
      fc.assert(
        fc.property(
          fc.array(fc.string({ maxLength: 30 })),
          fc.integer({ min: 1, max: 60 }),
          (items, room) => {
            const { of } = pageOf(items, 1, room, size)
            const pages = Array.from({ length: of }, (_, n) => pageOf(items, n + 1, room, size).items)
            expect(pages.flat()).toEqual(items)
            for (const page of pages) {
              if (page.length > 1) expect(page.join("").length).toBeLessThanOrEqual(room)
              else expect(page.length).toBe(items.length === 0 ? 0 : 1)
            }
          },
        ),
      )
    })

    test("the error for a missing page names the last one", () => {
      expect(() => pageOf(["a", "b"], 3, 1, size)).toThrow(CtxError)
      expect(pageOf([], 1, 1, size)).toEqual({ items: [], number: 1, of: 1 })
    })
  })

  test("short lines add up to the text, and no surrogate pair is cut", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 2, max: 9 }), (text, length) => {
        for (const line of text.split("\n")) {
          const short = shortLines(line, length)
          expect(short.join("")).toBe(line)
          for (const one of short) {
            expect(one.length).toBeLessThanOrEqual(length)
            expect(one.isWellFormed()).toBe(true)
          }
        }
      }),
    )
  })
})
