/** Renders search results: laid out for a terminal, or as they are for whoever reads a pipe. Pure. */
import { agentTitle } from "../agents/agents.ts"
import { toolKind } from "../agents/tool-kinds.ts"
import { isNotesSession } from "../base/session-id.ts"
import { oneLine } from "../base/text.ts"
import type { ColdHit } from "../find/cold.ts"
import type { FarHit } from "../find/elsewhere.ts"
import type { Hit, HitLines } from "../find/hit.ts"
import { rowsOfHits } from "../find/hit-budget.ts"
import { isAscii } from "../find/parse-query.ts"
import { REASON, type TellingLine } from "../find/passages.ts"
import { ending, type Snippet } from "../find/snippet.ts"
import { type LabelShown, labelWords } from "../views/labels.ts"
import { folderOf } from "../views/project.ts"
import type { Observation } from "../views/queries/summaries.ts"
import { movedText } from "../views/queries/touched-files.ts"
import { ago, type Screen, wrappedIn } from "./screen.ts"
import { cutPath, dotted, fit, indented, type Style, safe } from "./style.ts"

export type AnyHit = (Hit | ColdHit | FarHit) & {
  /** What its session is called, if that was looked up. */
  readonly title?: string | null
}

/** Names the projects of hits for people; undefined: all are of one. */
type ProjectNamer = ((project: string) => string) | undefined

/** Never cuts a hit's text, which was already chosen to be shown. */
export function renderHits(hits: readonly AnyHit[], screen: Screen, nameOf: ProjectNamer): string[] {
  return hits.flatMap((hit, n) => [...(n > 0 ? [""] : []), ...renderHit(hit, screen, nameOf)])
}

function renderHit(hit: AnyHit, { style, now }: Screen, nameOf: ProjectNamer): string[] {
  const speaker = isNotesSession(hit.session)
    ? NOTE
    : hit.tool === null
      ? (hit.role ?? undefined)
      : `${hit.role}, ${hit.tool}`
  const where = dotted(
    ago(hit.time, now),
    verdictOf(hit),
    ...fate(hit),
    `${hit.seq === null ? placeOf(hit) : `turn ${hit.seq}`} of ${hit.session.slice(0, 8)}`,
    speaker,
    nameOf !== undefined && hit.project !== null && folderOf(hit.project),
    hit.why.length > 0 && `has ${hit.why.join(", ")}`,
    changedSince(hit),
  )
  const around = (label: string, text: string | null): string[] =>
    text === null ? [] : [style.dim(`  ${label}: ${safe(oneLine(text))}`)]
  return [
    `${style.bold(hit.handle ?? safe(hit.session))}  ${style.dim(safe(oneLine(where)))}`,
    ...around("prompt", hit.prompt),
    ...around("summary", "far" in hit ? hit.summary : null),
    `  ${marked({ text: hit.snippet, marks: hit.marks }, style)}`,
    ...hit.also.map((piece) => style.dim(`  ${safe(oneLine(piece))}`)),
    ...around("answer", hit.answer),
  ]
}

/** Said of sessions of which nothing else is known. */
export const PROMPTS_ONLY = "prompts only"

const fate = (hit: AnyHit): (string | false | undefined)[] => [
  "cold" in hit && "cold",
  "far" in hit &&
    (hit.far.by === null
      ? `from ${hit.far.machine ?? hit.far.target}`
      : `not yours: shared by ${hit.far.by}`),
  hit.program !== undefined && agentTitle(hit.program),
  "others" in hit && "written by others",
  hit.takenBack && "rewound",
  ...labelWords(labelOf(hit) && { ...labelOf(hit)!, verdict: null }),
  "isLost" in hit && hit.isLost && "copy missing",
  "promptsOnly" in hit && PROMPTS_ONLY,
  hit.by === "meaning" && "by meaning",
]

const labelOf = (hit: AnyHit): LabelShown | undefined => ("label" in hit ? hit.label : undefined)

/** That what was decided does not hold: told before anything that a narrow line may leave no room for. */
function verdictOf(hit: AnyHit): string | undefined {
  const label = labelOf(hit)
  return labelWords(label && { ...label, pinned: false, tags: [] })[0]
}

/** Long, and the least of what is told of a hit. */
const changedSince = (hit: AnyHit): string | false =>
  "changedSince" in hit && hit.changedSince !== undefined && movedText(hit.changedSince)

