/** Indexing gathers words in another way than a query does, and must find the same ones. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { wordSet } from "../../../src/base/words.ts"
import { WordGatherer } from "../../../src/views/word-index.ts"

const sorted = (words: Iterable<string>): string[] => [...words].sort()

const gatherer = new WordGatherer()
const gathered = (text: string): string[] => {
  const words = Buffer.from(gatherer.wordsIn(text)).toString()
  return words === "" ? [] : words.slice(0, -1).split(" ").sort()
}
const same = (text: string): void => expect(gathered(text)).toEqual(sorted(wordSet(text)))

/** What begins, joins and ends names, and what may or may not be a letter. */
const piece = fc.constantFrom(
  ..."aZ9_.- /\n",
  ..."é日ーศ—“→─➜✅🎉①\u0301\ud83c\u2060\u2c00",
  "getUserName",
  "HTTPServer2",
  "cached",
  "toolu_01AbCdEfGhIjKlMnOp",
  "0123456789abcdef",
  "x".repeat(40),
  "org.example.warehouse.",
)

describe("words gathered for the index", () => {
  test("are those of a query, whatever the text", () => {
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => same(pieces.join(""))),
      { numRuns: 3000 },
    )
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 60 }), same), { numRuns: 1000 })
  })

  test("no character beyond ASCII is taken for another kind", () => {
    for (let unit = 0x80; unit <= 0xffff; unit++) {
      const text = `a${String.fromCharCode(unit)}b c.${String.fromCharCode(unit)}`
      if (gathered(text).join() !== sorted(wordSet(text)).join())
        throw new Error(`U+${unit.toString(16)} differs`)
    }
  })

  test("marks are put behind them, however long they are", () => {
    const marks = Buffer.from(`§p1 ${"§".repeat(200_000)}`)
    const words = Buffer.from(gatherer.wordsIn("kiln kiln", marks)).toString()
    expect(words).toBe(`kiln ${marks.toString()}`)
    expect(Buffer.from(gatherer.wordsIn("", marks)).equals(marks)).toBe(true)
  })

  test("runs of letters beyond ASCII that come again, and more of them than are remembered", () => {
    for (let round = 0; round < 2; round++)
      for (let n = 0; n < 5000; n += 50)
        same(Array.from({ length: 50 }, (_, at) => `für_Öfen${n + at} ${"ö".repeat(at)} für`).join(" "))
  })

  test("a word counts once, in whichever names it occurs", () => {
    same("get getUser get_user_1234567 GET 1234567")
  })

  test("more names than there is room for: in one text, and over many", () => {
    const letters = (n: number): string =>
      [...n.toString(26)].map((digit) => "abcdefghijklmnopqrstuvwxyz"[Number.parseInt(digit, 26)]).join("")
    const name = (n: number): string => `name_${letters(n)}${"q".repeat(n % 30)}`
    const many = Array.from({ length: 90_000 }, (_, n) => name(n)).join(" ")
    same(many)
    for (let n = 0; n < 90_000; n += 3000) same(`get ${many.slice(n * 10, n * 10 + 40_000)} get`)
  })
})
