/** What of a memory file is in every context, and what it imports: as the host reads Markdown. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { memoryFile } from "../../../src/claude/context/standing-text.ts"

const importsOf = (text: string): readonly string[] => memoryFile(text).imports

describe("imports", () => {
  test("may be anywhere in prose, after white space", () => {
    const text = "@a.md and @./b/c.md, then\n- @~/d.md\n> @/srv/e.md\n  @../f.md\n| @g.md |\nto me@h.md"
    expect(importsOf(text)).toEqual(["a.md", "./b/c.md,", "~/d.md", "/srv/e.md", "../f.md", "g.md"])
  })

  test("may contain escaped spaces and name a heading", () => {
    expect(importsOf("@my\\ notes.md @rules.md#style @a.md @a.md")).toEqual([
      "my notes.md",
      "rules.md",
      "a.md",
    ])
  })

  test("are not mistaken for names of people or packages", () => {
    expect(importsOf("@@x @#y @(z) @/ @\n@")).toEqual([])
  })

  test.each([
    ["a span", "`@a.md` and ``x ` @a.md``"],
    ["a fence", "```sh\n@a.md\n```\n~~~\n@a.md\n```\n~~~"],
    ["a fence in a list", "- so:\n  ```\n  @a.md\n  ```"],
    ["a fence that is not closed", "```\n@a.md"],
    ["a longer fence", "````\n```\n@a.md\n````"],
    ["four spaces", "So:\n\n    @a.md\n\n\t@a.md"],
    ["a comment", "<!-- @a.md -->\n<!--\n@a.md\n-->"],
    ["front matter", "---\nname: @a.md\n---\n"],
  ])("are not found in %s", (_what, text) => {
    expect(importsOf(`${text}\n\n@b.md`)).toEqual(text.endsWith("```\n@a.md") ? [] : ["b.md"])
  })

  test("are found after an unmatched backtick and in a continued list", () => {
    expect(importsOf("It's a ` and @a.md\n- one\n\n    @b.md")).toEqual(["a.md", "b.md"])
    expect(importsOf("A paragraph\n    @a.md that goes on")).toEqual(["a.md"])
    expect(importsOf("So:\n\n   @a.md behind three spaces")).toEqual(["a.md"])
  })

  test("are not found in indented code after the end of a list", () => {
    expect(importsOf("- one\n\n    @a.md\n\nNo list.\n\n    @b.md")).toEqual(["a.md"])
  })
})

test("front matter and comments are removed from the text, and code stays", () => {
  const { text } = memoryFile(
    "---\na: 1\n---\n# T\n<!-- no -->\nx <!-- stays -->\n<!--\nno\n--> y\n```\n<!-- yes -->\n```",
  )
  expect(text).toBe("# T\nx <!-- stays -->\n y\n```\n<!-- yes -->\n```")
})

test.each([
  ["---\npaths: src/**\n---\nx", true],
  ["---\npaths:\n  - 'src/**'\n---\nx", true],
  ['---\ndescription: d\npaths: ["lib/*.ts"]\n---\nx', true],
  ["---\npaths: '**'\n---\nx", false],
  ["---\npaths:\ndescription: d\n---\nx", false],
  ["---\ndescription: paths\n---\nx", false],
  ["x\n---\npaths: src/**\n---\n", false],
])("%j only applies to certain files: %p", (text, expected) => {
  expect(memoryFile(text).conditional).toBe(expected)
})

test("any text is read quickly, and the same way twice", () => {
  const piece = fc.constantFrom(
    "`",
    "``",
    "```",
    "~~~",
    "\n",
    "\n\n",
    "    ",
    "- ",
    "@a.md",
    " @b",
    "<!--",
    "-->",
    "---\n",
    "x",
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const text = pieces.join("")
      expect(memoryFile(text)).toEqual(memoryFile(text))
      expect(memoryFile(text).text.length).toBeLessThanOrEqual(text.length)
      for (const path of memoryFile(text).imports) expect(text).toContain(`@${path}`)
    }),
    { numRuns: 300 },
  )
  for (const part of ["`", "` ``", "@ ", "<!--", "- > ", "---\n", "\t@a\n\n"]) {
    expect(memoryFile(part.repeat(30_000)).imports.length).toBeLessThanOrEqual(1)
  }
})
