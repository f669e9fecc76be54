/**
 * What every page has around its content: one file that loads nothing. Its style and script are named by their hashes
 * in its own security policy, so no other can run, whatever is in the page. Pure.
 */

import searchScript from "../../../../dist/page/search.js" with { type: "text" }
import { oneLine, unsteered } from "../../../base/text.ts"
import type { ToolKind } from "../../../record/agent.ts"
import type { Part } from "../../../record/types.ts"
import type { CountedSession } from "../../../views/queries/sessions.ts"
import type { Lineage } from "../../../views/queries/transcripts.ts"
import type { Turn, WholeTurn } from "../../../views/turn.ts"
import looks from "./looks.js" with { type: "text" }
import pageStyle from "./page.css" with { type: "text" }
import script from "./page.js" with { type: "text" }

interface PageKind {
  /** Beside what all have. */
  readonly style: string
  /** After what every page's does first. */
  readonly scripts: readonly string[]
  /** What its policy allows these scripts besides. */
  readonly allowed: string
  /** What its foot says of secrets, and of what it loads. */
  readonly foot: string
}

/** A page that is one file. */
export const WHOLE: PageKind = {
  style: "",
  scripts: [script],
  allowed: "",
  foot: "Secrets that were found are replaced by *. This page loads nothing from anywhere.",
}

/**
 * The page of sessions, whose script loads the index beside it. `strict-dynamic` allows what that script itself adds,
 * and not what markup names, wherever the page lies: `self` means nothing to a page from a file.
 */
export const LIST: PageKind = {
  ...WHOLE,
  scripts: [script, searchScript],
  allowed: " 'strict-dynamic'",
  foot: "Secrets that were found are replaced by *. This page loads nothing but the index beside it. Keys: / searches, j and k move, Enter opens, Escape leaves.",
}