const placeOf = (hit: AnyHit): string => ("line" in hit && hit.line !== null ? `line ${hit.line}` : "")

const marked = (snippet: Snippet, style: Style): string => painted(safely(snippet), style)

/** The same as `safe` for a text with marks. */
function safely({ text, marks }: Snippet): Snippet {
  if (safe(text) === text) return { text, marks }
  const moved: [number, number][] = []
  let shown = ""
  let done = 0
  for (const [from, to] of marks) {
    shown += safe(text.slice(done, from))
    const at = shown.length
    shown += safe(text.slice(from, to))
    moved.push([at, shown.length])
    done = to
  }
  return { text: shown + safe(text.slice(done)), marks: moved }
}

/** @param snippet safe to print */
function painted({ text, marks }: Snippet, style: Style): string {
  let shown = ""
  let done = 0
  for (const [from, to] of marks) {
    shown += text.slice(done, from) + style.match(text.slice(from, to))
    done = to
  }
  return shown + text.slice(done)
}

/* As many hits as a screen has room for: of each a headline and the lines that are most likely to answer. Pure. */

/** Rows of a screen of 24, without the one on which the next prompt stands. */
const SCREEN_ROWS = 23
/** Hits that it has room for, with rows for what is said around them. */
const HITS_ON_SCREEN = 10
/** With so many rows for each hit, an empty one between two is no waste. */
const AIRY = 4
/** Lines that are chosen for a hit, at least: it may have that many rows. */
const LEAST_LINES = 4

interface ScreenOfHits {
  readonly hits: readonly AnyHit[]
  readonly observations: readonly Observation[]
  /** What is said above and below them, a line each. */
  readonly above: readonly string[]
  readonly below: readonly string[]
  readonly nameOf: ProjectNamer
  linesOf(hit: AnyHit, most: number): HitLines | undefined
}

/** What was found and what is said of it, on one screen. The better a hit, the more rows it gets. */
export function renderScreen(
  { hits, observations, above, below, nameOf, linesOf }: ScreenOfHits,
  screen: Screen,
): string[] {
  const { columns } = screen
  const all = SCREEN_ROWS + 2 * Math.max(0, hits.length - HITS_ON_SCREEN)
  const left = all - [...above, ...below].reduce((sum, line) => sum + rowsOf(line, columns), 0)
  const observed = observations
    .slice(0, Math.max(1, left - 2 * hits.length))
    .map((one) => observationLine(one, screen))
  const room = left - observed.length
  const isAiry = hits.length * (AIRY + 1) - 1 <= room
  const most = Math.max(LEAST_LINES, Math.floor(room / hits.length))
  const lines = hits.map((hit) => {
    const found = linesOf(hit, most) ?? linesIn(hit)
    return { ...found, lines: found.lines.map((line) => fromProject(line, hit.project)) }
  })
  const width = columns - INDENT.length
  const wants = lines.map(({ lines }) =>
    lines.reduce((sum, { text }) => sum + Math.ceil(text.length / width), 1),
  )
  const rows = rowsOfHits(wants, isAiry ? room - hits.length + 1 : room)
  const shown = hits.flatMap((hit, n) => [
    ...(isAiry && n > 0 ? [""] : []),
    headline(hit, screen, nameOf, lines[n]!.file),
    ...linesWithin(lines[n]!.lines, rows[n]! - 1, screen),
  ])
  return [...above, ...shown, ...observed, ...below]
}

const rowsOf = (line: string, columns: number): number =>
  Math.max(1, Math.ceil(Bun.stringWidth(line) / columns))

/** Of a hit whose turn is not here, or not in the index: what came with it. */
const linesIn = ({ snippet: text, marks }: AnyHit): HitLines => ({
  file: undefined,
  lines: [{ text, marks, part: 0, isProse: true, at: 0, end: text.length }],
})

/** A line that is the path of a file of its project, from there on. */
function fromProject(line: TellingLine, project: string | null): TellingLine {
  const folder = project === null ? "" : `${folderOf(project)}/`
  if (folder === "" || line.isProse || !line.text.startsWith(folder)) return line
  const from = folder.length
  return {
    ...line,
    text: line.text.slice(from),
    marks: line.marks.flatMap(([a, b]) => (a >= from ? [[a - from, b - from] as const] : [])),
  }
}

