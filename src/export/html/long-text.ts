/** Output as it was printed: the beginning at once, the rest behind a click, and of a whole file only so much. Pure. */
import { bytes, count, cut } from "../../util/text.ts"
import { type Html, html } from "./markup.ts"

/** UTF-16 units and lines that are shown at once. */
const SHOWN = 8000
const SHOWN_LINES = 60
/** UTF-16 units that are in the page at all: a line of a transcript may hold a gigabyte. */
const KEPT = 2 << 20

/** @param kind a class for its looks */
export function longText(text: string, kind: string): Html {
  const whole = text.replace(/\s+$/, "")
  if (whole === "") return html``
  const end = endOfBeginning(whole)
  if (end >= whole.length) return html`<pre class="${kind}">${whole}</pre>`
  const rest = whole.slice(end)
  const lines = rest.split("\n").length
  const size = lines > 1 ? count(lines, "more line") : bytes(rest.length)
  const lost =
    rest.length > KEPT &&
    html`<p class="note">The page ends here: the text goes on for ${bytes(rest.length - KEPT)}.</p>`
  return html`<pre class="${kind}">${whole.slice(0, end)}</pre><details class="rest"><summary>Show all: ${size}</summary><pre class="${kind}">${cut(rest, KEPT)}</pre>${lost}</details>`
}

/** Ends with a line if that is not much less. */
function endOfBeginning(text: string): number {
  let end = 0
  for (let line = 0; line < SHOWN_LINES; line++) {
    const next = text.indexOf("\n", end)
    if (next < 0) return text.length > SHOWN * 1.5 ? cut(text, Math.max(end, SHOWN), "").length : text.length
    if (next > SHOWN) return end > SHOWN / 2 ? end : cut(text, SHOWN, "").length
    end = next + 1
  }
  // A few more lines are not worth a click.
  return text.length - end < SHOWN / 8 ? text.length : end
}
