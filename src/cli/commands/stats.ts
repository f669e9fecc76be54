/** `ctxbridge stats`: tokens, cost and activity; what recurs; what compactions dropped. */

import { version } from "../../../package.json"
import { agentTitle } from "../../agents/agents.ts"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { localDate, momentOf, twoDigits } from "../../base/local-time.ts"
import { resolve } from "../../base/path.ts"
import { bytes, count, oneLine } from "../../base/text.ts"
import { timeZone, wantsUnicode } from "../../config/load.ts"
import { hasBudget } from "../../config/options.ts"
import { startRenewing } from "../../job/spawn.ts"
import { HELD_KINDS } from "../../restore/receipt.ts"
import { type BudgetUse, budgetUses, keepUses, parseBudget } from "../../restore/window/budget-use.ts"
import { gatherBlocks, gatherUses, type Spent, type UseBlock } from "../../restore/window/spending.ts"
import { formatTokens, shortTokens } from "../../restore/window/zone.ts"
import type { Database } from "../../views/database.ts"
import { derivedOnce, fileState } from "../../views/kept-pages.ts"
import { openCurrent } from "../../views/open-current.ts"
import { OPENAI_AS_OF, OPENAI_FROM, PRICES_AS_OF, PRICES_FROM, priceList } from "../../views/prices.ts"
import { folderOf } from "../../views/project.ts"
import { allTokens } from "../../views/queries/token-use.ts"
import { oneOf, positive, stringArg, unknownWord } from "../args.ts"
import { renderPairs, renderTable, wholePath } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { yearCard } from "../pages/cards.ts"
import { writeExport } from "../pages/output-file.ts"
import { statsHtml } from "../pages/stats-html.ts"
import { AGENT_ARG, agentWanted, knownProject, projectWanted } from "../project-wanted.ts"
import { dollars, shortIds } from "../render-session.ts"
import { ago, dated, hourAt, type Screen, screenOf, timeArg, wrapped } from "../screen.ts"
import {
  DAY_NAMES,
  type DayActivity,
  gridOf,
  MONTH_NAMES,
  shadeOf,
  yearBegins,
} from "../stats/activity-grid.ts"
import {
  type CompactionStats,
  type Friction,
  gatherFriction,
  gatherStats,
  PERIODS,
  type SpentRow,
  type Stats,
  spanOf,
} from "../stats/stats.ts"
import { cutPath, fit, indented, type Style, safe } from "../style.ts"

/** Rows of the table, and tools, files and errors. */
const ROWS = 14
const MOST = 15

