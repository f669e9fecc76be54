/** Pictures to share, as SVG: of compactions, and of a year. Nothing in them is private unless it was asked for. Pure. */

import { toolKind } from "../../agents/tool-kinds.ts"
import { count, cut } from "../../base/text.ts"
import type { KindCounts, Receipt } from "../../restore/receipt.ts"
import { sumOf } from "../../restore/session-receipts.ts"
import { shortTokens } from "../../restore/window/zone.ts"
import { namesApart } from "../../views/project.ts"
import { allTokens } from "../../views/queries/token-use.ts"
import { gridOf, longestStreak, MONTH_NAMES, MOST_WEEKS, yearBegins } from "../stats/activity-grid.ts"
import type { Stats } from "../stats/stats.ts"
import { type Content, type Html, html } from "./html/document.ts"

/** In pixels, as sites that show a link's picture want it. */
const WIDTH = 1200
const HEIGHT = 630
const MARGIN = 80

const BRIGHT = "#e6edf3"
const QUIET = "#8b949e"

const FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"

interface Look {
  readonly colour?: string
  readonly weight?: number
}

const text = (
  x: number,
  y: number,
  size: number,
  words: string,
  { colour = BRIGHT, weight = 400 }: Look = {},
): Html =>
  html`<text x="${x}" y="${y}" font-family="${FONT}" font-size="${size}" font-weight="${weight}" fill="${colour}">${words}</text>\n`

const box = (x: number, y: number, width: number, height: number, colour: string, round = 0): Html =>
  html`<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${width.toFixed(1)}" height="${height}"${round > 0 && html` rx="${round}"`} fill="${colour}"/>\n`

/** @param says for those who do not see it */
function picture(says: string, command: string, marks: readonly Content[]): Uint8Array {
  const svg = html`<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${says}">
<rect width="${WIDTH}" height="${HEIGHT}" fill="#0d1117"/>
${marks}${text(MARGIN, HEIGHT - 34, 24, command, { colour: QUIET })}</svg>
`
  return Buffer.from(svg.text)
}

/* What compactions kept, and what was restored: numbers only. */

/** Colours that differ in lightness, too. */
const PARTS = [
  { share: "kept", colour: "#3fb950", says: "kept by the summary" },
  { share: "given", colour: "#58a6ff", says: "brought back by the restore" },
  { share: "lost", colour: "#da3633", says: "in neither, still in the archive" },
] as const

const percent = (part: number, whole: number): number => Math.round((100 * part) / Math.max(1, whole))

function barOf(parts: KindCounts, from: number, y: number, width: number, height: number): Html[] {
  let x = from
  return PARTS.map(({ share, colour }) => {
    const wide = (width * parts[share]) / Math.max(1, parts.before)
    x += wide
    return box(x - wide, y, wide, height, colour)
  })
}

export function receiptCard(receipts: readonly Receipt[]): Uint8Array {
  const parts = sumOf(receipts.flatMap(({ kinds }) => Object.values(kinds)))
  const tokens = receipts.length === 1 ? (receipts[0]!.preTokens ?? undefined) : undefined
  const what =
    receipts.length === 1
      ? `A compaction${tokens === undefined ? "" : ` at ${tokens.toLocaleString("en-US")} tokens`}`
      : count(receipts.length, "compaction")
  const legend = PARTS.map(({ share, colour, says }, n) => {
    const y = 440 + n * 46
    const words = `${parts[share]} (${percent(parts[share], parts.before)}%) ${says}`
    return [box(MARGIN, y - 22, 26, 26, colour, 5), text(MARGIN + 44, y, 30, words)]
  })
  const came = percent(parts.kept + parts.given, parts.before)
  const title = `Of ${count(parts.before, "thing")} in the context, ${came}% came through`
  return picture(title, "ctxbridge receipts", [
    text(MARGIN, 130, 34, what, { colour: QUIET }),
    text(MARGIN, 210, 36, title, { weight: 700 }),
    text(MARGIN, 260, 26, "constraints, decisions, commands, errors, files, names and numbers", {
      colour: QUIET,
    }),
    ...barOf(parts, MARGIN, 300, WIDTH - 2 * MARGIN, 72),
    legend,
  ])
}

/* A year: when, how much, with what, and what was given back. */

const SHADES = ["#1b222b", "#0e4429", "#006d32", "#26a641", "#39d353"] as const
/** Width of a week, and of the gap in it. */
const WEEK = (WIDTH - 2 * MARGIN) / MOST_WEEKS
const GAP = 3.6
const GRID = 268
/** Of the columns below the grid. */
const COLUMNS = [MARGIN, 430, 760] as const
const BELOW = 448
const TOOLS = 4
const LONGEST = 18

interface YearCard {
  /** The local day. */
  readonly today: string
  /** Of whose sessions. */
  readonly agent: string | undefined
  /** Whether it may name projects and all tools. */
  readonly isNamed: boolean
  readonly project: string | undefined
  /** Whether it is about a year. */
  readonly isWhole: boolean
}

