/** What is typed into the picker, and what is searched for. */
import { describe, expect, test } from "bun:test"
import { type TypedQuery, typedQuery, whileTyping } from "../../../../src/cli/picker/picker-archive.ts"

const NOW = Date.UTC(2026, 2, 9, 12)

test.each<[string, TypedQuery]>([
  ["parse dates", { words: "parse dates" }],
  ["parse project:api dates", { words: "parse  dates", project: "api" }],
  ["since:7d x", { words: " x", since: "2026-03-02T12:00:00.000Z" }],
  ["until:12h", { words: "", until: "2026-03-09T00:00:00.000Z" }],
  ["error: ERRORS:", { words: " ", error: true }],
  ["session:5e55 file:src/x.ts", { words: " ", session: "5e55", file: "src/x.ts" }],
  ["agent:codex kiln", { words: " kiln", agent: "codex" }],
  // The search's own.
  ["role:human tool:Bash", { words: "role:human tool:Bash" }],
  // Being typed, mistyped, and something else.
  ["since: project:", { words: " " }],
  ["since:7 x", { words: " x", misread: "since:7" }],
  ["myproject:api", { words: "myproject:api" }],
])("%j", (text, expected) => {
  expect(typedQuery(text, NOW)).toEqual(expected)
})

describe("the last word may go on", () => {
  test.each([
    ["par", "par*"],
    ["the par", "the par*"],
    ["größ", "größ*"],
    ["a AND par", "a AND par*"],
    ["user_nam", "user_nam*"],
  ])("%j", (words, query) => {
    expect(whileTyping(words)).toEqual({ query })
  })

  test.each(["", "par ", '"par', '"a phrase"', "par*", "x (", "role:hum", "a AND", "语言。"])(
    "%j stays as it is",
    (words) => {
      expect(whileTyping(words)).toEqual({ query: words })
    },
  )

  test.each([
    ["pa", ""],
    ["the pa", "the "],
    ["user_na", ""],
  ])("%j is too short, and can be left out", (words, short) => {
    expect(whileTyping(words)).toEqual({ query: words, short })
  })
})