/** What the parts of a hit's turn are called, and in which order they were said. Others stand before the answer. */
const LABELS = ["", "prompt: ", "answer: "]
const SAID = [1, 0, 3]

/** Prose goes on in the same row; of anything else, each line has its own. */
interface Block {
  readonly label: string
  readonly pieces: readonly Snippet[]
}

function blocksOf(lines: readonly TellingLine[]): Block[] {
  const said = lines.toSorted(
    (a, b) => (SAID[a.part] ?? 2) - (SAID[b.part] ?? 2) || a.part - b.part || a.at - b.at,
  )
  const blocks: { label: string; pieces: Snippet[] }[] = []
  for (const [n, line] of said.entries()) {
    const before = said[n - 1]
    const isSame = before?.part === line.part
    if (isSame && line.isProse) blocks.at(-1)!.pieces.push({ text: jointOf(before, line), marks: [] }, line)
    else blocks.push({ label: isSame ? "" : (LABELS[line.part] ?? "also: "), pieces: [line] })
  }
  return blocks
}

/** Columns that a row is short of where it ends before a long word. */
const RAGGED = 5

const columnsOf = ({ label, pieces }: Block): number =>
  pieces.reduce((sum, { text }) => sum + Bun.stringWidth(text), label.length)

const rowsOfBlock = (block: Block, width: number): number => {
  const columns = columnsOf(block)
  return Math.ceil((columns + RAGGED * Math.floor(columns / width)) / width)
}

/** Columns that one more line may take, among those that are kept. */
function columnsLeft(kept: readonly TellingLine[], line: TellingLine, rows: number, width: number): number {
  const empty = { ...line, text: "", marks: [] }
  const all = blocksOf([...kept, empty])
  const own = all.find(({ pieces }) => pieces.some((piece) => piece === empty))!
  const left = all.reduce((sum, block) => (block === own ? sum : sum - rowsOfBlock(block, width)), rows)
  return left < 1 ? 0 : left * width - (left - 1) * RAGGED - columnsOf(own)
}

/** As many of the best lines as there are rows for, in the order of the turn. The last one is cut to what is left. */
function linesWithin(lines: readonly TellingLine[], rows: number, { style, columns }: Screen): string[] {
  const width = columns - INDENT.length
  const kept: TellingLine[] = []
  for (const one of lines) {
    const line = { ...one, ...safely(one) }
    const left = columnsLeft(kept, line, rows, width)
    const isWhole = Bun.stringWidth(line.text) <= left
    if (!isWhole && left < (kept.length === 0 ? 1 : LEAST_CUT)) break
    kept.push(isWhole ? line : { ...line, ...within(line, left) })
    if (!isWhole) break
  }
  // Where words are long, rows end early.
  for (;;) {
    const shown = blocksOf(kept).flatMap(({ label, pieces }) =>
      wrappedIn(INDENT, style.dim(label) + pieces.map((piece) => painted(piece, style)).join(""), columns),
    )
    const last = kept.at(-1)
    if (shown.length <= rows || last === undefined) return shown
    const room = Bun.stringWidth(last.text) - CUT_STEP
    const shorter = within(last, room)
    // The only one is shown however little of it fits.
    const isShorter = room >= (kept.length === 1 ? 1 : LEAST_CUT) && shorter.text !== last.text
    kept.splice(-1, 1, ...(isShorter ? [{ ...last, ...shorter }] : []))
  }
}

/** Columns to which a further line is worth cutting, and how many less are tried until it fits. */
const LEAST_CUT = 24
const CUT_STEP = 9

function jointOf(before: TellingLine, line: TellingLine): string {
  if (before.end === line.at) return " "
  return before.text.endsWith("…") || line.text.startsWith("…") ? "" : "…"
}

/** A reason, as far as it counts: its first word and 50 UTF-16 units of it. */
const REASONS = new RegExp(`${REASON.source}[^.;!?。]{0,50}`, "giu")
/** What a reason counts, where each marked word counts 1. */
const REASON_COUNTS = 2
/** Which part of the columns that are left may stand before what is kept. */
const BEFORE = 0.3

/**
 * A line in so many columns. What is cut off is outside of its marks and of the reason that it gives, as far as these
 * fit.
 */