export default {
  meta: { name: "stats", description: "Show tokens, cost and activity, and what keeps recurring" },
  args: {
    part: {
      type: "positional",
      description: "friction: only what gets in the way, in more detail",
      valueHint: "friction",
    },
    project: option("Of the project of this name or folder; by default, of every project", "PATH|NAME", "p"),
    "all-projects": flag("Of every project, as by default", "a"),
    since: option("From this date or age on (2026-03-02, 7d)", "WHEN"),
    agent: AGENT_ARG,
    by: option("Tokens and cost by this (day)", PERIODS.join("|")),
    blocks: flag("Tokens and cost in blocks of five hours, and how long the present one lasts"),
    html: { ...flag("A page for browsers, in one file"), file: "output" },
    card: {
      ...flag("A picture (SVG) of a year to share, without names, paths or anything that was said"),
      file: "output",
    },
    names: flag("With --card: name projects, and the tools of MCP servers"),
    output: option("With --html or --card: write it to this file", "FILE", "o"),
    force: flag("Replace that file"),
    limit: option(`At most this many days or blocks (${ROWS}), or entries of friction (${MOST})`, "N", "n"),
  },
  run(context) {
    const { args, env, out } = context
    const part = stringArg(args, "part")
    if (part !== undefined && part !== "friction") throw unknownWord("part", part, ["friction"])
    const { isPage, isCard, wantsBlocks } = formIn(context, part)
    const now = Date.now()
    const today = localDate(now)
    const asked = timeArg(args, "since", now)
    const since = isCard ? latest(asked, momentOf(yearBegins(today), now)) : asked
    const by = isCard ? "project" : (oneOf(args, "by", PERIODS) ?? "day")
    const program = agentWanted(args)
    const limit = positive(args, "limit")
    const place = stringArg(args, "project") === undefined ? undefined : projectWanted(context)
    using db = openCurrent(env.dataHome, "command", startRenewing)
    const project = knownProject(db, context, place)
    const screen: StatsScreen = { ...screenOf(out, now), unicode: wantsUnicode(), today }
    const scope = { project: project ?? null, since: since ?? null }
    const most = limit ?? MOST
    const prices = env.config["stats.prices"]
    /** Kept, unless it is of an age: that is another time at each call. */
    const isLasting = wantsBlocks || /^(?:\d{4}[-/]|$)/.test(stringArg(args, "since")?.trim() ?? "")
    const question = [wantsBlocks ? "blocks" : [part, since], project, program, by, most, prices]
    const zone = [timeZone(), fileState("/etc/localtime")]
    const kept = <T>(derive: () => T): T =>
      isLasting ? derivedOnce(env.dataHome, [question, zone], now, derive) : derive()
    if (part === "friction") {
      const friction = kept(() =>
        gatherFriction(db, env.dataHome, spanOf(db, { project, since, program }), priceList(prices), most),
      )
      out.print(renderFriction(friction, { project, limit: most }, screen))
      out.json({ ...scope, ...friction })
      return
    }
    const asOf = {
      ...{ asOf: PRICES_AS_OF, from: PRICES_FROM },
      openai: { asOf: OPENAI_AS_OF, from: OPENAI_FROM },
    }
    if (wantsBlocks) {
      const all = kept(() =>
        gatherBlocks(db, spanOf(db, { project, since: undefined, program }), priceList(prices)),
      )
      const blocks = all
        .filter(({ end }) => since === undefined || end > since)
        .map((one) => ({ ...one, minutesLeft: minutesLeft(one, now) }))
      if (blocks.length === 0) throw nothingHere(since)
      out.print(renderBlocks(blocks, { project, limit: limit ?? ROWS }, screen))
      out.json({ ...scope, prices: asOf, blocks })
      return
    }
    const stats = kept(() =>
      gatherStats(
        db,
        env.dataHome,
        { project, since, program, by, prices: priceList(prices), most },
        (done, total) => out.progress("compactions", done, total),
      ),
    )
    if (stats.sessions === 0) throw nothingHere(since)
    const isOfAll = project === undefined && since === undefined && program === undefined
    const budgets = isOfAll && hasBudget(env.config) ? budgetsNow(context, db, now, [today, zone]) : []
    if (isPage || isCard) {
      const agent = program === undefined ? onlyAgent(stats) : agentTitle(program)
      const isWhole = asked === undefined
      const card = { today, project, agent, isNamed: args["names"] === true, isWhole }
      writeWhole(
        context,
        isCard ? yearCard(stats, card) : Buffer.from(statsHtml(stats, { project, today, version })),
      )
      return
    }
    out.print(renderStats(stats, { project, limit: limit ?? ROWS, budgets }, screen))
    out.json({ ...scope, prices: asOf, ...stats, budgets })
  },
} satisfies Command

/** @param day whatever decides when periods begin */
function budgetsNow({ env }: Context, db: Database, now: number, day: unknown): BudgetShown[] {
  const prices = env.config["stats.prices"]
  const uses = derivedOnce(env.dataHome, ["uses", day, prices], now, () =>
    gatherUses(db, priceList(prices), now),
  )
  keepUses(env.dataHome, uses)
  const live = budgetUses(env.config, uses, now)
  const block = live.some(({ period }) => period === "block")
    ? undefined
    : parseBudget(env.config["budget.block"])
  const idle = block && { period: "block", from: null, until: null, ...block, used: 0, share: 0 }
  return [...(idle ? [idle as BudgetShown] : []), ...live]
}

/** Between two blocks there is none to be used up. */
type BudgetShown = Omit<BudgetUse, "from" | "until"> & Readonly<Record<"from" | "until", string | null>>

/** What else than a table is wanted, if that goes together. */
function formIn({ args, out }: Context, part: string | undefined) {
  const isPage = args["html"] === true
  const isCard = args["card"] === true
  const wantsBlocks = args["blocks"] === true
  const isFile = isPage || isCard
  if (isFile && (part !== undefined || isPage === isCard))
    throw usageError(`--${isCard ? "card" : "html"} is about everything: leave out ${part ?? "--html"}`)
  if (args["by"] !== undefined && (part !== undefined || isCard))
    throw usageError(`--by is about tokens and cost: leave out ${part ?? "--card"}`)
  if (wantsBlocks && (isFile || part !== undefined || args["by"] !== undefined))
    throw usageError("--blocks is a table of its own: leave out --html, --card, --by and friction")
  if (args["names"] === true && !isCard) throw usageError("--names goes with --card")
  if (!isFile && stringArg(args, "output") !== undefined)
    throw usageError("--output goes with --html or --card")
  if (isFile && out.wantsJson && stringArg(args, "output") === undefined)
    throw usageError("--json reports on a file that was written", "add --output FILE")
  return { isPage, isCard, wantsBlocks }
}