/** @param stats by project, of a year at most */
export function yearCard(stats: Stats, card: YearCard): Uint8Array {
  const { sessions, turns, total, days } = stats
  const most = days.reduce((a, b) => (b.turns > a.turns ? b : a), { day: "", turns: 0 })
  const streak = longestStreak(days)
  const what =
    card.isNamed && card.project !== undefined
      ? cut(namesApart([card.project]).get(card.project)!, LONGEST)
      : card.isWhole
        ? "My year"
        : "My work"
  const title = `${what} with ${card.agent ?? "coding agents"}`
  const tiles = [
    [sessions.toLocaleString("en-US"), sessions === 1 ? "session" : "sessions"],
    [turns.toLocaleString("en-US"), turns === 1 ? "turn" : "turns"],
    [shortTokens(allTokens(total.tokens)), "tokens"],
    [`$${Math.round(total.cost).toLocaleString("en-US")}${total.unpriced > 0 ? "+" : ""}`, "at list prices"],
    [days.length.toLocaleString("en-US"), days.length === 1 ? "active day" : "active days"],
  ] as const
  const wide = (WIDTH - 2 * MARGIN) / tiles.length
  const says = `${title}: ${count(sessions, "session")}, ${count(turns, "turn")}, longest streak ${count(streak, "day")}`
  return picture(says, "ctxbridge stats --card", [
    text(MARGIN, 88, 42, title, { weight: 700 }),
    text(MARGIN, 124, 24, `${dayName(stats.first)} to ${dayName(stats.last)}`, { colour: QUIET }),
    tiles.map(([value, name], n) => [
      text(MARGIN + n * wide, 188, 40, value, { weight: 700 }),
      text(MARGIN + n * wide, 216, 22, name, { colour: QUIET }),
    ]),
    grid(stats, card.today),
    text(COLUMNS[0], BELOW, 22, "Busiest day", { colour: QUIET }),
    text(COLUMNS[0], BELOW + 30, 24, `${dayName(most.day)}, ${turnsOf(most.turns)}`),
    text(COLUMNS[0], BELOW + 72, 22, "Longest streak", { colour: QUIET }),
    text(COLUMNS[0], BELOW + 102, 24, count(streak, "day")),
    ...(card.isNamed && card.project === undefined ? projects(stats) : tools(stats, card.isNamed)),
    ...givenBack(stats),
  ])
}

const turnsOf = (n: number): string => `${n.toLocaleString("en-US")} ${n === 1 ? "turn" : "turns"}`

/** `6 Aug 2026` */
const dayName = (day: string | null): string => {
  const [year, month, date] = (day ?? "").split("-").map(Number)
  return date === undefined ? "?" : `${date} ${MONTH_NAMES[month! - 1]} ${year}`
}

function grid({ days }: Stats, today: string): Html[] {
  // All of it, whenever the first day was.
  const weeks = gridOf([{ day: yearBegins(today), turns: 0 }, ...days], today, MOST_WEEKS, SHADES.length - 1)
  return weeks.flatMap(({ month, days: all }, n) => {
    const x = MARGIN + n * WEEK
    const name =
      month === undefined || weeks.length - n < 3
        ? []
        : [text(x, GRID - 10, 16, MONTH_NAMES[month - 1]!, { colour: QUIET })]
    const cells = all.map(({ shade }, y) =>
      box(x, GRID + y * WEEK, WEEK - GAP, WEEK - GAP, SHADES[shade as 0], 3),
    )
    return [...name, ...cells]
  })
}

function ranked(title: string, rows: readonly (readonly [name: string, n: number])[]): Html[] {
  const largest = Math.max(1, ...rows.map(([, n]) => n))
  return [
    text(COLUMNS[1], BELOW, 22, title, { colour: QUIET }),
    ...rows.flatMap(([name, n], at) => {
      const y = BELOW + 30 + at * 26
      return [
        box(COLUMNS[1], y - 15, Math.max(4, (70 * n) / largest), 14, SHADES[3], 3),
        text(COLUMNS[1] + 84, y, 20, cut(name, LONGEST)),
      ]
    }),
  ]
}

/** Names of tools that somebody has made may say whose they are. */
function tools({ friction }: Stats, isNamed: boolean): Html[] {
  const sums = new Map<string, number>()
  for (const { name, calls } of friction.tools) {
    const shown =
      isNamed || toolKind(name) !== undefined ? name : name.startsWith("mcp__") ? "MCP" : undefined
    if (shown !== undefined) sums.set(shown, (sums.get(shown) ?? 0) + calls)
  }
  const rows = [...sums].sort(([, a], [, b]) => b - a)
  return ranked("Most used tools", rows.slice(0, TOOLS))
}

function projects({ rows }: Stats): Html[] {
  const known = rows.filter(({ key }) => key !== "")
  const most = known.toSorted((a, b) => (b.turns ?? 0) - (a.turns ?? 0)).slice(0, TOOLS)
  return ranked(
    "Most turns in",
    most.map(({ key, title, turns }) => [title ?? key, turns ?? 0]),
  )
}

function givenBack({ compactions: { examined, more, kinds } }: Stats): Html[] {
  const parts = sumOf(Object.values(kinds))
  if (examined === 0 || parts.before === 0) return []
  const width = WIDTH - MARGIN - COLUMNS[2]
  const what = `${more ? "The latest " : ""}${count(examined, "compaction")}`
  return [
    text(COLUMNS[2], BELOW, 22, what, { colour: QUIET }),
    ...barOf(parts, COLUMNS[2], BELOW + 14, width, 18),
    ...PARTS.filter(({ share }) => parts[share] > 0).map(({ share, says }, n) =>
      text(COLUMNS[2], BELOW + 58 + n * 26, 20, `${percent(parts[share], parts.before)}% ${says}`),
    ),
  ]
}
