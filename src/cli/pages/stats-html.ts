/**
 * Figures of your work as a page that looks like the others: one file that loads nothing, with charts as SVG; all that
 * comes from the archive is escaped. Pure.
 */

import { agentTitle } from "../../agents/agents.ts"
import { count } from "../../base/text.ts"
import { HELD_KINDS, type Receipt } from "../../restore/receipt.ts"
import type { Spent } from "../../restore/window/spending.ts"
import { formatTokens, shortTokens } from "../../restore/window/zone.ts"
import { PRICES_AS_OF } from "../../views/prices.ts"
import { folderOf } from "../../views/project.ts"
import { DAY_NAMES, gridOf, MONTH_NAMES, MOST_WEEKS } from "../stats/activity-grid.ts"
import type { SpentRow, Stats } from "../stats/stats.ts"
import { type Content, documentHtml, type Html, html, WHOLE } from "./html/document.ts"
import { toolbar } from "./html/project-page.ts"
import STYLE from "./stats.css" with { type: "text" }

interface StatsPage {
  readonly project: string | undefined
  /** The local day. */
  readonly today: string
  /** Of ctxbridge. */
  readonly version: string
}

const figure = (n: number): string => n.toLocaleString("en-US")
const dollars = (n: number): string =>
  n.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 2 })
const share = (part: number, whole: number): string =>
  whole === 0 ? "" : `${Math.round((100 * part) / whole)}%`

export function statsHtml(stats: Stats, { project, today, version }: StatsPage): string {
  const name = project === undefined ? "Every project" : folderOf(project)
  const pieces = documentHtml(`${name}: stats`, version, body(name, stats, today), { ...WHOLE, style: STYLE })
  return [...pieces].map(({ text }) => text).join("")
}

/** What can be chosen, by the `data-kind` of rows. */
const KINDS = { cost: "Cost", tool: "Tools", file: "Files", error: "Errors", compaction: "Compactions" }

function* body(name: string, stats: Stats, today: string): Generator<Html> {
  const { first, last, sessions, turns } = stats
  const facts = [`${first ?? "?"} to ${last ?? "?"}`, count(sessions, "session"), count(turns, "turn")]
  yield html`<header class="top"><h1>${name}</h1><ul class="about">${facts.map((fact) => html`<li>${fact}</li>`)}</ul></header>
${toolbar(KINDS, false)}
<div class="columns project"><main>
`
  yield summary(stats)
  yield section("Turns by day", heatmap(stats, today))
  yield section("Turns by hour", hours(stats.hours))
  yield spent(`Tokens and cost by ${stats.by}`, stats.by, stats.rows)
  if (stats.agents.length > 1 && stats.by !== "agent") yield spent("Agents", "agent", stats.agents)
  yield* friction(stats)
  yield compactions(stats)
  yield html`<p class="nothing" hidden>Nothing here matches.</p></main></div>\n`
}

const section = (title: string, ...parts: readonly Content[]): Html =>
  html`<section class="group"><h2>${title}</h2>\n${parts}</section>\n`

/* Tables: each row can be searched for. */

interface HtmlColumn {
  readonly title: string
  /** Of its cells: `n` for numbers, `more` for what a phone leaves out. */
  readonly kind?: string
}

const words = (title: string, kind = ""): HtmlColumn => ({ title, kind })
const numbers = (...titles: readonly string[]): HtmlColumn[] => titles.map((title) => ({ title, kind: "n" }))
const more = (...titles: readonly string[]): HtmlColumn[] =>
  titles.map((title) => ({ title, kind: "n more" }))

/** @returns undefined for no rows */
function table(
  kind: keyof typeof KINDS,
  head: readonly HtmlColumn[],
  rows: readonly (readonly Content[])[],
): Html | undefined {
  if (rows.length === 0) return undefined
  const of = (n: number): Html | false => Boolean(head[n]!.kind) && html` class="${head[n]!.kind!}"`
  return html`<table class="sums"><thead><tr>${head.map(({ title }, n) => html`<th scope="col"${of(n)}>${title}</th>`)}</tr></thead><tbody>
${rows.map((row) => html`<tr class="item" data-kind="${kind}">${row.map((value, n) => html`<td${of(n)}>${value}</td>`)}</tr>\n`)}</tbody></table>
`
}