const latest = (a = "", b = ""): string => (a > b ? a : b)

/** Of all that was summed up, if it was one. */
const onlyAgent = ({ agents: [first, ...others] }: Stats): string | undefined =>
  first === undefined || others.length > 0 ? undefined : agentTitle(first.key)

/** To the file that was named, or else as it is. */
function writeWhole({ args, env, out }: Context, whole: Uint8Array): void {
  const target = stringArg(args, "output")
  if (target === undefined) {
    out.raw(whole)
    return
  }
  const file = resolve(env.cwd, target)
  const size = writeExport(file, [whole], args["force"] === true)
  out.print(`${bytes(size)} written to ${safe(file)}`)
  out.json({ file, bytes: size })
}

const nothingHere = (since: string | undefined): CtxError =>
  new CtxError("nothing-archived", "there is nothing to sum up here", {
    hint: since === undefined ? "ctxbridge import archives what already exists" : "leave out --since",
    exit: EXIT.notFound,
  })

/** Null if it has ended. */
const minutesLeft = ({ start, end }: UseBlock, now: number): number | null =>
  Date.parse(start) <= now && now < Date.parse(end) ? Math.ceil((Date.parse(end) - now) / 60_000) : null

/* Renders figures of your work for people. Pure. */

export interface StatsScreen extends Screen {
  readonly unicode: boolean
  /** The local day. */
  readonly today: string
}

/** Columns of a model's name in a sentence. */
const LONGEST_MODEL = 60
/** Tools, files and errors shown where they are not the subject. */
const FEW = 5

interface Shown {
  readonly project: string | undefined
  /** Rows of a table at most. */
  readonly limit: number
}

export function renderStats(
  stats: Stats,
  { project, limit, budgets = [] }: Shown & { readonly budgets?: readonly BudgetShown[] },
  screen: StatsScreen,
): string[] {
  const { style, columns } = screen
  const rows = stats.rows.slice(0, limit)
  const more = stats.rows.length - rows.length
  const { tools, files, errors } = stats.friction
  return [
    style.bold(fit(`${place(project)}, ${stats.first ?? "?"} to ${stats.last ?? "?"}`, columns)),
    ...summary(stats, screen),
    ...section(style, "Budgets", renderBudgets(budgets, screen)),
    ...section(style, "Tokens and cost", [
      ...tableBy(stats.by, rows, screen),
      ...(more > 0 ? [style.dim(`${more} more with --limit ${stats.rows.length}`)] : []),
    ]),
    ...section(
      style,
      "Agents",
      stats.agents.length > 1 && stats.by !== "agent" ? tableBy("agent", stats.agents, screen) : [],
    ),
    ...section(style, "Turns by day", renderHeatmap(stats.days, screen.today, screen)),
    ...section(style, "Turns by hour", renderHours(stats.hours, screen)),
    ...section(style, "Tools", toolTable(tools.slice(0, FEW), screen)),
    ...section(style, "Files most edited", fileTable(files.slice(0, FEW), screen)),
    ...section(style, "Errors that recur", errorTable(errors.slice(0, FEW), screen)),
    ...(errors.length > 0 ? [style.dim("ctxbridge stats friction tells more.")] : []),
    ...section(style, "Compactions", compactions(stats.compactions, screen)),
  ]
}

export function renderFriction(friction: Friction, { project, limit }: Shown, screen: StatsScreen): string[] {
  const { style, columns } = screen
  const tools = friction.tools.filter(({ failed }) => failed > 0).sort((a, b) => b.failed - a.failed)
  const { interrupted, takenBack } = friction
  return [
    style.bold(fit(`What gets in the way: ${place(project)}`, columns)),
    `${count(interrupted, "turn")} interrupted, ${takenBack} rewound`,
    ...section(style, "Errors that recur", errorBlocks(friction, screen)),
    ...section(style, "Tools that fail", toolTable(tools.slice(0, limit), screen)),
    ...section(style, "Failed calls by hour", renderHours(friction.failuresByHour, screen)),
    ...section(style, "Files edited again and again", fileTable(friction.files, screen)),
  ]
}

