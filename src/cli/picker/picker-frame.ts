/** The picker's screen: a state and a terminal's size give the lines of a frame. Pure. */

import { cut, oneLine } from "../../base/text.ts"
import type { Hit } from "../../find/hit.ts"
import { shownSnippet } from "../shown-snippet.ts"
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
  styled,
  widthOf,
  withMarks,
} from "./cells.ts"
import type { PickerState } from "./picker-state.ts"
import { LEAST, type PickerLayout, pickerLayout } from "./picker-state.ts"
import { previewLines } from "./preview-lines.ts"
import { keyLabel, PICKER_KEYS, type PickerAction } from "./query-line.ts"

export interface PickerScreen extends Charset {
  readonly color: boolean
  /** ms since the epoch. */
  readonly now: number
}

export interface Frame {
  /** As many as the terminal has rows, each at most as wide as its columns, with its colours. */
  readonly lines: readonly string[]
  /** Where the query's cursor is, counted from 0. */
  readonly cursor: { readonly row: number; readonly column: number }
}

const PROMPT = "> "

export function pickerFrame(state: PickerState, screen: PickerScreen): Frame {
  const { columns, rows } = state
  const layout = pickerLayout(columns, rows)
  const queryRow = queryLine(state, screen)
  const body =
    layout === undefined
      ? tooSmall(state)
      : state.isHelp
        ? helpLines(state, screen)
        : [queryRow.spans, filterLine(state, screen), ...bodyLines(state, layout, screen)]
  const lines: string[] = []
  for (let row = 0; row < rows; row++) {
    const isFoot = row === rows - 1 && layout !== undefined
    const spans = isFoot ? footLine(state, screen) : (body[row] ?? [])
    lines.push(painted(fitted(spans, columns, screen), screen))
  }
  return { lines, cursor: { row: 0, column: layout === undefined ? 0 : queryRow.cursor } }
}

const tooSmall = ({ columns, rows }: PickerState): Styled[][] => [
  [styled(`This terminal has ${columns}x${rows}.`)],
  [styled(`The picker needs ${LEAST.columns}x${LEAST.rows}.`)],
  [styled("Esc quits.")],
]

function queryLine(state: PickerState, screen: PickerScreen): { spans: StyledLine; cursor: number } {
  const { line, found, columns } = state
  const count = found === undefined ? "" : `${found.hits.length}${found.more ? "+" : ""}`
  const room = columns - PROMPT.length - count.length - 2
  const [before, behind] = [line.text.slice(0, line.cursor), line.text.slice(line.cursor)].map((text) =>
    harmless(text).replace(/\s+/g, " "),
  ) as [string, string]
  // Of a query that is too long, the part before its cursor is shown.
  const shown = [styled(lastColumns(before, room - 1, screen))]
  const isEmpty = line.text === ""
  const text: StyledLine = isEmpty
    ? [styled("Type to search all sessions", "dim")]
    : [...shown, styled(behind)]
  const spans = [styled(PROMPT, "title"), ...filled(text, room, screen), styled(` ${count} `, "dim")]
  return { spans, cursor: PROMPT.length + (isEmpty ? 0 : widthOf(shown, screen)) }
}

/** UTF-16 units of a filter's value. */
const FILTER = 24

/** All filters, those in effect plainly. */
function filterLine({ filters, here }: PickerState, { unicode }: PickerScreen): StyledLine {
  const { isHere, role, tool, since, errors } = filters
  const shown: readonly (readonly [name: string, value: string | undefined, none: string])[] = [
    ["project", isHere ? here : undefined, "all"],
    ["role", role, "any"],
    ["tool", tool, "any"],
    ["since", since, "any"],
    ["errors", errors ? "only" : undefined, "any"],
  ]
  return shown.flatMap(([name, value, none], n) => [
    ...(n > 0 ? [styled(unicode ? " · " : " | ", "dim")] : [styled("  ", "dim")]),
    styled(`${name} `, "dim"),
    value === undefined ? styled(none, "dim") : styled(cut(oneLine(harmless(value)), FILTER), "title"),
  ])
}

function bodyLines(state: PickerState, layout: PickerLayout, screen: PickerScreen): StyledLine[] {
  const { list, preview } = layout
  const listed = listLines(state, list.columns, list.rows, screen)
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
  const place = isLong ? ` ${from + 1}-${from + shown.length} of ${all.length} ` : ""
  const rule = (screen.unicode ? "─" : "-").repeat(Math.max(0, list.columns - place.length - 2))
  return [
    ...Array.from({ length: list.rows }, (_, row) => listed[row] ?? []),
    [styled(`${rule}${place}${(screen.unicode ? "─" : "-").repeat(2)}`, "dim")],
    ...shown,
  ]
}

