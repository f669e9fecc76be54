/** What a page is searched and filtered with. Only the script makes it work, so only the script shows it. Pure. */
import { type Html, html } from "./markup.ts"

/**
 * @param kinds what can be chosen, by the `data-kind` of its items
 * @param isFolded whether there is anything to unfold
 */
export const toolbar = (
  kinds: Readonly<Record<string, string>>,
  isFolded: boolean,
): Html => html`<div class="tools" role="search">
<input id="search" type="search" placeholder="Search this page ( / )" aria-label="Search this page" autocomplete="off" spellcheck="false">
<span class="kinds">${Object.entries(kinds).map(
  ([kind, title]) => html`<button type="button" data-filter="${kind}" aria-pressed="false">${title}</button>`,
)}</span>
<span id="found" role="status"></span>
<span class="right">${isFolded && html`<button type="button" id="unfold" aria-pressed="false">Unfold</button>`}
<button type="button" id="theme" title="Dark or light" aria-label="Dark or light">◐</button></span>
</div>`
