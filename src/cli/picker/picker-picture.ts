/** The picker's screen: a state and a terminal's size give the lines of a picture. Pure. */
import { DAY } from "../../base/local-time.ts"
import { cut, oneLine } from "../../base/text.ts"
import type { Hit } from "../../find/hit.ts"
import { isLittle } from "../../find/session-summary.ts"
import type { Snippet } from "../../find/snippet.ts"
import { shownSnippet } from "../render-hits.ts"
import { wrappedIn } from "../screen.ts"
import {
  type Charset,
  ellipsis,
  filled,
  fitted,
  harmless,
  type Look,
  lastColumns,
  onOneLine,
  type Styled,
  type StyledLine,
  spansOf,
  styled,
  widthOf,
  wrappedCells,
} from "./cell-text.ts"
import { previewLines } from "./picker-preview.ts"
import { type Found, LEAST, type PickerLayout, type PickerState, pickerLayout } from "./picker-state.ts"
import { keyLabel, PICKER_KEYS, type PickerAction } from "./query-line.ts"

export interface PickerScreen extends Charset {
  readonly color: boolean
  /** ms since the epoch. */
  readonly now: number
}

export interface Picture {
  /** As many as the terminal has rows, each at most as wide as its columns, with its colours. */
  readonly lines: readonly string[]
  /** Where the query's cursor is, counted from 0. */
  readonly cursor: { readonly row: number; readonly column: number }
}

const PROMPT_SIGN = "> "

export function pickerPicture(state: PickerState, screen: PickerScreen): Picture {
  const { columns, rows } = state
  const layout = pickerLayout(columns, rows)
  const queryRow = queryLine(state, screen)
  const body =
    layout === undefined
      ? tooSmall(state)
      : state.isHelp
        ? helpLines(state, screen).slice(state.helpTop)
        : [queryRow.spans, filterLine(state, screen), ...bodyLines(state, layout, screen)]
  const lines: string[] = []
  for (let row = 0; row < rows; row++) {
    const isFoot = row === rows - 1 && layout !== undefined
    const spans = isFoot ? footLine(state, screen) : (body[row] ?? [])
    lines.push(painted(fitted(spans, columns, screen), screen))
  }
  return { lines, cursor: { row: 0, column: layout === undefined ? 0 : queryRow.cursor } }
}

/** In few columns: there may be no more. */
const tooSmall = ({ columns, rows }: PickerState): Styled[][] => [
  [styled(`Too small: ${columns}x${rows}.`)],
  [styled(`It needs ${LEAST.columns}x${LEAST.rows}.`)],
  [styled("Esc quits.")],
]

function queryLine(state: PickerState, screen: PickerScreen): { spans: StyledLine; cursor: number } {
  const { line, found, columns, marked } = state
  const marks = marked.size === 0 ? "" : `${marked.size} marked, `
  const count = found === undefined ? "" : `${marks}${found.hits.length}${found.more ? "+" : ""}`
  const room = columns - PROMPT_SIGN.length - count.length - 2
  const [before, behind] = [line.text.slice(0, line.cursor), line.text.slice(line.cursor)].map((text) =>
    harmless(text).replace(/\s+/g, " "),
  ) as [string, string]
  // Of a query that is too long, the part before its cursor is shown.
  const shown = [styled(lastColumns(before, room - 1, screen))]
  const isEmpty = line.text === ""
  const text: StyledLine = isEmpty
    ? [styled("Type to search all sessions", "dim")]
    : [...shown, styled(behind)]
  const spans = [styled(PROMPT_SIGN, "title"), ...filled(text, room, screen), styled(` ${count} `, "dim")]
  return { spans, cursor: PROMPT_SIGN.length + (isEmpty ? 0 : widthOf(shown, screen)) }
}

/** UTF-16 units of a filter's value. */
const FILTER = 24

