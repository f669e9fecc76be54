/** The page of `stats --html`: it loads nothing, runs nothing, and holds the archive's words as text alone. */
import { expect, test } from "bun:test"
import { statsHtml } from "../../../src/cli/pages/stats-html.ts"
import { MADE_TODAY, madeStats } from "../../support/made-stats.ts"

const HOSTILE = `</td><script>alert(1)</script><img src=x onerror=alert(1)>"'&\x1b[2J\u202e</style>`

interface Seen {
  readonly tags: Set<string>
  readonly attributes: Set<string>
  readonly texts: string[]
}

/** As a parser of HTML sees it. */
async function seen(page: string): Promise<Seen> {
  const tags = new Set<string>()
  const attributes = new Set<string>()
  const texts: string[] = []
  const rewriter = new HTMLRewriter().on("*", {
    element(element) {
      tags.add(element.tagName)
      for (const [name] of element.attributes) attributes.add(name)
      if (element.tagName === "td") texts.push("")
    },
    text({ text }) {
      if (texts.length > 0) texts.push(texts.pop()! + text)
    },
  })
  await rewriter.transform(new Response(page)).text()
  return { tags, attributes, texts }
}

test("only harmless tags and attributes, whatever the archive says", async () => {
  const page = statsHtml(madeStats(HOSTILE), { project: `/p/${HOSTILE}/.git`, today: MADE_TODAY })
  const { tags, attributes } = await seen(page)
  expect([...tags].sort()).toEqual(
    "body h1 h2 head html meta p rect style svg table td text th title tr".split(" "),
  )
  expect([...attributes].sort()).toEqual(
    "charset class content height http-equiv lang name role viewbox width x y".split(" "),
  )
  expect(page).not.toMatch(/[\0-\x08\x0b-\x1f\x7f-\x9f\u202e]/)
  expect(page).not.toMatch(/https?:|url\(|@import/)
})

test("the policy allows this one style and nothing else", () => {
  const page = statsHtml(madeStats(), { project: undefined, today: MADE_TODAY })
  const [, policy, hash] =
    /Content-Security-Policy" content="(default-src 'none'; style-src 'sha256-([^']+)'[^"]*)"/.exec(page)!
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!
  expect(hash).toBe(new Bun.CryptoHasher("sha256").update(style).digest("base64"))
  expect(policy).toEndWith("; base-uri 'none'; form-action 'none'")
  expect(style).toContain("prefers-color-scheme: dark")
  expect(style).toContain("@media print")
})

test("the same figures as at a terminal", async () => {
  const stats = madeStats()
  const { texts } = await seen(statsHtml(stats, { project: undefined, today: MADE_TODAY }))
  for (const figure of ["1,203", "842,000,000", "$1,234.50", "$310.20", "ctx:cd34eg", "2,210", "9%"])
    expect(texts.map((text) => text.trim())).toContain(figure)
  for (const { key } of stats.rows) expect(texts.join("\n")).toContain(key)
})