function listLines(state: PickerState, columns: number, rows: number, screen: PickerScreen): StyledLine[] {
  const { found, problem, top, selected } = state
  if (problem !== undefined) return problem.map((text) => [styled(`  ${harmless(text)}`)])
  if (found === undefined) return [[styled("  Opening the archive", "dim")]]
  if (found.hits.length === 0) return nothing(state)
  return found.hits.slice(top, top + rows).map((hit, n) => {
    const isSelected = top + n === selected
    const pointer = isSelected ? (screen.unicode ? "▸ " : "> ") : "  "
    const age = `${shortAge(hit.time, screen.now).padStart(3)} `
    const text = rowText(hit, columns - pointer.length - age.length, screen)
    const spans = filled([styled(pointer, "title"), styled(age, "dim"), ...text], columns, screen)
    return isSelected ? spans.map((one) => ({ ...one, isSelected })) : spans
  })
}

const nothing = ({ filters, line }: PickerState): StyledLine[] => {
  const isFiltered = Object.values(filters).some(Boolean)
  return [
    [styled(line.text.trim() === "" ? "  Nothing to show" : "  Nothing matches")],
    [styled(isFiltered ? "  Fewer filters may find more" : "  Try fewer or other words", "dim")],
  ]
}

/** Columns before the first found word that are shown when it would be out of sight. */
const LEAD = 12

/** What was found, from where its first word is visible; else what was asked. */
function rowText(hit: Hit, room: number, screen: PickerScreen): StyledLine {
  const { text, marks } = shownSnippet(hit)
  const [first] = marks
  if (first === undefined) return onOneLine([styled(harmless(hit.prompt || text))])
  if (first[1] <= room) return onOneLine(withMarks(text, marks))
  const blank = text.indexOf(" ", Math.max(0, first[0] - LEAD))
  const start = blank >= 0 && blank < first[0] ? blank + 1 : first[0]
  const moved = marks.map(([from, to]) => [from - start, to - start] as const)
  return onOneLine([styled(ellipsis(screen), "dim"), ...withMarks(text.slice(start), moved)])
}

const DAY = 86_400_000
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
  ["take-command", "copy command", "command"],
  ["take-handle", "handle", "handle"],
  ["take-path", "path", "path"],
  ["next-project", "project", "project"],
]

function footLine(state: PickerState, screen: PickerScreen): StyledLine {
  const { told, found, isPrinting, isHelp } = state
  if (isHelp) return [styled("  Any key goes back", "dim")]
  const note = told ?? found?.note
  if (note !== undefined) return [styled(`  ${harmless(note).replace(/\s+/g, " ")}`)]
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

function helpLines({ isPrinting, rows, columns }: PickerState, screen: PickerScreen): StyledLine[] {
  const all = PICKER_KEYS.map(({ keys, about, printing }): StyledLine => {
    const shown = keys.slice(0, 2).map(keyLabel).join(", ")
    return [styled(`  ${shown.padEnd(22)}`, "title"), styled(isPrinting ? (printing ?? about) : about)]
  })
  const room = rows - 1
  if (all.length <= room) return all
  // In two columns where one has no room.
  const half = Math.ceil(all.length / 2)
  const width = columns >> 1
  if (half <= room && columns >= 120)
    return all.slice(0, half).map((left, n) => [...filled(left, width, screen), ...(all[half + n] ?? [])])
  return all.slice(0, room)
}

const SGR: Readonly<Record<Look, { readonly color: string; readonly mono: string }>> = {
  plain: { color: "", mono: "" },
  found: { color: "1;33", mono: "1;4" },
  dim: { color: "2", mono: "" },
  title: { color: "1", mono: "1" },
}
const SELECTED = "7"

/** Without colour there are still bold, underlined and reversed characters: what is found and selected must be seen. */
function painted(spans: StyledLine, { color }: PickerScreen): string {
  let line = ""
  for (const { text, look, column, isSelected } of spans) {
    if (text === "") continue
    const codes = [isSelected ? SELECTED : "", SGR[look][color ? "color" : "mono"]].filter(Boolean).join(";")
    if (column !== undefined) line += `\x1b[${column + 1}G`
    line += codes === "" ? text : `\x1b[${codes}m${text}\x1b[0m`
  }
  return line
}