function within(line: Snippet, columns: number): Snippet {
  const { text, marks } = line
  const at = columnsIn(text)
  if (at[text.length]! <= columns) return line
  const [start, end] = keptOf(line, at, columns - 2)
  const spare = columns - 2 - (at[end]! - at[start]!)
  // Near the end there is room for more of what precedes.
  const lead = Math.max(spare * BEFORE, spare - (at[text.length]! - at[end]!))
  let from = at[start]! - lead < 1 ? 0 : placeAt(at, at[start]! - lead)
  const space = from === 0 ? -1 : text.slice(from, start).indexOf(" ")
  if (space >= 0) from += space + 1
  const most = columns - (from > 0 ? 1 : 0)
  let to = text.length
  if (at[to]! - at[from]! > most) {
    const last = placeAt(at, at[from]! + most - 1)
    to = Math.max(end, ending(text, end, last))
  }
  const head = from > 0 ? "…" : ""
  const shift = head.length - from
  return {
    text: head + text.slice(from, to).trimEnd() + (to < text.length ? "…" : ""),
    marks: marks.flatMap(([a, b]) => (a >= from && b <= to ? [[a + shift, b + shift] as const] : [])),
  }
}

/** From where to where a line is kept: the most of its different marked words, and its reason. */
function keptOf({ text, marks }: Snippet, at: readonly number[], columns: number): [number, number] {
  const spans = [
    ...marks.map(([from, to]) => ({ from, to, is: text.slice(from, to).toLowerCase(), counts: 1 })),
    ...[...text.matchAll(REASONS)].map(({ 0: said, index: from }) => ({
      ...{ from, to: from + said.trimEnd().length, is: "reason", counts: REASON_COUNTS },
    })),
  ].sort((a, b) => a.from - b.from)
  let best: [number, number] = [0, 0]
  let most = 0
  for (const start of [0, ...spans.map(({ from }) => from)]) {
    const seen = new Set<string>()
    let counts = 0
    let end = start
    for (const span of spans) {
      if (span.from < start || at[span.to]! - at[start]! > columns) continue
      if (!seen.has(span.is)) counts += span.counts
      seen.add(span.is)
      end = Math.max(end, span.to)
    }
    if (counts > most) {
      most = counts
      best = [start, end]
    }
  }
  return best
}

/** For each UTF-16 unit and the end, the columns before it; within a character that is more than one, those before it. */
function columnsIn(text: string): number[] {
  if (isAscii(text)) return Array.from({ length: text.length + 1 }, (_, n) => n)
  const at: number[] = []
  let columns = 0
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    for (let n = 0; n < segment.length; n++) at.push(columns)
    columns += Bun.stringWidth(segment)
  }
  return [...at, columns]
}

/** The last place that is no more columns from the beginning. */
function placeAt(at: readonly number[], columns: number): number {
  let place = at.findLastIndex((one) => one <= columns)
  while (place > 0 && at[place - 1] === at[place]) place--
  return Math.max(0, place)
}

/** Columns of a title before anything else of its line is left out. */
const LEAST_TITLE = 16
/** The same beside nothing but a time, and columns to which anything else is worth cutting. */
const LEAST_BESIDE_TIME = 8
const LEAST_FIGURE = 10
/** Columns of a verdict there, with why. */
const VERDICT = 32
const INDENT = "  "

/** What was found comes first, wrapped; of what surrounds it, a line each. */
export function layOutHits(hits: readonly AnyHit[], screen: Screen, nameOf: ProjectNamer): string[] {
  return hits.flatMap((hit, n) => [...(n > 0 ? [""] : []), ...layOutHit(hit, screen, nameOf)])
}

function layOutHit(hit: AnyHit, screen: Screen, nameOf: ProjectNamer): string[] {
  const { style, columns } = screen
  const around = (label: string, text: string | null): string[] =>
    text === null ? [] : [style.dim(`${INDENT}${fit(`${label}: ${text}`, columns - INDENT.length)}`)]
  return [
    headline(hit, screen, nameOf),
    ...wrappedIn(INDENT, marked(shownSnippet(hit), style), columns),
    ...around("prompt", hit.prompt),
    ...around("summary", "far" in hit ? hit.summary : null),
    ...hit.also.flatMap((piece) => around("also", piece)),
    ...around("answer", hit.answer),
  ]
}

