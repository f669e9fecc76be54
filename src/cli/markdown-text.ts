/** Markdown as a terminal shows it. What its text says cannot steer the terminal. Pure. */
import { safe } from "./style.ts"
import { wrapped } from "./wrap.ts"

interface MarkdownLook {
  readonly columns: number
  readonly color: boolean
  readonly links: boolean
}

/** Characters: beyond these it is not laid out, since that takes the square of a line's length (Bun 1.4.5). */
const LONGEST = 200_000
const LONGEST_LINE = 10_000

/** Colours, and links with their address: all that the renderer writes of its own. */
const OWN = /\x1b\[[\d;]*m|\x1b\]8;;([^\x1b]*)\x1b\\/g
const WEB = /^(?:https?|mailto):/

/** @param text as it was archived */
export function markdownLines(text: string, { columns, color, links }: MarkdownLook): string[] {
  const plain = safe(text).trimEnd()
  const isLong = plain.length > LONGEST || plain.split("\n").some(({ length }) => length > LONGEST_LINE)
  if (isLong) return wrapped(plain, columns)
  const drawn = Bun.markdown.ansi(plain, { columns, colors: color, hyperlinks: links })
  return harmless(drawn.trimEnd())
    .split("\n")
    .flatMap((line) => wrapped(line, columns))
}

/** Entities are decoded after `safe` has looked, and links may lead anywhere. */
function harmless(drawn: string): string {
  let text = ""
  let done = 0
  for (const { 0: sequence, 1: url, index } of drawn.matchAll(OWN)) {
    text += safe(drawn.slice(done, index)) + (url === undefined ? sequence : opened(url))
    done = index + sequence.length
  }
  return text + safe(drawn.slice(done))
}

/** The beginning of a link to the web, or the end of any; the text of other links stays without one. */
const opened = (url: string): string => {
  const encoded = url.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  return `\x1b]8;;${WEB.test(url) ? encoded : ""}\x1b\\`
}
