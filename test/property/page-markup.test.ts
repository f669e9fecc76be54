/** Whatever a transcript says: a page has only the tags and attributes that we write, and links that lead nowhere else. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { type Html, html, markdown } from "../../src/cli/pages/html/document.ts"
import { diffHtml, longText, picture } from "../../src/cli/pages/html/turn-html.ts"
import { HOSTILE } from "../support/hostile-page.ts"

const TAGS = new Set(
  "div p pre code h3 h4 h5 h6 ul ol li hr blockquote table thead tbody tr th td em strong s a br details summary ins del span".split(
    " ",
  ),
)
/** Which attributes, and what they may say. */
const ATTRIBUTES: Readonly<Record<string, RegExp>> = {
  href: /^(?:https?:\/\/|mailto:|#)/i,
  rel: /^noopener noreferrer$/,
  class: /^[a-z ]+$/,
  start: /^\d+$/,
  align: /^(?:left|center|right)$/,
  "data-language": /^[^"]*$/,
  // Of a table, which keys scroll.
  tabindex: /^0$/,
  role: /^group$/,
  "aria-label": /^Table$/,
}

/** What a parser of HTML finds that is not allowed. */
function strangeIn(page: Html): string[] {
  const found: string[] = []
  new HTMLRewriter()
    .on("*", {
      element({ tagName, attributes }) {
        if (!TAGS.has(tagName)) found.push(`<${tagName}>`)
        for (const [name, value] of attributes)
          if (!ATTRIBUTES[name]?.test(value)) found.push(`${tagName} ${name}=${value}`)
      },
      comments: ({ text }) => void found.push(`<!--${text}-->`),
    })
    .transform(page.text)
  return found
}

/** Pieces of Markdown and HTML, in any order. */
const pieces = fc.constantFrom(
  ...[
    "<",
    ">",
    '"',
    "'",
    "&",
    "`",
    "```\n",
    "~~~",
    "[",
    "](",
    ")",
    "![",
    "*",
    "_",
    "~~",
    "#",
    "- ",
    "1. ",
    "> ",
    "|",
    "\n",
    "\n\n",
  ],
  ..."---|:-:|javascript:|https://a.b|data:|mailto:|<script>|<a href=|onerror=|]]>|<!--|-->|&#60;|\\|\u202e|\u0000|\u001b[31m|www.a.b".split(
    "|",
  ),
  ...["a", " ", "é", "語"],
)
const hostile = fc.oneof(
  fc
    .array(fc.oneof({ weight: 4, arbitrary: pieces }, fc.string({ unit: "binary", maxLength: 4 })), {
      maxLength: 40,
    })
    .map((all) => all.join("")),
  fc
    .tuple(fc.constantFrom(...HOSTILE), fc.string({ unit: "grapheme", maxLength: 5 }))
    .map(([text, end]) => text.slice(0, 4000) + end),
)

/** A table has attributes of its own, and chance seldom writes one. */
test("a table", () => {
  const page = markdown('| "a" | |\n| :-: | - |\n| <b> | `c` |\n')
  expect(page.text).toContain("<table>")
  expect(strangeIn(page)).toEqual([])
})

test("Markdown", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(strangeIn(markdown(text))).toEqual([])
    }),
    { numRuns: 2000 },
  )
})

test("text, diffs, and values of attributes", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(strangeIn(longText(text, "out"))).toEqual([])
      expect(
        strangeIn(
          diffHtml([
            [
              { mark: "+", text },
              { mark: "-", text },
            ],
          ]),
        ),
      ).toEqual([])
      expect(strangeIn(html`<a href="#${text}" data-language="${text}">${[text, text]}</a>`)).toEqual([])
    }),
    { numRuns: 500 },
  )
})

test("the hostile texts one by one, each in time", () => {
  for (const text of HOSTILE) {
    const started = performance.now()
    expect(strangeIn(markdown(text))).toEqual([])
    // Seconds, if something grew with the square of the length.
    expect(performance.now() - started).toBeLessThan(2000)
  }
})

test("only files that browsers show as pictures are pictures", () => {
  const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64")
  const is = (text: string) => picture(base64(text))?.text
  expect(is("\x89PNG\r\n\x1a\n....")).toContain("data:image/png;base64,")
  expect(is("\xff\xd8\xff\xe0....")).toContain("data:image/jpeg;base64,")
  expect(is("GIF89a....")).toContain("data:image/gif;base64,")
  expect(is("RIFF\x10\x00\x00\x00WEBPVP8 ")).toContain("data:image/webp;base64,")
  expect(is("RIFF\x10\x00\x00\x00WAVEfmt ")).toBeUndefined()
  expect(is("<svg xmlns='http://www.w3.org/2000/svg' onload='x'/>")).toBeUndefined()
  expect(picture('iVBORw0KGgo"><script>')).toBeUndefined()
  expect(picture(undefined)).toBeUndefined()
})
