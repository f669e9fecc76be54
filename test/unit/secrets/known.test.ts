/** Which values are remembered, and in what forms they are found again. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { formsOf, isMemorable, knownPlaces, withoutKnown } from "../../../src/secrets/known.ts"

describe("a value is remembered", () => {
  test.each([
    "zebra-Kafe71-quilt",
    "hunter2hunter",
    "p@ss/word+1",
    "wJalrXUtnFEMI/K7MDENG/bPxRfiCY",
    "correct#horse",
  ])("%s", (value) => {
    expect(isMemorable(value)).toBe(true)
  })
})

describe("and not if it may mean something else elsewhere", () => {
  test.each([
    ["short", "hunter2"],
    ["few characters", "aaaa1111bbbb"],
    ["a word", "administrator"],
    ["words", "correct-horse-battery"],
    ["a date", "2026-11-22"],
    ["an address", "localhost:5432"],
    ["an absolute path", "/home/me/project1"],
    ["a relative path", "./secrets/key1.pem"],
    ["an id", "5e551011-0000-4000-8000-000000000001"],
    ["a record of the host", "toolu_01A2b3C4d5E6f7"],
    ["filled", "abcdef12***"],
  ])("%s", (_name, value) => {
    expect(isMemorable(value)).toBe(false)
  })
})

const line = (said: unknown, more: Record<string, unknown> = {}): string =>
  `${JSON.stringify({ type: "user", message: { content: said }, ...more })}\n`

function filled(text: string, value: string): string {
  const bytes = Buffer.from(text)
  const raw = Buffer.from(value).toString("latin1")
  for (const { start, end } of knownPlaces(bytes, bytes.toString("latin1"), formsOf(raw)))
    bytes.fill("*", start, end)
  return bytes.toString()
}

const VALUE = 'q"7/Xä&l\\o=p9'
const CODED = JSON.stringify(VALUE).slice(1, -1)

describe("a value of a transcript, escaped as it was there, is found", () => {
  test.each([
    ["as it was", (value: string) => value],
    ["in JSON within JSON", (value: string) => JSON.stringify({ value })],
    ["in JSON within that", (value: string) => JSON.stringify(JSON.stringify({ value }))],
    ["percent-encoded", encodeURIComponent],
    ["percent-encoded as an address", encodeURI],
    ["in base64, at its beginning", (value: string) => Buffer.from(`${value} and more`).toString("base64")],
    ["in base64, one byte later", (value: string) => Buffer.from(`1${value} and more`).toString("base64")],
    [
      "in base64 for URLs, two bytes later",
      (value: string) => Buffer.from(`12${value}>`).toString("base64url"),
    ],
  ])("%s", (_name, encode) => {
    const encoded = encode(VALUE)
    const text = filled(line(`before ${encoded} after`), CODED)
    const rest = (JSON.parse(text) as { message: { content: string } }).message.content
    expect(rest).toStartWith("before ")
    expect(rest).toEndWith(" after")
    expect(rest).toContain("**********")
    expect(rest).not.toContain(encoded)
  })
})

test("fields that tell records apart stay", () => {
  const value = "branch-77-of-Xenia"
  const text = line({ [value]: value }, { gitBranch: value, cwd: value, other: value })
  const stars = "*".repeat(value.length)
  expect(filled(text, value)).toBe(line({ [stars]: stars }, { gitBranch: value, cwd: value, other: stars }))
})

test("text outside transcripts", () => {
  const known = new Map([["hunter2hunter", formsOf("hunter2hunter")]])
  expect(withoutKnown("grüße: hunter2hunter!", known)).toBe("grüße: *************!")
  const other = "nothing"
  expect(withoutKnown(other, known)).toBe(other)
})

test("lines stay what they are: length, JSON, and everything else", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 8, maxLength: 20 }), fc.json(), (value, json) => {
      const text = line(`${value} ${value}`, { json })
      const done = filled(text, JSON.stringify(value).slice(1, -1))
      expect(Buffer.byteLength(done)).toBe(Buffer.byteLength(text))
      expect(Object.keys(JSON.parse(done))).toEqual(Object.keys(JSON.parse(text)))
    }),
  )
})
