/** Where the conversation was compacted: what Claude Code kept of it, what was lost, and what was restored. Pure. */
import { longText } from "./long-text.ts"
import { markdown } from "./markdown.ts"
import { type Html, html } from "./markup.ts"
import type { CompactionNote, PageWords } from "./page-data.ts"
import type { CompactionItem } from "./turn-parts.ts"

export function compactionHtml(
  { boundary, summary, restored }: CompactionItem,
  note: CompactionNote | undefined,
  words: PageWords,
): Html {
  const { trigger, preTokens, postTokens } = boundary
  const from = preTokens === undefined ? "" : ` at ${words.tokens(preTokens)} tokens`
  const to = postTokens === undefined ? "" : `, ${words.tokens(postTokens)} left`
  const text = note?.text || restored
  return html`<aside class="item compaction" data-kind="compaction">
<p><b>Compacted</b> (${trigger})${from}${to}${note && figures(note)}</p>
${summary !== undefined && html`<details><summary>Claude Code’s summary</summary>${markdown(summary)}</details>`}
${text && html`<details><summary>Restored by ctxbridge${note?.delivery && `: ${note.delivery}`}</summary>${longText(text, "out")}</details>`}
</aside>
`
}

const figures = ({ kept, restored, lost, text }: CompactionNote): Html =>
  html`<span class="figures" title="Paths, commands and names of the conversation before"><span>${kept} kept</span> ${text !== "" && html`<span class="plus">${restored} restored</span> `}<span class="minus">${lost} lost</span></span>`
