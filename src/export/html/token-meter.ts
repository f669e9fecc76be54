/** How full the context was in each turn: a bar for each, from top to bottom. Pure. */
import type { Turn } from "../../read/turn.ts"
import { cut, oneLine } from "../../util/text.ts"
import { type Html, html } from "./markup.ts"
import type { PageWords } from "./page-data.ts"
import { anchorOf } from "./turn-html.ts"

/** Height of a turn's bar, in pixels, while there is room; a session of many turns is squeezed into the window. */
const BAR = 12
const WIDTH = 100
/** Characters of a prompt in a bar's title. */
const PROMPT = 80

/** @returns undefined if nothing is known of the context */
export function tokenMeter(
  turns: readonly Turn[],
  context: ReadonlyMap<string, number>,
  words: PageWords,
): Html | undefined {
  const most = turns.reduce((tokens, { handle }) => Math.max(tokens, context.get(handle) ?? 0), 0)
  if (most === 0) return undefined
  const height = turns.length * BAR
  let before = 0
  const bars = turns.map((turn, n) => {
    const tokens = context.get(turn.handle) ?? 0
    const isDrop = tokens > 0 && tokens < before / 2
    if (tokens > 0) before = tokens
    const width = Math.max(1, (tokens / most) * WIDTH).toFixed(1)
    const title = `${turn.seq}. ${cut(oneLine(turn.prompt), PROMPT)}: ${words.tokens(tokens)} tokens${turn.errors > 0 ? `, ${turn.errors} failed` : ""}`
    return html`<a href="#${anchorOf(turn.handle)}"><title>${title}</title><rect class="field" y="${n * BAR}" width="${WIDTH}" height="${BAR}"/><rect class="bar${turn.errors > 0 && " failed"}" y="${n * BAR + 1}" width="${width}" height="${BAR - 2}"/>${isDrop && html`<rect class="drop" y="${n * BAR}" width="${WIDTH}" height="1.5"/>`}</a>`
  })
  return html`<aside class="meter" aria-label="Tokens in the context, by turn"><p title="The most tokens at a time">Context<br><b>${words.tokens(most)}</b></p>
<svg viewBox="0 0 ${WIDTH} ${height}" height="${height}" preserveAspectRatio="none">${bars}</svg></aside>`
}
