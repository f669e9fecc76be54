/** What a call changed, as coloured lines. Pure. */
import { count } from "../../util/text.ts"
import { type Content, type Html, html } from "./markup.ts"

type Hunks = readonly (readonly { readonly mark: " " | "+" | "-"; readonly text: string }[])[]

/** Lines that are shown at once. */
const SHOWN = 80
/** Lines that are in the page at all. */
const KEPT = 20_000

interface LineCounts {
  readonly added: number
  readonly removed: number
}

export function countLines(hunks: Hunks): LineCounts {
  const lines = hunks.flat()
  return {
    added: lines.filter(({ mark }) => mark === "+").length,
    removed: lines.filter(({ mark }) => mark === "-").length,
  }
}

export function diffHtml(hunks: Hunks): Html {
  const total = hunks.reduce((sum, { length }) => sum + length, 0)
  const first = html`<div class="diff">${upTo(hunks, 0, SHOWN)}</div>`
  if (total <= SHOWN) return first
  const rest = html`<div class="diff">${upTo(hunks, SHOWN, KEPT)}</div>`
  const lost =
    total > KEPT &&
    html`<p class="note">The page ends here: the change goes on for ${count(total - KEPT, "line")}.</p>`
  return html`${first}<details class="rest"><summary>Show all: ${count(total - SHOWN, "more line")}</summary>${rest}${lost}</details>`
}

/** A block for each hunk, with those of its lines that lie in this range of all. */
function upTo(hunks: Hunks, from: number, to: number): Html[] {
  let before = 0
  return hunks.flatMap((hunk) => {
    const lines = hunk.slice(Math.max(0, from - before), Math.max(0, to - before))
    before += hunk.length
    return lines.length === 0 ? [] : [html`<pre>${runs(lines)}</pre>`]
  })
}

/** Neighbouring lines of a kind are one element: a page may have tens of thousands of them. */
function runs(lines: Hunks[number]): Content[] {
  const made: Content[] = []
  for (let start = 0; start < lines.length; ) {
    const { mark } = lines[start]!
    let end = start + 1
    while (lines[end]?.mark === mark) end++
    const text = lines
      .slice(start, end)
      .map((line) => `${mark}${line.text}`)
      .join("\n")
    made.push(
      mark === "+"
        ? html`<ins>${text}</ins>`
        : mark === "-"
          ? html`<del>${text}</del>`
          : html`<span>${text}</span>`,
    )
    start = end
  }
  return made
}