/** All filters, those in effect plainly; where there is no room for all, those alone. */
function filterLine({ filters, here, columns }: PickerState, { unicode }: PickerScreen): StyledLine {
  const { isHere, role, tool, since, errors } = filters
  const shown: readonly (readonly [name: string, value: string | undefined, none: string])[] = [
    ["project", isHere ? here : undefined, "all"],
    ["role", role, "any"],
    ["tool", tool, "any"],
    ["since", since, "any"],
    ["errors", errors ? "only" : undefined, "any"],
  ]
  const line = (some: typeof shown): StyledLine =>
    some.flatMap(([name, value, none], n) => [
      ...(n > 0 ? [styled(unicode ? " · " : " | ", "dim")] : [styled("  ", "dim")]),
      styled(`${name} `, "dim"),
      value === undefined ? styled(none, "dim") : styled(cut(oneLine(harmless(value)), FILTER), "title"),
    ])
  const all = line(shown)
  if (widthOf(all, { unicode }) <= columns) return all
  const chosen = shown.filter(([, value]) => value !== undefined)
  return chosen.length > 0 ? line(chosen) : [styled("  no filters", "dim")]
}

function bodyLines(state: PickerState, layout: PickerLayout, screen: PickerScreen): StyledLine[] {
  const { list, preview } = layout
  const listed = listLines(state, layout, screen)
  const all = previewLines(state, preview.columns, screen)
  const from = Math.max(0, Math.min(state.scroll, all.length - preview.rows))
  const shown = all.slice(from, from + preview.rows)
  const line = screen.unicode ? "│" : "|"
  const thumb = screen.unicode ? "┃" : "#"
  const isLong = all.length > preview.rows
  if (layout.isBeside) {
    return Array.from({ length: list.rows }, (_, row): StyledLine => {
      const isThumb = isLong && Math.floor((from / (all.length - preview.rows)) * (list.rows - 1)) === row
      const bar = styled(isThumb ? thumb : line, "dim")
      // The terminal may take a character for wider or narrower than we do: the bar has its place all the same.
      return [
        ...filled(listed[row] ?? [], list.columns, screen),
        { ...bar, column: list.columns },
        styled(" "),
        ...fitted(shown[row] ?? [], preview.columns, screen),
      ]
    })
  }
  if (preview.rows === 0) return listed
  const place = isLong ? ` ${from + 1}-${from + shown.length} of ${all.length} ` : ""
  const rule = (screen.unicode ? "─" : "-").repeat(Math.max(0, list.columns - place.length - 2))
  return [
    ...Array.from({ length: list.rows }, (_, row) => listed[row] ?? []),
    [styled(`${rule}${place}${(screen.unicode ? "─" : "-").repeat(2)}`, "dim")],
    ...shown,
  ]
}

function listLines(
  state: PickerState,
  { list, perTurn, turns }: PickerLayout,
  screen: PickerScreen,
): StyledLine[] {
  const { found, problem, top, selected, marked } = state
  if (problem !== undefined) {
    const lines = problem.flatMap((text) => wrappedIn("  ", harmless(text), list.columns))
    return lines.map((text) => [styled(text)])
  }
  if (found === undefined) return [[styled("  Opening the archive", "dim")]]
  if (found.hits.length === 0) return nothing(state, list.columns)
  const [pointer, mark, pin] = screen.unicode ? ["▸", "✓", "★"] : [">", "+", "*"]
  return found.hits.slice(top, top + turns).flatMap((hit, n) => {
    const isSelected = top + n === selected
    const row = turnRow(hit, found)
    const begin: StyledLine = [
      styled(isSelected ? pointer : " ", "title"),
      styled(marked.has(hit.handle) ? mark : hit.label?.pinned ? pin : " ", "title"),
      signed(row.kind, screen),
      styled(` ${shortAge(hit.time, screen.now).padStart(3)} `, "dim"),
    ]
    const lines =
      perTurn === 1 ? [inColumns(begin, row, list.columns, screen)] : inTwo(begin, row, list.columns, screen)
    return lines.map((line) => {
      const spans = filled(line, list.columns, screen)
      return isSelected ? spans.map((one) => ({ ...one, isSelected })) : spans
    })
  })
}

