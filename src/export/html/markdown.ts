/**
 * Markdown as HTML. The only user of Bun's parser here: every tag and attribute is written below, so nothing else can come
 * out, whatever the text says. HTML in the text is shown as text, an image as a link. Pure.
 */
import { unsteered } from "../../util/unsteered.ts"
import { Html, html, inHtml } from "./markup.ts"

/** UTF-16 units; beyond it, text is shown as it is. */
const LONGEST = 200_000
/** Nested quotes and lists take time by their depth squared, so a line with so many marks is not parsed. */
const TOO_DEEP = /^(?:[ \t]{200}|(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){30})/m

const OPTIONS = { tables: true, strikethrough: true, tasklists: true, autolinks: true }

export function markdown(text: string): Html {
  if (text.length > LONGEST || TOO_DEEP.test(text)) return html`<pre class="plain">${text}</pre>`
  const shown = unsteered(text.replace(/\r\n?/g, "\n"))
  return new Html(`<div class="md">${Bun.markdown.render(shown, TAGS, OPTIONS)}</div>`)
}

type Callbacks = Bun.markdown.RenderCallbacks

const TAGS: Callbacks = {
  // Entities are decoded by now, so that what steers may be back.
  text: inHtml,
  html: (text) => `<pre>${text}</pre>`,
  // Headings of a text lie below those of the page.
  heading: (inner, { level }) => `<h${Math.min(level + 2, 6)}>${inner}</h${Math.min(level + 2, 6)}>`,
  paragraph: (inner) => `<p>${inner}</p>`,
  blockquote: (inner) => `<blockquote>${inner}</blockquote>`,
  code: (inner, meta) =>
    `<pre${meta?.language ? ` data-language="${inHtml(meta.language)}"` : ""}><code>${inner}</code></pre>`,
  list: (inner, { ordered, start }) =>
    ordered ? `<ol start="${Number(start ?? 1)}">${inner}</ol>` : `<ul>${inner}</ul>`,
  listItem: (inner, { checked }) => `<li>${checked === undefined ? "" : checked ? "☑ " : "☐ "}${inner}</li>`,
  hr: () => "<hr>",
  table: (inner) => `<div class="wide"><table>${inner}</table></div>`,
  thead: (inner) => `<thead>${inner}</thead>`,
  tbody: (inner) => `<tbody>${inner}</tbody>`,
  tr: (inner) => `<tr>${inner}</tr>`,
  th: (inner, meta) => `<th${aligned(meta?.align)}>${inner}</th>`,
  td: (inner, meta) => `<td${aligned(meta?.align)}>${inner}</td>`,
  emphasis: (inner) => `<em>${inner}</em>`,
  strong: (inner) => `<strong>${inner}</strong>`,
  strikethrough: (inner) => `<s>${inner}</s>`,
  codespan: (inner) => `<code>${inner}</code>`,
  link: (inner, { href }) => link(href, inner),
  // A picture would be loaded from somewhere.
  image: (inner, { src }) => link(src, `🖼 ${inner}`),
}

const aligned = (align: string | undefined): string =>
  align === "left" || align === "center" || align === "right" ? ` align="${align}"` : ""

/** What a link may lead to; anything else stays text. */
const SCHEMES = /^(?:https?:\/\/|mailto:|#)/i
const WITHOUT_SCHEME = /^www\./i
const ADDRESS = /^[^\s@/:]+@[^\s@/:]+$/

function link(target: string, inner: string): string {
  const address = WITHOUT_SCHEME.test(target)
    ? `https://${target}`
    : ADDRESS.test(target)
      ? `mailto:${target}`
      : target
  if (!SCHEMES.test(address)) return inner
  return `<a href="${inHtml(address)}" rel="noopener noreferrer">${inner}</a>`
}