const section = (style: Style, title: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ["", style.bold(title), ...lines]

const place = (project: string | undefined): string =>
  project === undefined ? "Every project" : safe(folderOf(project))

function summary({ sessions, turns, total, told, unpriced }: Stats, screen: StatsScreen): string[] {
  const { style, columns } = screen
  const { input, output, cacheCreation, cacheRead } = total.tokens
  const pairs: [string, string][] = [
    ["sessions", `${sessions} with ${count(turns, "turn")}`],
    ["tokens", `${formatTokens(input)} input, ${formatTokens(output)} output`],
    ["", `${formatTokens(cacheCreation)} written to cache, ${formatTokens(cacheRead)} read from it`],
    ["cost", `${cost(total)} at list prices of ${PRICES_AS_OF}`],
  ]
  if (told !== null) {
    const which = told.sessions === sessions ? "" : `, ${told.sessions} of ${sessions} sessions`
    pairs.push(["", `${dollars(told.cost)} says Claude Code itself${which}`])
    if (told.sessions !== sessions) pairs.push(["", `${dollars(told.estimated)} at list prices, of the same`])
  }
  const missing = unpriced.map(
    ({ model, tokens }) =>
      `No price known for ${fit(model, LONGEST_MODEL)} (${formatTokens(tokens)} tokens).`,
  )
  return [
    ...renderPairs(pairs, style, columns),
    ...missing.flatMap((line) => wrapped(line, columns).map(style.dim)),
  ]
}

/** `$1.20`; `?` if no price is known for anything of it. */
const cost = ({ cost: known, unpriced, requests }: Omit<Spent, "tokens">): string =>
  known === 0 && unpriced > 0
    ? "?"
    : requests === 0
      ? "$0.00"
      : `${dollars(known)}${unpriced > 0 ? " + ?" : ""}`

/** Of bars, and of the names of periods before them. */
const BAR = 24
const PERIOD = 7
const FULL = 1
const NEARLY = 0.8

function renderBudgets(budgets: readonly BudgetShown[], { columns, style, unicode }: StatsScreen): string[] {
  return budgets.map(({ period, until, unit, limit, used, share: part }) => {
    const [whole, so] =
      unit === "dollars"
        ? [dollars(limit), dollars(used)]
        : [`${shortTokens(limit)} tokens`, shortTokens(used)]
    const end =
      until === null ? "; no block is live" : period === "block" ? ` until ${hourAt(Date.parse(until))}` : ""
    const percent = `${Math.floor(100 * part)}%`.padStart(4)
    const text = ` ${percent}  ${so} of ${whole}`
    const room = columns - PERIOD - text.length
    const more = room - end.length < PERIOD ? "" : end
    const wide = Math.max(0, Math.min(BAR, room - more.length))
    const full = Math.round(wide * Math.min(FULL, part))
    const [on, off] = unicode ? ["█", "░"] : ["#", "."]
    const paint = part >= FULL ? style.red : part >= NEARLY ? style.bold : style.green
    return period.padEnd(PERIOD) + paint(on.repeat(full) + off.repeat(wide - full)) + text + more
  })
}

/** @param first the columns before those of tokens and cost */
function spentTable(
  first: readonly { title: string; flexible?: boolean; below?: boolean; cells: readonly string[] }[],
  rows: readonly (Spent & { readonly turns?: number | null })[],
  { columns, style }: StatsScreen,
): string[] {
  if (rows.length === 0) return []
  const hasTurns = rows.some(({ turns = null }) => turns !== null)
  const right = { align: "right" } as const
  const head = [
    ...first,
    ...(hasTurns ? [{ title: "turns", ...right }] : []),
    ...["input", "output", "cached", "read"].map((title) => ({ title, optional: true, ...right })),
    { title: "cost", ...right },
  ]
  const cells = rows.map(({ tokens, turns, ...row }, n) => [
    ...first.map((column) => column.cells[n]!),
    ...(hasTurns ? [String(turns ?? "")] : []),
    ...[tokens.input, tokens.output, tokens.cacheCreation, tokens.cacheRead].map(shortTokens),
    cost(row),
  ])
  return renderTable(head, cells, columns, style)
}

function tableBy(by: Stats["by"], rows: readonly SpentRow[], screen: StatsScreen): string[] {
  const keys = rows.map(({ key }) => key)
  // Ids have eight characters, unless whoever wrote the transcript counts otherwise.
  const wide = Math.max(LEAST_ID, screen.columns - BESIDE_ID)
  const cells =
    by === "session"
      ? shortIds(keys).map((id) => fit(id, wide))
      : rows.map(({ key, title }) => {
          if (key === "") return "unknown"
          return by === "agent" ? agentTitle(key) : safe(oneLine(title ?? key))
        })
  const names = { title: by, flexible: by === "project" || by === "model", cells }
  const titles = { title: "title", flexible: true, below: true, cells: rows.map(({ title }) => title ?? "") }
  return spentTable(by === "session" ? [names, titles] : [names], rows, screen)
}

const LEAST_ID = 8
/** Columns of turns and cost. */
const BESIDE_ID = 24

interface ShownBlock extends UseBlock {
  readonly minutesLeft: number | null
}

export function renderBlocks(
  blocks: readonly ShownBlock[],
  { project, limit }: Shown,
  screen: StatsScreen,
): string[] {
  const { columns, style, now } = screen
  const isMixed = new Set(blocks.map(({ program }) => program)).size > 1
  const live = blocks.flatMap((one) => {
    if (one.minutesLeft === null) return []
    const left = `${Math.floor(one.minutesLeft / 60)} h ${twoDigits(one.minutesLeft % 60)} min left`
    const whose = isMixed ? `${agentTitle(one.program)}, ` : ""
    const spent = `${formatTokens(allTokens(one.tokens))} tokens, ${cost(one)}`
    return wrapped(`${whose}live until ${hourAt(Date.parse(one.end))}, ${left}: ${spent}`, columns)
  })
  const shown = blocks.slice(0, limit)
  const first = {
    ...{ title: "five hours", flexible: true },
    cells: shown.map(({ start, end, minutesLeft: left }) =>
      left === null ? `${dated(start, now)} to ${hourAt(Date.parse(end))}` : `${dated(start, now)}, live`,
    ),
  }
  const agents = { title: "agent", below: true, cells: shown.map(({ program }) => agentTitle(program)) }
  return [
    style.bold(fit(`${place(project)}, blocks of five hours`, columns)),
    ...(live.length > 0 ? live.map(style.green) : [style.dim("none is live")]),
    "",
    ...spentTable([first, ...(isMixed ? [agents] : [])], shown, screen),
    ...(blocks.length > limit
      ? [style.dim(`${blocks.length - limit} more with --limit ${blocks.length}`)]
      : []),
  ]
}

/** `12%` */
const share = (part: number, whole: number): string => {
  const percent = (100 * part) / whole
  return whole === 0 || part === 0 ? "0%" : percent < 0.5 ? "<1%" : `${Math.round(percent)}%`
}

function toolTable(tools: Friction["tools"], { columns, style }: StatsScreen): string[] {
  if (tools.length === 0) return []
  const right = { align: "right" } as const
  const head = [
    { title: "tool", flexible: true },
    { title: "calls", ...right },
    { title: "failed", ...right },
    { title: "", ...right },
  ]
  const rows = tools.map(({ name, calls, failed }) => [
    name,
    String(calls),
    String(failed),
    share(failed, calls),
  ])
  return renderTable(head, rows, columns, style)
}

function fileTable(files: Friction["files"], { columns, style }: StatsScreen): string[] {
  if (files.length === 0) return []
  const right = { align: "right" } as const
  const head = [
    { title: "edits", ...right },
    { title: "turns", ...right },
    { title: "latest" },
    { title: "file", flexible: true },
  ]
  const width = Math.max(20, columns - 30)
  const rows = files.map(({ path, edits, turns, handle }) => [
    String(edits),
    String(turns),
    handle,
    cutPath(wholePath(path), width),
  ])
  return renderTable(head, rows, columns, style)
}

function errorTable(errors: Friction["errors"], { columns, style, now }: StatsScreen): string[] {
  if (errors.length === 0) return []
  const head = [
    { title: "times", align: "right" as const },
    { title: "last", optional: true },
    { title: "latest" },
    { title: "error", flexible: true },
  ]
  const rows = errors.map(({ times, last, handle, error }) => [String(times), ago(last, now), handle, error])
  return renderTable(head, rows, columns, style)
}

function errorBlocks({ errors }: Friction, { columns, style, now }: StatsScreen): string[] {
  return errors.flatMap(({ error, tool, times, turns, last, handle, solvedIn }) => [
    style.red(fit(error, columns)),
    indented(
      `${times} times in ${count(turns, "turn")}, ${tool}, last ${ago(last, now)} in ${handle}`,
      columns,
    ),
    solvedIn === null
      ? style.dim(indented("not seen to succeed later in that session", columns))
      : style.green(indented(`it succeeded in ${solvedIn}`, columns)),
  ])
}

/** What is worth a headline: the kinds of which most is lost, and best known. */
const HEADLINE = ["command", "path"] as const

function compactions(stats: CompactionStats, { columns, style }: StatsScreen): string[] {
  const { examined, more, early, kinds } = stats
  if (examined === 0) return []
  // Where ctxbridge was not there yet, it could restore nothing.
  const isOurs = early < examined
  const left = isOurs ? ` (${early} left out, from before the archive)` : " from before the archive"
  const told = HEADLINE.filter((kind) => kinds[kind].before > 0)
  const rows = HELD_KINDS.filter((kind) => kinds[kind].before > 0).map((kind) => {
    const { before, kept, given, lost } = kinds[kind]
    return [`${kind}s`, String(before), ...[kept, given, lost].map((n) => share(n, before))]
  })
  const right = { align: "right" } as const
  const head = [
    { title: "" },
    { title: "before", optional: true, ...right },
    ...["kept", "restored", "lost"].map((title) => ({ title, ...right })),
  ]
  return [
    ...told.flatMap((kind) => {
      const { before, kept, given } = kinds[kind]
      const summaries = `Summaries kept ${share(kept, before)} of your ${kind}s`
      const restored = isOurs ? `, ctxbridge restored ${share(given, before)}` : ""
      return wrapped(`${summaries}${restored}.`, columns)
    }),
    ...renderTable(head, rows, columns, style),
    ...wrapped(
      `${more ? `The latest ${examined}` : count(examined, "compaction")}${early > 0 ? left : ""}: ctxbridge receipts has each.`,
      columns,
    ).map(style.dim),
  ]
}

/* Activity by day as a grid of weeks, and by hour as one line of bars. Pure. */

/** From nothing to the most; each takes two columns, so that a cell is about as wide as high. */
const SHADES = ["··", "░░", "▒▒", "▓▓", "██"] as const
const PLAIN_SHADES = [" .", "--", "++", "**", "##"] as const
const BARS = "▁▂▃▄▅▆▇█"
const PLAIN_BARS = "_.:-=+*#"

const CELL = 2
/** Columns of the names of days, with the space after them. */
const MARGIN = 4

interface Look {
  readonly columns: number
  readonly style: Style
  readonly unicode: boolean
}

/** @param days with activity, the earliest first */
function renderHeatmap(
  days: readonly DayActivity[],
  today: string,
  { columns, style, unicode }: Look,
): string[] {
  const shades = unicode ? SHADES : PLAIN_SHADES
  const weeks = gridOf(days, today, Math.floor((columns - MARGIN) / CELL), shades.length - 1)
  const cell = (shade: number | undefined): string =>
    shade === undefined ? "" : shade === 0 ? style.dim(shades[0]) : style.green(shades[shade]!)
  let months = ""
  for (const [n, { month }] of weeks.entries())
    if (month !== undefined) months = `${months.padEnd(n * CELL)}${MONTH_NAMES[month - 1]} `
  return [
    style.dim(`${" ".repeat(MARGIN)}${months.trimEnd()}`),
    ...DAY_NAMES.map(
      (name, n) => style.dim(name.padEnd(MARGIN)) + weeks.map((week) => cell(week.days[n]?.shade)).join(""),
    ),
  ]
}

/** Two lines: a bar for each hour, and the hours. */
function renderHours(hours: readonly number[], { columns, style, unicode }: Look): string[] {
  const cell = columns < MARGIN + hours.length * CELL ? 1 : CELL
  const most = Math.max(1, ...hours)
  const bars = unicode ? BARS : PLAIN_BARS
  const bar = (n: number): string => (n === 0 ? " " : bars[shadeOf(n, most, bars.length) - 1]!)
  const names = [0, 6, 12, 18].map((hour) => String(hour).padEnd(6 * cell))
  const margin = " ".repeat(MARGIN)
  return [
    margin +
      style.green(
        hours
          .map((n) => bar(n).repeat(cell))
          .join("")
          .trimEnd(),
      ),
    style.dim((margin + names.join("")).trimEnd()),
  ]
}