const nothing = ({ filters, found, line }: PickerState, columns: number): StyledLine[] => {
  if (found?.note !== undefined)
    return wrappedIn("  ", harmless(found.note), columns).map((text) => [styled(text)])
  const isFiltered = Object.values(filters).some(Boolean)
  return [
    [styled(line.text.trim() === "" ? "  Nothing to show" : "  Nothing matches")],
    [styled(isFiltered ? "  Fewer filters may find more" : "  Try fewer or other words", "dim")],
  ]
}

/** What a turn was found by. The sign tells it where there is no colour. */
const KINDS = {
  prompt: { sign: "❯", ascii: ">", look: "asked" },
  answer: { sign: "❮", ascii: "<", look: "said" },
  tool: { sign: "$", ascii: "$", look: "called" },
  failed: { sign: "✗", ascii: "!", look: "failed" },
  host: { sign: "#", ascii: "#", look: "dim" },
} as const

type RowKind = keyof typeof KINDS

const signed = (kind: RowKind, { unicode }: Charset): Styled => {
  const { sign, ascii, look } = KINDS[kind]
  return styled(unicode ? sign : ascii, look)
}

function kindOf({ failed, role, tool }: Hit): RowKind {
  if (failed) return "failed"
  if (role === "tool" || tool !== null) return "tool"
  return role === "human" ? "prompt" : role === "assistant" ? "answer" : "host"
}

interface TurnRow {
  readonly kind: RowKind
  /** What its session is called, or what was found if that is the same. */
  readonly title: Snippet
  readonly project: string
  readonly passage: Snippet
}

function turnRow(hit: Hit, { titles, nameOf, isNewest }: Found): TurnRow {
  const prompt = hit.prompt ?? hit.snippet
  const answer = hit.answer ?? (hit.prompt === null ? "" : hit.snippet)
  // "continue" tells less than what came of it.
  const isAnswer = isNewest && answer !== "" && isLittle(prompt)
  const kind = isNewest ? (isAnswer ? "answer" : "prompt") : kindOf(hit)
  const passage = isNewest ? plainly(isAnswer ? answer : prompt) : shownSnippet(hit)
  const title = titles.get(hit.session) ?? ""
  const isSame = isLike(title, passage.text)
  return {
    kind,
    title: isSame ? passage : plainly(title),
    project: hit.project === null ? "" : harmless(nameOf(hit.project)),
    passage: isSame ? plainly(answer) : passage,
  }
}

const plainly = (text: string): Snippet => ({ text, marks: [] })

/** UTF-16 units by which two texts are taken for the same. */
const SAME = 40

/** Whether one is empty, or what the other begins with. */
function isLike(title: string, passage: string): boolean {
  const [a, b] = [title, passage].map((text) =>
    oneLine(text.slice(0, 2 * SAME))
      .replace(/…$/, "")
      .trim()
      .slice(0, SAME),
  )
  return a!.startsWith(b!) || b!.startsWith(a!)
}

/** Share of a row that the title gets, and most columns of a project's name. */
const TITLE_WIDTH = 0.38
const PROJECT_WIDTH = 14

/** Title, project and passage, each below those of the row before. */
function inColumns(begin: StyledLine, row: TurnRow, columns: number, screen: PickerScreen): StyledLine {
  const room = columns - widthOf(begin, screen) - PROJECT_WIDTH - 4
  const width = Math.floor(room * TITLE_WIDTH)
  return [
    ...begin,
    ...filled(passageLine(row.title, width, screen), width, screen),
    styled("  "),
    ...filled([styled(row.project, "dim")], PROJECT_WIDTH, screen),
    styled("  "),
    ...passageLine(row.passage, room - width, screen),
  ]
}