/** Nothing at all if the table has no rows. */
const tableOf = (title: string, ...of: Parameters<typeof table>): Html => {
  const found = table(...of)
  return found === undefined ? html`` : section(title, found)
}

function summary({ total, told, unpriced }: Stats): Html {
  const { input, output, cacheCreation, cacheRead } = total.tokens
  const prompt = input + cacheCreation + cacheRead
  const tiles: readonly (readonly [string, string, string])[] = [
    ["Cost", dollars(total.cost), "at list prices"],
    ...(told === null
      ? []
      : [["Says Claude Code", dollars(told.cost), `of ${count(told.sessions, "session")}`] as const]),
    ["Output", formatTokens(output), "tokens"],
    ["Input", formatTokens(prompt), `tokens, ${share(cacheRead, prompt)} of them from the cache`],
    ["Requests", figure(total.requests), "to models"],
  ]
  const exact = [
    [input, "input"],
    [output, "output"],
    [cacheCreation, "written to cache"],
    [cacheRead, "read from cache"],
  ] as const
  const missing = unpriced.map(
    ({ model, tokens }) => html` No price is known for ${model} (${figure(tokens)} tokens).`,
  )
  return html`<dl class="tiles">${tiles.map(([title, value, small]) => html`<div><dt>${title}</dt><dd>${value} <span class="small">${small}</span></dd></div>`)}</dl>
<p class="note">Tokens: ${exact.map(([n, what]) => `${figure(n)} ${what}`).join(", ")}. Prices are those of ${PRICES_AS_OF}.${missing}</p>
`
}

const costOf = ({ cost, unpriced }: Omit<Spent, "tokens">): string =>
  cost === 0 && unpriced > 0 ? "?" : `${dollars(cost)}${unpriced > 0 ? " + ?" : ""}`

function spent(title: string, by: Stats["by"], rows: readonly SpentRow[]): Html {
  const nameOf = (key: string): string => (key === "" ? "unknown" : by === "agent" ? agentTitle(key) : key)
  const hasTurns = rows.some(({ turns }) => turns !== null)
  const most = Math.max(...rows.map(({ cost }) => cost))
  const head = [
    words(by),
    ...(hasTurns ? more("turns") : []),
    ...[...more("input"), ...numbers("output"), ...more("cached", "read"), ...numbers("cost")],
  ]
  const cells = rows.map((row) => {
    const { key, title: own, turns, tokens, cost } = row
    const titled =
      own && by === "session" ? html`${own} <span class="under">${key}</span>` : (own ?? nameOf(key))
    return [
      html`${titled}${most > 0 && bar([["s4", cost / most]])}`,
      ...(hasTurns ? [turns === null ? "" : figure(turns)] : []),
      ...[tokens.input, tokens.output, tokens.cacheCreation, tokens.cacheRead].map(shortTokens),
      costOf(row),
    ]
  })
  return tableOf(title, "cost", head, cells)
}

function* friction({ friction: { tools, files, errors, interrupted, takenBack } }: Stats): Generator<Html> {
  const most = Math.max(1, ...tools.map(({ calls }) => calls))
  yield tableOf(
    "Tools",
    "tool",
    [words("tool"), ...numbers("calls", "failed"), ...more("share")],
    tools.map(({ name, calls, failed }) => [
      html`${name}${bar([
        ["s4", (calls - failed) / most],
        ["lost", failed / most],
      ])}`,
      ...[figure(calls), figure(failed), share(failed, calls)],
    ]),
  )
  yield tableOf(
    "Files most edited",
    "file",
    [words("file", "path"), words("latest", "handle more"), ...numbers("edits", "turns")],
    files.map(({ path, handle, edits, turns }) => [path, handle, figure(edits), figure(turns)]),
  )
  yield tableOf(
    "Errors that recur",
    "error",
    [
      words("error"),
      words("latest", "handle more"),
      words("it succeeded in", "handle more"),
      ...numbers("times"),
    ],
    errors.map(({ error, tool, handle, solvedIn, times }) => [
      html`${error} <span class="under">${tool}</span>`,
      ...[handle, solvedIn ?? "", figure(times)],
    ]),
  )
  yield html`<p class="note">Turns interrupted: ${figure(interrupted)}. Turns rewound: ${figure(takenBack)}.</p>\n`
}

