/**
 * Figures of your work as one HTML file: nothing is loaded from anywhere, no script runs, and all that comes from the
 * archive is escaped. Pure.
 */

import { HELD_KINDS } from "../../restore/receipt.ts"
import { folderOf } from "../../views/project.ts"
import { DAY_NAMES, gridOf, MONTH_NAMES, MOST_WEEKS } from "../stats/activity-grid.ts"
import { PRICES_AS_OF } from "../stats/prices.ts"
import type { Stats } from "../stats/stats.ts"
import { type Content, Html, html, policyHash } from "./html/document.ts"
import STYLE from "./stats.css" with { type: "text" }

/** Sides of a day in the grid, and the room for names. */
const CELL = 12
const LEFT = 30
const TOP = 14
const SHADES = 4
/** Of the bars by hour. */
const HOUR = 24
const HEIGHT = 60

const figure = (n: number): string => n.toLocaleString("en-US")
const dollars = (n: number): string =>
  n.toLocaleString("en-US", { style: "currency", currency: "USD", minimumFractionDigits: 2 })
const share = (part: number, whole: number): string =>
  whole === 0 ? "" : `${Math.round((100 * part) / whole)}%`

/** @param today the local day */
export function statsHtml(
  stats: Stats,
  { project, today }: { project: string | undefined; today: string },
): string {
  const title = project === undefined ? "Every project" : folderOf(project)
  const policy = `default-src 'none'; style-src ${policyHash(STYLE)}; base-uri 'none'; form-action 'none'`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width">
<title>${title}: ctxbridge stats</title>
<style>${new Html(STYLE)}</style>
</head>
<body>
<h1>${title}, ${stats.first ?? "?"} to ${stats.last ?? "?"}</h1>
${summary(stats)}
${spent(stats)}
${section("Turns by day", heatmap(stats, today))}
${section("Turns by hour", hours(stats.hours))}
${friction(stats)}
${compactions(stats)}
</body>
</html>
`.text
}

const section = (title: string, body: Html | undefined): Html | undefined =>
  body && html`<h2>${title}</h2>\n${body}`

interface HtmlColumn {
  readonly title: string
  readonly isNumber?: boolean
}

const words = (title: string): HtmlColumn => ({ title })
const numbers = (...titles: readonly string[]): HtmlColumn[] =>
  titles.map((title) => ({ title, isNumber: true }))

/** @returns undefined for no rows */
function table(head: readonly HtmlColumn[], rows: readonly (readonly string[])[]): Html | undefined {
  if (rows.length === 0) return undefined
  const kind = (n: number): Html | false => head[n]!.isNumber === true && html` class="n"`
  const isTitled = head.some(({ title }) => title !== "")
  return html`<table>
${isTitled && html`<tr>${head.map(({ title }, n) => html`<th${kind(n)}>${title}</th>`)}</tr>\n`}${rows.map(
  (row) => html`<tr>${row.map((value, n) => html`<td${kind(n)}>${value}</td>`)}</tr>\n`,
)}</table>`
}

function summary({ sessions, turns, total, told, unpriced }: Stats): Html | undefined {
  const { input, output, cacheCreation, cacheRead } = total.tokens
  const rows = [
    ["Sessions", figure(sessions)],
    ["Turns", figure(turns)],
    ["Input tokens", figure(input)],
    ["Output tokens", figure(output)],
    ["Written to cache", figure(cacheCreation)],
    ["Read from cache", figure(cacheRead)],
    [`Cost at list prices of ${PRICES_AS_OF}`, dollars(total.cost)],
    ...(told === null
      ? []
      : [[`Claude Code itself says, of ${figure(told.sessions)} sessions`, dollars(told.cost)]]),
    ...unpriced.map(({ model, tokens }) => [`Tokens of ${model}, whose price is not known`, figure(tokens)]),
  ]
  return table([words(""), ...numbers("")], rows)
}

function spent({ by, rows }: Stats): Html | undefined {
  const head = [words(by), ...numbers("turns", "input", "output", "cached", "read", "cost")]
  const cells = rows.map(({ key, title, turns, tokens, cost, unpriced }) => [
    [(by === "project" && key !== "" ? folderOf(key) : key) || "unknown", title].filter(Boolean).join(" "),
    turns === null ? "" : figure(turns),
    figure(tokens.input),
    figure(tokens.output),
    figure(tokens.cacheCreation),
    figure(tokens.cacheRead),
    cost === 0 && unpriced > 0 ? "?" : `${dollars(cost)}${unpriced > 0 ? " + ?" : ""}`,
  ])
  return section("Tokens and cost", table(head, cells))
}

function heatmap({ days }: Stats, today: string): Html {
  const weeks = gridOf(days, today, MOST_WEEKS, SHADES)
  const marks = weeks.flatMap(({ month, days: all }, x) => [
    ...(month === undefined ? [] : [label(LEFT + x * CELL, TOP - 4, MONTH_NAMES[month - 1]!)]),
    ...all.map(
      ({ day, turns, shade }, y) =>
        html`<rect class="s${shade}" x="${LEFT + x * CELL}" y="${TOP + y * CELL}" width="${CELL - 2}" height="${CELL - 2}"><title>${day}: ${turns}</title></rect>`,
    ),
  ])
  const names = DAY_NAMES.map((name, y) => label(0, TOP + y * CELL + CELL - 3, name))
  return svg(LEFT + weeks.length * CELL + LEFT, TOP + 7 * CELL, [...names, ...marks])
}

function hours(all: readonly number[]): Html {
  const most = Math.max(1, ...all)
  const bars = all.flatMap((n, hour) => {
    const height = Math.round((n / most) * HEIGHT)
    const bar = html`<rect class="s${SHADES}" x="${hour * HOUR}" y="${HEIGHT - height}" width="${HOUR - 2}" height="${height}"><title>${hour}:00: ${n}</title></rect>`
    return [bar, ...(hour % 6 === 0 ? [label(hour * HOUR, HEIGHT + 12, String(hour))] : [])]
  })
  return svg(24 * HOUR, HEIGHT + 14, bars)
}

const label = (x: number, y: number, name: string): Content =>
  name !== "" && html`<text x="${x}" y="${y}">${name}</text>`

const svg = (width: number, height: number, marks: readonly Content[]): Html =>
  html`<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">${marks}</svg>`

function friction({ friction: { tools, files, errors, interrupted, takenBack } }: Stats): Content {
  return [
    section(
      "Tools",
      table(
        [words("tool"), ...numbers("calls", "failed", "")],
        tools.map(({ name, calls, failed }) => [name, figure(calls), figure(failed), share(failed, calls)]),
      ),
    ),
    section(
      "Files most edited",
      table(
        [words("file"), words("latest"), ...numbers("edits", "turns")],
        files.map(({ path, handle, edits, turns }) => [path, handle, figure(edits), figure(turns)]),
      ),
    ),
    section(
      "Errors that recur",
      table(
        [words("error"), words("tool"), words("latest"), words("it succeeded in"), ...numbers("times")],
        errors.map(({ error, tool, handle, solvedIn, times }) => [
          error,
          tool,
          handle,
          solvedIn ?? "",
          figure(times),
        ]),
      ),
    ),
    html`<p class="dim">Turns interrupted: ${figure(interrupted)}. Turns rewound: ${figure(takenBack)}.</p>`,
  ]
}

function compactions({ compactions: { examined, more, kinds } }: Stats): Html | undefined {
  const rows = HELD_KINDS.filter((kind) => kinds[kind].before > 0).map((kind) => {
    const { before, kept, given, lost } = kinds[kind]
    return [`${kind}s`, figure(before), ...[kept, given, lost].map((n) => share(n, before))]
  })
  const title = more ? `The latest ${examined} compactions` : `Compactions: ${examined}`
  return section(title, table([words("kind"), ...numbers("before", "kept", "restored", "lost")], rows))
}