const INDENT = "    "

/** Title and project, and the passage below them. */
function inTwo(begin: StyledLine, row: TurnRow, columns: number, screen: PickerScreen): StyledLine[] {
  const room = columns - widthOf(begin, screen)
  const dot = screen.unicode ? " · " : " | "
  const project =
    row.project === ""
      ? []
      : [styled(dot, "dim"), ...fitted([styled(row.project, "dim")], PROJECT_WIDTH, screen)]
  const left = room - widthOf(project, screen)
  return [
    [...begin, ...fitted(passageLine(row.title, left, screen), left, screen), ...project],
    [styled(INDENT), ...passageLine(row.passage, columns - INDENT.length, screen)],
  ]
}

/** Columns before the first found word that are shown when it would be out of sight. */
const LEAD = 12
/** UTF-16 units that a row may have more than columns, as blanks or as characters of several. */
const SPARE = 100

/** On one line, from where the first found word is visible. */
function passageLine({ text, marks }: Snippet, room: number, screen: PickerScreen): StyledLine {
  const [first] = marks
  // No more than can be seen: the rest would be read for nothing.
  const most = room + LEAD + SPARE
  if (first === undefined) return onOneLine([styled(harmless(text.slice(0, most)))])
  if (first[1] <= room) return onOneLine(spansOf(text.slice(0, most), within(marks, most)))
  const blank = text.indexOf(" ", Math.max(0, first[0] - LEAD))
  const start = blank >= 0 && blank < first[0] ? blank + 1 : first[0]
  const moved = marks.map(([from, to]) => [from - start, to - start] as const)
  const rest = text.slice(start, start + most)
  return onOneLine([styled(ellipsis(screen), "dim"), ...spansOf(rest, within(moved, most))])
}

const within = (marks: Snippet["marks"], end: number): Snippet["marks"] => marks.filter(([, to]) => to <= end)