/** What a hit is, on one row: its handle, its session's title, when, and who said it. */
function headline(hit: AnyHit, { style, columns, now }: Screen, nameOf: ProjectNamer, file?: string): string {
  const project = hit.project !== null && nameOf?.(hit.project)
  const handle = hit.handle ?? safe(hit.session.slice(0, 8))
  const verdict = verdictOf(hit)
  const said = [speakerOf(hit), file === undefined ? undefined : shownFile(file, hit.project)]
  const room = columns - handle.length - INDENT.length
  const least = Math.min(LEAST_TITLE, Bun.stringWidth(titleOf(hit)))
  const figures = [
    verdict !== undefined && fit(verdict, VERDICT),
    ...fate(hit),
    placeOf(hit),
    said.filter(Boolean).join(" "),
    project,
    changedSince(hit),
  ]
  let rest = ago(hit.time, now)
  for (const one of figures) {
    if (!one) continue
    const left = room - least - Bun.stringWidth(rest) - 2 * " · ".length
    const shown = fit(oneLine(safe(one)), left)
    // Half a word says nothing.
    if (shown.endsWith("…") && left < LEAST_FIGURE) break
    rest = dotted(rest, shown)
    if (shown.endsWith("…")) break
  }
  const title = fit(titleOf(hit), Math.max(LEAST_BESIDE_TIME, room - Bun.stringWidth(rest) - " · ".length))
  return `${style.cyan(handle)}${INDENT}${style.bold(title)}${style.dim(title && rest ? ` · ${rest}` : rest)}`
}

/** Of a session that is not here, there is only the turn's summary. */
const titleOf = (hit: AnyHit): string => hit.title ?? ("far" in hit ? hit.summary : "")

/** Columns of a file's path. */
const LONGEST_PATH = 32

/** From its project on. */
function shownFile(file: string, project: string | null): string {
  const folder = project === null ? "" : `${folderOf(project)}/`
  const path = folder !== "" && file.startsWith(folder) ? file.slice(folder.length) : file
  return cutPath(path, LONGEST_PATH)
}

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "you",
  assistant: "Claude",
  tool: "result",
  host: "Claude Code",
}

const NOTE = "note by the model"

function speakerOf({ session, role, tool, program }: AnyHit): string | undefined {
  if (isNotesSession(session)) return NOTE
  if (tool !== null) return role === "tool" ? `${tool} result` : tool
  if (program !== undefined && (role === "assistant" || role === "host")) return agentTitle(program)
  return role === null ? undefined : (SPEAKERS[role] ?? role)
}

/** Below the hits of a search, which they are none of. */
export function renderObservations(found: readonly Observation[], { style, columns, now }: Screen): string[] {
  if (found.length === 0) return []
  return [
    style.dim("Observations, written by a model, not quoted from a session:"),
    ...found.flatMap(({ handle, type, title, time, turns }) => [
      indented(`${handle} ${dotted(type, ago(time, now), `from ${turns.join(" ")}`)}`, columns),
      `  ${indented(title, columns - 2)}`,
    ]),
  ]
}

function observationLine({ handle, title, time }: Observation, { style, columns, now }: Screen): string {
  const rest = dotted("observation by a model", ago(time, now))
  const room = columns - handle.length - INDENT.length - " · ".length - rest.length
  const shown = fit(title, Math.max(LEAST_TITLE, room))
  return `${style.cyan(handle)}${INDENT}${shown}${style.dim(` · ${rest}`)}`
}

/* What was found, as a terminal shows it. Pure. */

/** The file of a tool's call is named from its project on, unless only the part before it has words of the query. */
export function shownSnippet({
  snippet: text,
  marks,
  project,
  tool,
}: Pick<Hit, "snippet" | "marks" | "project" | "tool">): Snippet {
  const call = `${tool}: `
  const isOfFile = ["read", "edit", "write"].includes(toolKind(tool ?? undefined) ?? "")
  if (!isOfFile || project === null || !text.startsWith(`${call}${project}/`)) return { text, marks }
  const gone = project.length + 1
  const end = call.length + gone
  const kept = marks.flatMap(([from, to]) =>
    from >= end ? [[from - gone, to - gone] as const] : to <= call.length ? [[from, to] as const] : [],
  )
  return marks.length > 0 && kept.length === 0
    ? { text, marks }
    : { text: call + text.slice(end), marks: kept }
}
