import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { wordSet } from "../../../src/base/words.ts"
import { snippetOf } from "../../../src/find/snippet.ts"

const sought = (words: string) => ({
  words: new Map([...wordSet(words)].map((word) => [word, 1])),
  prefixes: [],
})
const marked = (text: string, words: string, room = 80): string[] => {
  const { text: shown, marks } = snippetOf(text, sought(words), room)
  return marks.map(([from, to]) => shown.slice(from, to))
}

describe("a snippet", () => {
  test("is the whole text if it fits", () => {
    expect(snippetOf("a cat\nsat", sought("cat"), 80)).toEqual({ text: "a cat sat", marks: [[2, 5]] })
  })

  test("shows the place with the most words and marks all their forms", () => {
    const text = `${"nothing here. ".repeat(50)}We verified getUserName and cached it.${" more".repeat(80)}`
    const { text: shown } = snippetOf(text, sought("verify get_user_name cache"), 80)
    expect(shown).toContain("verified getUserName and cached")
    expect(shown.startsWith("…")).toBe(true)
    expect(marked(text, "verify get_user_name cache")).toEqual(["verified", "getUserName", "cached"])
  })

  test("marks words, not the longer words that contain them", () => {
    expect(marked("a blinking link", "link")).toEqual(["link"])
    expect(marked("das Café dort", "cafe")).toEqual(["Café"])
    expect(marked("検索エンジン", "エンジン")).toEqual(["検索エンジン"])
  })

  test("for any text: fits its room, with marks in order and inside it", () => {
    const word = fc.constantFrom("cat", "Cat", "dog", "🛡️", "\n", " ", ".", "x".repeat(30), "naïve")
    fc.assert(
      fc.property(fc.array(word, { maxLength: 60 }), fc.integer({ min: 20, max: 120 }), (words, room) => {
        const { text, marks } = snippetOf(words.join(" "), sought("cat naive"), room)
        expect(text.length).toBeLessThanOrEqual(room)
        expect(text.isWellFormed()).toBe(true)
        let last = 0
        for (const [from, to] of marks) {
          expect(from).toBeGreaterThanOrEqual(last)
          expect(to).toBeLessThanOrEqual(text.length)
          last = to
        }
      }),
    )
  })
})

test("the search for a letter gives up in encoded data", () => {
  const data = `${"a".repeat(70)} `
  const sought = { words: new Map([["a", 1]]), prefixes: [] }
  const marksOf = (text: string) => snippetOf(text, sought, text.length).marks
  expect(marksOf(`a ${data.repeat(400)}a`)).toEqual([[0, 1]])
  expect(marksOf(`a ${data.repeat(4)}a`)).toEqual([
    [0, 1],
    [286, 287],
  ])
})
