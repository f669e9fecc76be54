import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { CtxError } from "../../../src/base/errors.ts"
import { pageOf, shortLines } from "../../../src/base/pages.ts"

const size = (text: string): number => text.length

describe("pageOf", () => {
  test("the pages together contain all items, and each fits its room unless it has only one", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 30 })), fc.integer({ min: 1, max: 60 }), (items, room) => {
        const { of } = pageOf(items, 1, room, size)
        const pages = Array.from({ length: of }, (_, n) => pageOf(items, n + 1, room, size).items)
        expect(pages.flat()).toEqual(items)
        for (const page of pages) {
          if (page.length > 1) expect(page.join("").length).toBeLessThanOrEqual(room)
          else expect(page.length).toBe(items.length === 0 ? 0 : 1)
        }
      }),
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