const SHARES = [
  ["kept", "kept"],
  ["given", "restored"],
  ["lost", "lost"],
] as const satisfies readonly (readonly [keyof Receipt["kinds"]["path"], string])[]

function compactions({ compactions: { examined, more: hasMore, kinds } }: Stats): Html {
  const rows = HELD_KINDS.filter((kind) => kinds[kind].before > 0).map((kind) => {
    const { before, ...parts } = kinds[kind]
    const pieces = SHARES.map(([part]) => [part, parts[part] / before] as const)
    return [
      html`${kind}s${bar(pieces)}`,
      figure(before),
      ...SHARES.map(([part]) => share(parts[part], before)),
    ]
  })
  const head = [words("kind"), ...numbers("before", ...SHARES.map(([, title]) => title))]
  const title = hasMore ? `The latest ${examined} compactions` : `Compactions: ${examined}`
  return tableOf(title, "compaction", head, rows)
}

/* Charts. */

/** Sides of a day in the grid, and the room for names. */
const CELL = 13
const LEFT = 32
const TOP = 16
const SHADES = 4
/** Of the bars by hour. */
const HOUR = 24
const HEIGHT = 72

/** Parts of a whole, in a line as wide as its cell. */
const bar = (parts: readonly (readonly [style: string, share: number])[]): Html => {
  let x = 0
  const pieces = parts.map(([style, part]) => {
    const wide = 100 * part
    x += wide
    return (
      wide > 0 &&
      html`<rect class="${style}" x="${(x - wide).toFixed(1)}" width="${wide.toFixed(1)}" height="4"/>`
    )
  })
  return html`<svg class="part" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">${pieces}</svg>`
}

function heatmap({ days }: Stats, today: string): Html {
  const weeks = gridOf(days, today, MOST_WEEKS, SHADES)
  // As wide as a year, so that days are as large whenever the first was.
  const from = LEFT + (MOST_WEEKS - weeks.length) * CELL
  const marks = weeks.flatMap(({ month, days: all }, x) => [
    ...(month === undefined ? [] : [label(from + x * CELL, TOP - 5, MONTH_NAMES[month - 1]!)]),
    ...all.map(
      ({ day, turns, shade }, y) =>
        html`<rect class="s${shade}" x="${from + x * CELL}" y="${TOP + y * CELL}" width="${CELL - 2}" height="${CELL - 2}" rx="2"><title>${day}: ${count(turns, "turn")}</title></rect>`,
    ),
  ])
  const names = DAY_NAMES.map((name, y) => label(from - LEFT, TOP + y * CELL + CELL - 3, name))
  const said = `Turns by day until ${today}: most on ${busiest(days)?.day ?? "no day"}`
  return html`<div class="scrolled" tabindex="0" role="group" aria-label="Turns by day">${svg(said, LEFT + MOST_WEEKS * CELL, TOP + 7 * CELL, [...names, ...marks])}</div>\n`
}

const busiest = (days: Stats["days"]): Stats["days"][number] | undefined =>
  days.reduce<Stats["days"][number] | undefined>(
    (most, one) => (one.turns > (most?.turns ?? 0) ? one : most),
    undefined,
  )

function hours(all: readonly number[]): Html {
  const most = Math.max(1, ...all)
  const bars = all.map((n, hour) => {
    const height = Math.max(n > 0 ? 1 : 0, Math.round((n / most) * HEIGHT))
    return html`<rect class="s3" x="${hour * HOUR}" y="${HEIGHT - height}" width="${HOUR - 3}" height="${height}"><title>${hour}:00: ${count(n, "turn")}</title></rect>`
  })
  const names = [0, 6, 12, 18, 24].map((hour) => html`<span>${hour}:00</span>`)
  return html`<figure class="timeline"><svg viewBox="0 0 ${24 * HOUR} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Turns by the hour of the day">${bars}</svg><figcaption>${names}</figcaption></figure>\n`
}

const label = (x: number, y: number, name: string): Content =>
  name !== "" && html`<text x="${x}" y="${y}">${name}</text>`

const svg = (says: string, width: number, height: number, marks: readonly Content[]): Html =>
  html`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${says}">${marks}</svg>\n`
