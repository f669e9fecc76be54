import { expect, test } from "bun:test"
import fc from "fast-check"
import { lineMayFulfil } from "../../../src/find/candidates.ts"
import { fulfils } from "../../../src/find/fts-expression.ts"
import { type Node, parseQuery } from "../../../src/find/parse-query.ts"

const phrase = (text: string): Node => parseQuery(`"${text}"`).must!
const subject = (text: string) => ({ text, role: "human", tools: [] })

test("a line is skipped only if its text lacks the phrase", () => {
  const may = lineMayFulfil(phrase("Exit code 2"))
  for (const text of ["exit code 2", 'He said: "EXIT\n\tcode  2".', "x exit\u00a0code 2y"]) {
    expect({ text, may: may(JSON.stringify({ text })) }).toEqual({ text, may: true })
  }
  expect(may(JSON.stringify({ text: "exit 2, code" }))).toBe(false)
  const path = lineMayFulfil(phrase("C:\\temp/a"))
  expect(path(JSON.stringify({ text: "in c:\\temp/a now" }))).toBe(true)
  expect(path('{"text":"in C:\\\\temp\\/a"}')).toBe(true)
  expect(lineMayFulfil(phrase("größer als"))('{"text":"gr\\u00f6\\u00dfer als"}')).toBe(true)
})

test("for any text, a line that fulfils the phrase is never skipped", () => {
  const piece = fc.constantFrom(
    "a",
    "B",
    "7",
    " ",
    "\n",
    "\t",
    ".",
    "-",
    "\\",
    "/",
    "<",
    "'",
    "ß",
    "\u00a0",
    "&",
    "=",
  )
  const text = fc.array(piece, { minLength: 1, maxLength: 30 }).map((pieces) => pieces.join(""))
  fc.assert(
    fc.property(text, fc.nat(), fc.nat(), (whole, from, length) => {
      const part = whole.slice(from % whole.length).slice(0, 1 + (length % 12))
      const { must } = parseQuery(`"${part}"`)
      if (must === undefined || !fulfils(must, subject(whole))) return
      expect(lineMayFulfil(must)(JSON.stringify({ text: whole }))).toBe(true)
    }),
    { numRuns: 2000 },
  )
})
