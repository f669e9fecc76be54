/** A text is found however JSON has it, and what is filled is that text and nothing else. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { type LineFinder, patternFinder, skeleton, textFinder } from "../../src/record/find-text.ts"
import { fillSpans } from "../../src/vault/tombstone.ts"

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

function filled(finder: LineFinder, line: string): string {
  const bytes = bytesOf(line)
  const spans = finder(bytes)
  fillSpans(bytes, spans)
  return textOf(bytes)
}

/** Escaped as some programs do: every character that is not ASCII. */
const ascii = (json: string): string =>
  json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)

const word = fc
  .string({ unit: "grapheme", minLength: 3, maxLength: 20 })
  .filter((text) => /[^\s*]/.test(text))

test("any text, in strings, in keys, in JSON within JSON: gone, and the line stays JSON of the same length", () => {
  fc.assert(
    fc.property(word, fc.string({ unit: "grapheme" }), fc.boolean(), (secret, around, escapes) => {
      const inner = JSON.stringify({ deep: [`${around}${secret}`] })
      const twice = JSON.stringify({ inner })
      const value = { a: `${around}${secret}${around}`, [`${secret}!`]: 1, inner, twice, n: [1, null] }
      const json = JSON.stringify(value)
      const line = escapes ? ascii(json) : json
      const after = filled(textFinder(secret), line)
      expect(bytesOf(after).length).toBe(bytesOf(line).length)
      const back = JSON.parse(after) as Record<string, string>
      const strings = [...Object.keys(back), back["a"]!, back["inner"]!, back["twice"]!]
      for (const text of strings) expect(text.includes(secret)).toBe(false)
      expect(back["n"] as unknown).toEqual([1, null])
      expect(filled(textFinder(secret), after)).toBe(after)
    }),
    { numRuns: 300 },
  )
})

test("a text that JSON has to escape, in JSON within JSON within JSON", () => {
  const special = fc.constantFrom('"', "\\", "\n", "\t", "ä", "語", "🛡️")
  const text = fc.tuple(word, special, word).map((parts) => parts.join(""))
  fc.assert(
    fc.property(text, fc.boolean(), fc.boolean(), (secret, first, second) => {
      const deep = JSON.stringify({ deep: secret })
      const inner = JSON.stringify({ inner: first ? ascii(deep) : deep })
      const line = JSON.stringify({ twice: second ? ascii(inner) : inner })
      const back = JSON.parse(JSON.parse(JSON.parse(filled(textFinder(secret), line)).twice).inner)
      expect(back.deep).toMatch(/^\*+$/)
    }),
    { numRuns: 200 },
  )
})

test("what does not hold it is not touched", () => {
  fc.assert(
    fc.property(word, fc.json(), (secret, json) => {
      fc.pre(!json.includes("\\") && !json.includes(secret))
      expect(textFinder(secret)(bytesOf(json))).toEqual([])
    }),
  )
})

describe("places", () => {
  const cases: readonly (readonly [name: string, finder: LineFinder, line: string, wanted: string])[] = [
    ["twice", textFinder("abc"), '{"a":"abc abc"}', '{"a":"*** ***"}'],
    ["touching", textFinder("abc"), '{"a":"abcabc"}', '{"a":"******"}'],
    ["a line that is no JSON", textFinder("a b"), 'not "json: a b', 'not "json: ***'],
    ["an escape in the middle", textFinder('a"b'), '{"a":"xa\\"by"}', '{"a":"x****y"}'],
    ["letters escaped for the sake of it", textFinder("abc"), '{"a":"\\u0061bc"}', '{"a":"********"}'],
    ["half a pair", textFinder("x"), '{"a":"\\ud83dx"}', '{"a":"\\ud83d*"}'],
    ["a pattern over a line break", patternFinder(/a\s+b/u), '{"a":"xa\\n b"}', '{"a":"x*****"}'],
    ["a pattern at the beginning", patternFinder(/^\d+/u), '{"a":"12","b":"x12"}', '{"a":"**","b":"x12"}'],
    ["not across strings", textFinder('a","b'), '{"x":["a","b"]}', '{"x":["a","b"]}'],
  ]
  for (const [name, finder, line, wanted] of cases) {
    test(name, () => expect(filled(finder, line)).toBe(wanted))
  }
})

test("the host's own names make the skeleton; what people and tools said does not", () => {
  const line =
    '{"type":"user","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"T"}]},"cwd":"/c"}'
  const of = (text: string) => skeleton(bytesOf(text))
  expect(of(line)).toBeDefined()
  expect(of(line.replace('"T"', '"*"').replace("/c", "**"))).toBe(of(line))
  for (const [from, to] of [
    ['"uuid":"u"', '"uuid":"*"'],
    ['"message"', '"mess***"'],
    ['"role":"user"', '"role":"****"'],
    ['"type":"text"', '"type":"****"'],
    ['"text":', '"****":'],
  ] as const) {
    expect(of(line.replace(from, to))).not.toBe(of(line))
  }
  expect(of("no json")).toBeUndefined()
  expect(of("[1]")).toBeUndefined()
})
