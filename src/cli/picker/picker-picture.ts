/** The picker's screen: a state and a terminal's size give the lines of a picture. Pure. */
import { agentTitle } from "../../agents/agents.ts"
import { cut, oneLine } from "../../base/text.ts"
import type { Hit } from "../../find/hit.ts"
import { isLittle, type SessionSummary, summaryParts, summarySource } from "../../find/session-summary.ts"
import type { Snippet } from "../../find/snippet.ts"
import { shortNameOf } from "../../views/project.ts"
import { shownSnippet } from "../render-hits.ts"
import { dated } from "../screen.ts"
import { dotted, safe } from "../style.ts"
import {
  type Found,
  LEAST,
  type PickerLayout,
  type PickerState,
  pickerLayout,
  selectedHit,
} from "./picker-state.ts"
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
  if (problem !== undefined) return problem.map((text) => [styled(`  ${harmless(text)}`)])
  if (found === undefined) return [[styled("  Opening the archive", "dim")]]
  if (found.hits.length === 0) return nothing(state)
  const [pointer, mark] = screen.unicode ? ["▸", "✓"] : [">", "+"]
  return found.hits.slice(top, top + turns).flatMap((hit, n) => {
    const isSelected = top + n === selected
    const row = turnRow(hit, found)
    const begin: StyledLine = [
      styled(isSelected ? pointer : " ", "title"),
      styled(marked.has(hit.handle) ? mark : " ", "title"),
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

const nothing = ({ filters, line }: PickerState): StyledLine[] => {
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

function turnRow(hit: Hit, { titles, isNewest }: Found): TurnRow {
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
    project: hit.project === null ? "" : harmless(shortNameOf(hit.project) ?? ""),
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
  if (first[1] <= room) return onOneLine(withMarks(text.slice(0, most), within(marks, most)))
  const blank = text.indexOf(" ", Math.max(0, first[0] - LEAD))
  const start = blank >= 0 && blank < first[0] ? blank + 1 : first[0]
  const moved = marks.map(([from, to]) => [from - start, to - start] as const)
  const rest = text.slice(start, start + most)
  return onOneLine([styled(ellipsis(screen), "dim"), ...withMarks(rest, within(moved, most))])
}

const within = (marks: Snippet["marks"], end: number): Snippet["marks"] => marks.filter(([, to]) => to <= end)

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
  ["mark", "mark", "mark"],
  ["export", "export", "export"],
  ["take-command", "copy command", "command"],
  ["take-handle", "handle", "handle"],
  ["take-path", "path", "path"],
  ["next-project", "project", "project"],
]

function footLine(state: PickerState, screen: PickerScreen): StyledLine {
  const { told, found, isPrinting, isHelp } = state
  if (isHelp) return [...legend(screen), styled("  Any key goes back", "dim")]
  const note = told ?? found?.note
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

function helpLines({ isPrinting, rows, columns }: PickerState, screen: PickerScreen): StyledLine[] {
  const all = PICKER_KEYS.map(({ keys, about, printing }): StyledLine => {
    const isNarrow = columns < NARROW
    const shown = keys
      .slice(0, isNarrow ? 1 : 2)
      .map(keyLabel)
      .join(", ")
    return [
      styled(`  ${shown.padEnd(isNarrow ? 12 : 22)}`, "title"),
      styled(isPrinting ? (printing ?? about) : about),
    ]
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

/* The preview of the selected turn, as lines. Pure. */

interface Section {
  readonly title: string
  readonly body: Snippet
}

/** Of the selected turn: as much as is known so far. */
export function previewLines(
  state: Pick<PickerState, "found" | "selected" | "preview">,
  columns: number,
  charset: Charset,
): readonly StyledLine[] {
  const hit = selectedHit(state as PickerState)
  if (hit === undefined) return []
  const { preview } = state
  const turn = preview?.handle === hit.handle ? preview.turn : undefined
  const key = turn ?? hit
  const known = memory.get(key)
  if (known?.columns === columns && known.unicode === charset.unicode) return known.lines
  const sections =
    turn === undefined
      ? briefSections(hit)
      : [
          { title: PROMPT, body: turn.prompt },
          ...(turn.found === undefined ? [] : [{ title: speakerOf(hit), body: turn.found }]),
          { title: ANSWER, body: turn.answer },
          ...summarySection(turn.summary),
        ]
  const lines = [
    ...wrappedCells([...head(hit)], columns, charset),
    ...sections.flatMap((section) => sectionLines(section, columns, charset)),
  ]
  memory.set(key, { columns, unicode: charset.unicode, lines })
  return lines
}

/** Wrapping is what takes the time of a picture, and a scrolled preview is the same lines. */
const memory = new WeakMap<object, { columns: number; unicode: boolean; lines: readonly StyledLine[] }>()

/** What the search itself gave, until the turn is read. A prompt or answer that is null is what was found. */
function briefSections(hit: Hit): Section[] {
  const { prompt, answer, role, tool, snippet, marks } = hit
  const isPrompt = prompt === null && role === "human"
  const isAnswer = answer === null && role === "assistant" && tool === null
  const title = isPrompt ? PROMPT : isAnswer ? ANSWER : speakerOf(hit)
  return [
    ...(prompt === null ? [] : [{ title: PROMPT, body: { text: prompt, marks: [] } }]),
    { title, body: { text: snippet, marks } },
    ...(answer === null ? [] : [{ title: ANSWER, body: { text: answer, marks: [] } }]),
  ]
}

/** What the session was about, last: a model's words are told apart by their title. */
function summarySection(summary: SessionSummary): Section[] {
  const text = summaryParts(summary)
    .map(({ label, text: part }) => `${label}: ${oneLine(part)}`)
    .join("\n")
  return [{ title: `Session, ${summarySource(summary)}`, body: { text, marks: [] } }]
}

const PROMPT = "Prompt"
const ANSWER = "Answer"

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "Human",
  assistant: "Claude",
  tool: "Result",
  host: "Claude Code",
}

const speakerOf = ({ role, tool, program }: Hit): string => {
  const isAgents = program !== undefined && (role === "assistant" || role === "host")
  const speaker = isAgents ? agentTitle(program) : (SPEAKERS[role] ?? role)
  return dotted(speaker, tool !== null && tool).replace(" · ", ": ")
}

function* head(hit: Hit): Generator<Styled> {
  yield styled(hit.handle, "title")
  const project = hit.project === null ? "" : (shortNameOf(hit.project) ?? "")
  const fate = [...(hit.others ? ["written by others"] : []), ...(hit.takenBack ? ["rewound"] : [])]
  if (hit.promptsOnly) fate.push("prompts only")
  if (hit.program !== undefined) fate.push(agentTitle(hit.program))
  const where = [dated(hit.time, 0), project, `turn ${hit.seq} of ${hit.session.slice(0, 8)}`]
  yield styled(harmless(`  ${[...where, ...fate].filter(Boolean).join("  ")}`).replace(/\n/g, " "), "dim")
}

function sectionLines({ title, body }: Section, columns: number, charset: Charset): StyledLine[] {
  if (body.text.trim() === "") return []
  const text = body.text.trimEnd()
  return [
    [],
    [styled(harmless(title), "title")],
    ...wrappedCells(withMarks(text, body.marks), columns, charset),
  ]
}

/*
 * Text in columns of a terminal: cut, wrapped and filled by the width that each character takes there. What comes from
 * the archive is made harmless here. Pure.
 */

/** How a stretch of text looks. */
type Look = "plain" | "found" | "dim" | "title" | "asked" | "said" | "called" | "failed"

interface Styled {
  readonly text: string
  readonly look: Look
  /** Whether it belongs to the selected line. */
  readonly isSelected?: boolean
  /** The column, from 0, where it has to begin, whatever the terminal makes of what is before it. */
  readonly column?: number
}

/** A line: stretches, one behind the other. */
type StyledLine = readonly Styled[]

/** What the terminal can show: beyond ASCII only in a UTF-8 locale. */
interface Charset {
  readonly unicode: boolean
}

export const styled = (text: string, look: Look = "plain"): Styled => ({ text, look })

const ASCII = /^[\x20-\x7e]*$/
/** The same with signs of our own, each of one column: telling characters apart takes most of a picture's time. */
const PLAIN = /^[\x20-\x7e…·─│┃▸✓❮❯✗]*$/
const isPlain = (text: string, { unicode }: Charset): boolean => (unicode ? PLAIN : ASCII).test(text)
/** Most UTF-16 units of a character: an emoji of a whole family has 25. More is a heap of combining marks. */
const LONGEST_CHARACTER = 32
/** What a terminal may take for the end of a line, or move on for as it likes. */
const BLANKS = /[\t\v\f\u0085\u2028\u2029]/g

/** What changes the character before it, where there is none. */
const LEADING = /^[\p{M}\p{VS}\p{Join_C}]+/u

/** Text from the archive as a terminal can show it. Lines stay lines. */
export const harmless = (text: string): string =>
  safe(text.toWellFormed()).replace(BLANKS, "  ").replace(LEADING, "")

/**
 * Splits a text at its marks.
 *
 * @param marks start and end of each found word, ascending, in UTF-16 units
 */
function withMarks(
  text: string,
  marks: readonly (readonly [from: number, to: number])[],
  look: Look = "plain",
): Styled[] {
  const spans: Styled[] = []
  let done = 0
  for (const [from, to] of marks) {
    if (from < done) continue
    spans.push(
      styled(harmless(text.slice(done, from)), look),
      styled(harmless(text.slice(from, to)), "found"),
    )
    done = to
  }
  spans.push(styled(harmless(text.slice(done)), look))
  return spans.filter((one) => one.text !== "")
}

/** The same on one line. */
const onOneLine = (spans: StyledLine): Styled[] =>
  spans.map((one) => ({ ...one, text: one.text.replace(/\s+/g, " ") }))

interface Cell {
  readonly text: string
  readonly width: number
}

const segmenter = new Intl.Segmenter()

/** The characters of a harmless text, each with its columns. */
function* cellsOf(text: string, charset: Charset): Generator<Cell> {
  const { unicode } = charset
  if (isPlain(text, charset)) {
    for (let at = 0; at < text.length; at++) yield { text: text[at]!, width: 1 }
    return
  }
  for (const { segment } of segmenter.segment(text)) {
    if (ASCII.test(segment)) yield { text: segment, width: 1 }
    // A line within a line would end it.
    else if (segment === "\n") yield { text: " ", width: 1 }
    else if (!unicode) yield { text: segment === "…" ? "~" : "?", width: 1 }
    else {
      const short =
        segment.length > LONGEST_CHARACTER ? String.fromCodePoint(segment.codePointAt(0)!) : segment
      yield { text: short, width: Bun.stringWidth(short) }
    }
  }
}

export const widthOf = (spans: StyledLine, charset: Charset): number => {
  let width = 0
  for (const { text } of spans) {
    if (isPlain(text, charset)) width += text.length
    else for (const cell of cellsOf(text, charset)) width += cell.width
  }
  return width
}

const ellipsis = ({ unicode }: Charset): string => (unicode ? "…" : "~")

/** Cuts a line to at most `width` columns; what was cut ends in an ellipsis. */
export function fitted(spans: StyledLine, width: number, charset: Charset): Styled[] {
  const kept: Styled[] = []
  let used = 0
  // Where the line is cut if it turns out to be too long: so many stretches, and so much of the next one.
  let whole = 0
  let part = ""
  const short = (): Styled[] =>
    width < 1
      ? []
      : [
          ...kept.slice(0, whole),
          { ...(spans[whole] ?? styled("")), text: part },
          styled(ellipsis(charset), "dim"),
        ]
  for (const one of spans) {
    let taken = one.text
    if (isPlain(taken, charset)) {
      if (used < width) [whole, part] = [kept.length, taken.slice(0, width - 1 - used)]
      used += taken.length
      if (used > width) return short()
    } else {
      taken = ""
      for (const cell of cellsOf(one.text, charset)) {
        if (used + cell.width > width) return short()
        taken += cell.text
        used += cell.width
        if (used <= width - 1) [whole, part] = [kept.length, taken]
      }
    }
    kept.push({ ...one, text: taken })
  }
  return kept
}

/** The end of a harmless text, as much as fits into `width` columns. */
function lastColumns(text: string, width: number, charset: Charset): string {
  let kept = ""
  let used = 0
  for (const cell of [...cellsOf(text, charset)].reverse()) {
    if (used + cell.width > width) break
    kept = cell.text + kept
    used += cell.width
  }
  return kept
}

/** Fills a line with blanks up to `width` columns, cutting it if it is longer. */
function filled(spans: StyledLine, width: number, charset: Charset): Styled[] {
  const line = fitted(spans, width, charset)
  const left = width - widthOf(line, charset)
  return left > 0 ? [...line, styled(" ".repeat(left))] : line
}

/** Breaks text into lines of at most `width` columns, between words where it can. */
export function wrappedCells(spans: StyledLine, width: number, charset: Charset): Styled[][] {
  const lines: Styled[][] = []
  let line: Styled[] = []
  let used = 0
  const end = (): void => {
    lines.push(line)
    line = []
    used = 0
  }
  const put = (text: string, columns: number, look: Look): void => {
    const last = line.at(-1)
    if (last?.look === look) line[line.length - 1] = styled(last.text + text, look)
    else line.push(styled(text, look))
    used += columns
  }
  for (const { text, look } of spans) {
    for (const [piece] of text.matchAll(/\n|[^\S\n]+|\S+/g)) {
      if (piece === "\n") {
        end()
        continue
      }
      const cells = [...cellsOf(piece, charset)]
      const columns = cells.reduce((sum, cell) => sum + cell.width, 0)
      const isBlank = piece.trim() === ""
      if (used + columns <= width) {
        put(cells.map((cell) => cell.text).join(""), columns, look)
        continue
      }
      // Indentation wider than the line says nothing; a blank at the end of one is not carried over.
      if (isBlank) {
        if (used > 0) end()
        continue
      }
      if (used > 0 && columns <= width) end()
      for (const cell of cells) {
        if (used + cell.width > width && used > 0) end()
        if (cell.width <= width) put(cell.text, cell.width, look)
      }
    }
  }
  if (line.length > 0 || lines.length === 0) end()
  return lines
}