const AGES: readonly (readonly [ms: number, unit: string])[] = [
  [365 * DAY, "y"],
  [7 * DAY, "w"],
  [DAY, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
]

/** At most three characters for a time in the past of a person's life: `now`, `5m`, `3h`, `2d`, `9w`, `1y`. */
export function shortAge(time: string | null, now: number): string {
  const age = now - (time === null ? Number.NaN : Date.parse(time))
  if (Number.isNaN(age)) return "?"
  const unit = AGES.find(([ms]) => age >= ms)
  return unit === undefined ? "now" : `${Math.floor(age / unit[0])}${unit[1]}`
}

/** What the foot names, as far as there is room. */
const FOOT: readonly (readonly [action: PickerAction, open: string, print: string])[] = [
  ["open", "open", "handle"],
  ["quit", "quit", "quit"],
  ["help", "keys", "keys"],
  ["resume", "resume", "resume"],
  ["mark", "mark", "mark"],
  ["export", "export", "export"],
  ["take-command", "copy command", "command"],
  ["take-handle", "handle", "handle"],
  ["take-path", "path", "path"],
  ["next-project", "project", "project"],
]

function footLine(state: PickerState, screen: PickerScreen): StyledLine {
  const { told, found, isPrinting, isHelp } = state
  if (isHelp) return helpFoot(state, screen)
  // What it says of nothing stands in its place.
  const note = told ?? (found?.hits.length === 0 ? undefined : found?.note)
  if (note !== undefined) {
    const line = [styled(`  ${harmless(note).replace(/\s+/g, " ")}`)]
    // Of two sentences, the second says what is shown.
    if (widthOf(line, screen) <= state.columns || told !== undefined) return line
    return [styled(`  ${line[0]!.text.split(". ").at(-1)!.trim()}`)]
  }
  const spans: Styled[] = [styled(" ")]
  for (const [action, open, print] of FOOT) {
    if (isPrinting && action === "take-handle") continue
    const { keys } = PICKER_KEYS.find((one) => one.action === action)!
    const next = [styled(` ${keyLabel(keys[0]!)}`, "title"), styled(` ${isPrinting ? print : open} `, "dim")]
    if (widthOf([...spans, ...next], screen) > state.columns) break
    spans.push(...next)
  }
  return spans
}

/** What the signs mean. */
const legend = (screen: PickerScreen): StyledLine =>
  Object.keys(KINDS).flatMap((kind) => [styled("  "), signed(kind as RowKind, screen), styled(` ${kind}`)])

/** Below this width, the help names one key of each. */
const NARROW = 60

/** All keys, and what the signs mean where the foot has no room for that: more lines than there may be rows. */
export function helpLines({ isPrinting, rows, columns }: PickerState, screen: PickerScreen): StyledLine[] {
  const isNarrow = columns < NARROW
  const width = isNarrow ? 12 : 22
  const all = PICKER_KEYS.flatMap(({ keys, about, printing }): StyledLine[] => {
    const shown = keys
      .slice(0, isNarrow ? 1 : 2)
      .map(keyLabel)
      .join(", ")
    const said = styled(isPrinting ? (printing ?? about) : about)
    const room = columns >= WIDE_HELP && rows - 1 < PICKER_KEYS.length ? columns >> 1 : columns
    return wrappedCells([said], room - width - 2, screen).map((line, n) => [
      styled(`  ${n === 0 ? shown.padEnd(width) : " ".repeat(width)}`, "title"),
      ...line,
    ])
  })
  const signs = isLegendBelow(columns, screen) ? [] : [[], ...wrappedCells(legend(screen), columns, screen)]
  const lines = [...all, ...signs]
  const room = rows - 1
  // In two columns where one has no room.
  const half = Math.ceil(all.length / 2)
  if (lines.length <= room || half > room || columns < WIDE_HELP) return lines
  return all
    .slice(0, half)
    .map((left, n) => [...filled(left, columns >> 1, screen), ...(all[half + n] ?? [])])
}

/** From this width on, the help may have two columns. */
const WIDE_HELP = 120

const isLegendBelow = (columns: number, screen: PickerScreen): boolean =>
  widthOf([...legend(screen), styled(MORE_KEYS)], screen) <= columns

const ANY_KEY = "  Any key goes back"
const MORE_KEYS = "  Down: more"

function helpFoot(state: PickerState, screen: PickerScreen): StyledLine {
  const { columns, rows, helpTop } = state
  const isMore = helpLines(state, screen).length > helpTop + rows - 1
  const said = styled(isMore ? MORE_KEYS : ANY_KEY, "dim")
  const line = [...legend(screen), said]
  return widthOf(line, screen) <= columns ? line : [said]
}

const SGR: Readonly<Record<Look, { readonly color: string; readonly mono: string }>> = {
  plain: { color: "", mono: "" },
  found: { color: "1;33", mono: "1;4" },
  dim: { color: "2", mono: "" },
  asked: { color: "36", mono: "" },
  said: { color: "32", mono: "" },
  called: { color: "35", mono: "" },
  failed: { color: "1;31", mono: "1" },
  title: { color: "1", mono: "1" },
}
/** The selected turn is one reversed and bold bar: in it, only what was found looks different. */
const SELECTED = "7"

/** Without colour there are still bold, underlined and reversed characters: what is found and selected must be seen. */
function painted(spans: StyledLine, { color }: PickerScreen): string {
  let line = ""
  for (const { text, look, column, isSelected } of spans) {
    if (text === "") continue
    const own = SGR[isSelected && look !== "found" ? "title" : look][color ? "color" : "mono"]
    const codes = [isSelected ? SELECTED : "", own].filter(Boolean).join(";")
    if (column !== undefined) line += `\x1b[${column + 1}G`
    line += codes === "" ? text : `\x1b[${codes}m${text}\x1b[0m`
  }
  return line
}