/** @param version of ctxbridge */
export function* documentHtml(
  title: string,
  version: string,
  body: Iterable<Html>,
  { style: ownStyle, scripts: own, allowed, foot }: PageKind = WHOLE,
): Generator<Html> {
  const style = pageStyle + ownStyle
  const scripts = own.map((script, n) => (n === 0 ? looks + script : script))
  const policy = [
    "default-src 'none'",
    "img-src data:",
    `style-src ${policyHash(style)}`,
    `script-src ${scripts.map(policyHash).join(" ")}${allowed}`,
    "media-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")
  yield html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<style>${new Html(style)}</style>
</head>
<body>
${iconSheet()}
`
  yield* body
  yield html`<footer>Made by ctxbridge ${version} from its archive. ${foot}</footer>
${scripts.map((one) => html`<script>${new Html(one)}</script>\n`)}
</body>
</html>
`
}

/* One picture for each kind of tool, drawn once a page and referred to. Pure. */

/** Paths in a field of 16 by 16. */
const ICONS = {
  run: "M3 4l4 4-4 4M8.5 12H13",
  read: "M4 2h5.5L12 4.5V14H4zM9 2v3h3",
  edit: "M10.5 3l2.5 2.5L6 12.5l-3 .5.5-3zM9 4.5L11.5 7",
  search: "M7 3a4 4 0 1 0 0 8 4 4 0 0 0 0-8M10 10l3.5 3.5",
  fetch: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M2 8h12M8 2c-3.5 4-3.5 8 0 12M8 2c3.5 4 3.5 8 0 12",
  agent: "M4 2v12M4 9c0-3 8-1 8-5M12 2a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  todo: "M3 8.5L6.5 12 13 4.5",
  tool: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 2v3M8 11v3M2 8h3M11 8h3",
} as const

type IconName = keyof typeof ICONS

const OF_KIND: Partial<Record<ToolKind, IconName>> = {
  ...{ run: "run", "run-other": "run", watch: "run", read: "read", write: "edit", edit: "edit" },
  ...{
    search: "search",
    "search-tools": "search",
    fetch: "fetch",
    agent: "agent",
    todo: "todo",
    plan: "todo",
  },
}

export const iconOf = (kind: ToolKind | undefined): Html => icon((kind && OF_KIND[kind]) ?? "tool")

export const icon = (name: IconName): Html =>
  html`<svg class="icon" aria-hidden="true"><use href="#icon-${name}"/></svg>`

const iconSheet = (): Html =>
  html`<svg class="sheet" aria-hidden="true">${Object.entries(ICONS).map(
    ([name, path]) => html`<symbol id="icon-${name}" viewBox="0 0 16 16"><path d="${path}"/></symbol>`,
  )}</svg>`

/*
 * Markdown as HTML. The only user of Bun's parser here: every tag and attribute is written below, so nothing else can
 * come out, whatever the text says. HTML in the text is shown as text, an image as a link. Pure.
 */

/** UTF-16 units; beyond it, text is shown as it is. */
const LONGEST = 200_000
/** Nested quotes and lists take time by their depth squared, so a line with so many marks is not parsed. */
const TOO_DEEP = /^(?:[ \t]{200}|(?:[ \t]*(?:>|[-*+][ \t]|\d{1,9}[.)][ \t])){30})/m

const OPTIONS = { tables: true, strikethrough: true, tasklists: true, autolinks: true }

/** @param isSentence whether it is a line within another text, so that nothing may be a block */
export function markdown(text: string, isSentence = false): Html {
  if (text.length > LONGEST || TOO_DEEP.test(text)) return html`<pre class="plain">${text}</pre>`
  if (isSentence) return new Html(Bun.markdown.render(unsteered(oneLine(text)), IN_LINE, OPTIONS))
  const shown = unsteered(text.replace(/\r\n?/g, "\n"))
  return new Html(`<div class="md">${Bun.markdown.render(shown, TAGS, OPTIONS)}</div>`)
}

type Callbacks = Bun.markdown.RenderCallbacks

const TAGS: Callbacks = {
  // Entities are decoded by now, so that what steers may be back.
  text: (text) => inHtml(text),
  html: (text) => `<pre>${text}</pre>`,
  // Headings of a text lie below those of its turn. An answer may begin with any of them, so they are of one level.
  heading: (inner, { level }) => `<h3${level === 1 ? ' class="first"' : ""}>${inner}</h3>`,
  paragraph: (inner) => `<p>${inner}</p>`,
  blockquote: (inner) => `<blockquote>${inner}</blockquote>`,
  code: (inner, meta) =>
    `<pre${meta?.language ? ` data-language="${inHtml(meta.language)}"` : ""}><code>${inner}</code></pre>`,
  list: (inner, { ordered, start }) =>
    ordered ? `<ol start="${Number(start ?? 1)}">${inner}</ol>` : `<ul>${inner}</ul>`,
  listItem: (inner, { checked }) => `<li>${checked === undefined ? "" : checked ? "☑ " : "☐ "}${inner}</li>`,
  hr: () => "<hr>",
  // Wide ones are scrolled, with keys as well.
  table: (inner) =>
    `<div class="wide" tabindex="0" role="group" aria-label="Table"><table>${inner}</table></div>`,
  thead: (inner) => `<thead>${inner}</thead>`,
  tbody: (inner) => `<tbody>${inner}</tbody>`,
  tr: (inner) => `<tr>${inner}</tr>`,
  // A corner that says nothing heads nothing.
  th: (inner, meta) => (inner === "" ? "<td></td>" : `<th${aligned(meta?.align)}>${inner}</th>`),
  td: (inner, meta) => `<td${aligned(meta?.align)}>${inner}</td>`,
  emphasis: (inner) => `<em>${inner}</em>`,
  strong: (inner) => `<strong>${inner}</strong>`,
  strikethrough: (inner) => `<s>${inner}</s>`,
  codespan: (inner) => `<code>${inner}</code>`,
  link: (inner, { href }) => link(href, inner),
  // A picture would be loaded from somewhere.
  image: (inner, { src }) => link(src, `🖼 ${inner}`),
}

const asItIs = (inner: string): string => inner

const IN_LINE: Callbacks = {
  ...TAGS,
  html: asItIs,
  heading: asItIs,
  paragraph: asItIs,
  blockquote: asItIs,
  list: asItIs,
  listItem: asItIs,
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

/*
 * Text becomes HTML here and nowhere else: whatever is put into a template is escaped, unless it is HTML already. Pure.
 */

/** HTML that was made by a template, so that a string cannot pass for it. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type Content = Html | string | number | false | null | undefined | readonly Content[]

/** Most text has nothing that needs more than escaping, and takes a tenth of the time. */
const HARMLESS = /^[\t\n\x20-\x7e]*$/

/** Text from the archive as HTML: escaped, without ANSI codes and without marks that reorder a line. */
const inHtml = (text: string): string =>
  Bun.escapeHTML(HARMLESS.test(text) ? text : unsteered(text.replace(/\r\n?/g, "\n")))

/** Escapes what is put into it. Attributes must be in double quotes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  let text = strings[0]!
  for (const [n, value] of values.entries()) text += textOf(value) + strings[n + 1]!
  return new Html(text)
}

function textOf(value: Content): string {
  if (value === undefined || value === null || value === false) return ""
  if (value instanceof Html) return value.text
  if (typeof value === "string") return inHtml(value)
  return typeof value === "number" ? String(value) : value.map(textOf).join("")
}

/** By this a page's security policy names its own style or script. */
const policyHash = (text: string): string =>
  `'sha256-${new Bun.CryptoHasher("sha256").update(text).digest("base64")}'`

/* What the pages are made of. */

/** How figures and times are written, which depends on where the page is made. */
export interface PageWords {
  /** `86.7K` */
  readonly tokens: (n: number) => string
  /** `$1.20` */
  readonly dollars: (cost: number) => string
  /** `2 Mar 2026 08:05` */
  readonly moment: (time: string | null) => string
  /** `2 Mar 2026 08:05 to 09:12` */
  readonly period: (from: string | null, to: string | null) => string
  /** `2026-03-02`: days are in its order. */
  readonly day: (time: string | null) => string
  /** `08:05` */
  readonly hour: (time: string | null) => string
}

/** Another page beside this one. */
export interface PageLink {
  readonly file: string
  readonly name: string
}

/** What a compaction kept and lost, and what was restored after it. */
export interface CompactionOnPage {
  /** Of the boundary, as its line has it. */
  readonly time: string | null
  readonly kept: number
  readonly restored: number
  readonly lost: number
  /** Whether the restored text reached the conversation, in words. */
  readonly delivery: string
  /** The restored text; empty: nothing was. */
  readonly text: string
}

/** Words about a session that are not its own, such as a summary of it. They are marked as `by` whom. */
export interface WordsAbout {
  readonly title: string
  readonly items: readonly {
    readonly label: string
    readonly text: string
    /** Of the turn that says it. */
    readonly handle?: string | undefined
  }[]
  readonly by: string
}

export interface SubagentData {
  readonly session: CountedSession
  /** What it was asked, in full. */
  readonly brief: string
  readonly turns: Iterable<WholeTurn>
}

export interface SessionData {
  readonly session: CountedSession
  /** What the user has labelled the session or a turn with, by id or handle, each in a few words. */
  readonly labelsOf: (subject: string) => readonly string[]
  readonly lineage: Lineage
  /** What it cost at list prices, in US dollars; undefined: not known. */
  readonly estimate: number | undefined
  readonly about: readonly WordsAbout[]
  /** The turns of the page, in short. */
  readonly outline: readonly Turn[]
  /** Whether these are all of the session. */
  readonly isWhole: boolean
  /** By handle: the most tokens in the context during the turn. */
  readonly context: ReadonlyMap<string, number>
  readonly compactions: readonly CompactionOnPage[]
  readonly subagents: readonly SubagentData[]
  readonly turns: Iterable<WholeTurn>
  /** Base64 of a turn's images. */
  readonly mediaOf: (turn: WholeTurn) => ReadonlyMap<Part, string>
  /** File name of the page of a file that is beside this one. */
  readonly pageOf: (path: string) => string | undefined
}
