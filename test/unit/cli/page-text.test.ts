/** Texts and names in pages, one by one: `test/unit/cli/view.test.ts` has whole pages. */
import { describe, expect, test } from "bun:test"
import { hashName } from "../../../src/base/json-files.ts"
import { pageName } from "../../../src/cli/html-pages.ts"
import type { PageWords } from "../../../src/cli/pages/html/document.ts"
import { markdown } from "../../../src/cli/pages/html/document.ts"
import { tokenMeter } from "../../../src/cli/pages/html/project-page.ts"
import { diffHtml } from "../../../src/cli/pages/html/turn-html.ts"
import type { Turn } from "../../../src/views/turn.ts"

test("what steers is taken out of Markdown also where it is written as an entity", () => {
  const { text } = markdown("a &#x202e;b&#27;[8m *c &#x2066;* [d&rlm;](https://example.com/)")
  expect(text).toContain('<em>c \ufffd</em> <a href="https://example.com/"')
  expect(text).not.toMatch(/[\p{Bidi_C}\x1b]/u)
})

describe("the name of a session's page", () => {
  test("is its id, where that can be one", () => {
    expect(pageName("5e551011-0000-4000-8000-000000000001")).toBe("5e551011-0000-4000-8000-000000000001.html")
  })

  test("is no other session's, nor that of the list, whatever the file system makes of letters", () => {
    const ids = [
      "index",
      "Index",
      "a/b",
      "a-b",
      "a b",
      "A-B",
      "..",
      ".",
      "-a",
      "ü",
      "x".repeat(300),
      "x".repeat(301),
    ]
    const names = ids.map((id) => pageName(id).toLowerCase())
    expect(new Set(["index.html", ...names]).size).toBe(ids.length + 1)
    for (const name of names) expect(name).toMatch(/^[\w.-]{1,99}$/)
    expect(pageName("a/b")).toBe(`a-b-${hashName("a/b")}.html`)
  })
})

test("of a change that is too long for a page, it says how much is missing", () => {
  const lines = (number: number) => [
    Array.from({ length: number }, () => ({ mark: "+" as const, text: "x" })),
  ]
  expect(diffHtml(lines(20_000)).text).not.toContain("The page ends here")
  expect(diffHtml(lines(20_007)).text).toContain("the change goes on for 7 lines.")
})

test("the meter is full where the page's own turns had the most, whatever a subagent had", () => {
  const turn = { handle: "ctx:aaaaaa", seq: 1, prompt: "Go", errors: 0 } as Turn
  const words = { tokens: String } as Partial<PageWords> as PageWords
  const context = new Map([
    ["ctx:aaaaaa", 100],
    ["ctx:bbbbbb", 400],
  ])
  expect(tokenMeter([turn], context, words)?.text).toContain("<b>100</b></p>")
  expect(tokenMeter([], context, words)).toBeUndefined()
})
