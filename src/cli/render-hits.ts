/** Renders search results: laid out for a terminal, or as they are for whoever reads a pipe. Pure. */
import { toolKind } from "../agents/tool-kinds.ts"
import { oneLine } from "../base/text.ts"
import type { ColdHit } from "../find/cold.ts"
import type { FarHit } from "../find/elsewhere.ts"
import type { Hit } from "../find/hit.ts"
import type { Snippet } from "../find/snippet.ts"
import { isNotesSession } from "../views/notes-session.ts"
import { folderOf, shortNameOf } from "../views/project.ts"
import type { Observation } from "../views/queries/summaries.ts"
import { ago, type Screen, wrappedIn } from "./screen.ts"
import { dotted, fit, indented, type Style, safe } from "./style.ts"

export type AnyHit = (Hit | ColdHit | FarHit) & {
  /** What its session is called, if that was looked up. */
  readonly title?: string | null
}

/**
 * Never cuts a hit's text, which was already chosen to be shown.
 *
 * @param everywhere whether the hits may be from several projects
 */
export function renderHits(hits: readonly AnyHit[], screen: Screen, everywhere: boolean): string[] {
  return hits.flatMap((hit, n) => [...(n > 0 ? [""] : []), ...renderHit(hit, screen, everywhere)])
}

function renderHit(hit: AnyHit, { style, now }: Screen, everywhere: boolean): string[] {
  const speaker = isNotesSession(hit.session)
    ? "note by the model"
    : hit.tool === null
      ? (hit.role ?? undefined)
      : `${hit.role}, ${hit.tool}`
  const where = dotted(
    ago(hit.time, now),
    ...fate(hit),
    `${hit.seq === null ? placeOf(hit) : `turn ${hit.seq}`} of ${hit.session.slice(0, 8)}`,
    speaker,
    everywhere && hit.project !== null && folderOf(hit.project),
    hit.why.length > 0 && `has ${hit.why.join(", ")}`,
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
  "far" in hit && `from ${hit.far.machine ?? hit.far.target}`,
  "others" in hit && "written by others",
  hit.takenBack && "rewound",
  "isLost" in hit && hit.isLost && "copy missing",
  "promptsOnly" in hit && PROMPTS_ONLY,
  hit.by === "meaning" && "by meaning",
]

const placeOf = (hit: AnyHit): string => ("line" in hit ? `line ${hit.line}` : "")

function marked({ text, marks }: Snippet, style: Style): string {
  let shown = ""
  let done = 0
  for (const [from, to] of marks) {
    shown += safe(text.slice(done, from)) + style.match(safe(text.slice(from, to)))
    done = to
  }
  return shown + safe(text.slice(done))
}

/** Columns of a title before anything else of its line is left out. */
const LEAST_TITLE = 16
const INDENT = "  "

/** What was found comes first, wrapped; of what surrounds it, a line each. */
export function layOutHits(hits: readonly AnyHit[], screen: Screen, everywhere: boolean): string[] {
  return hits.flatMap((hit, n) => [...(n > 0 ? [""] : []), ...layOutHit(hit, screen, everywhere)])
}

function layOutHit(hit: AnyHit, { style, columns, now }: Screen, everywhere: boolean): string[] {
  const project = everywhere && hit.project !== null && shortNameOf(hit.project)
  const handle = hit.handle ?? safe(hit.session.slice(0, 8))
  const figures = safe(oneLine(dotted(ago(hit.time, now), ...fate(hit), speakerOf(hit), project)))
  const room = columns - handle.length - INDENT.length
  const free = room - Bun.stringWidth(figures) - " · ".length
  const title = fit(hit.title ?? placeOf(hit), Math.max(LEAST_TITLE, free))
  const rest = fit(figures, room - Bun.stringWidth(title) - " · ".length)
  const around = (label: string, text: string | null): string[] =>
    text === null ? [] : [style.dim(`${INDENT}${fit(`${label}: ${text}`, columns - INDENT.length)}`)]
  return [
    `${style.cyan(handle)}${INDENT}${style.bold(title)}${style.dim(title && rest ? ` · ${rest}` : rest)}`,
    ...wrappedIn(INDENT, marked(shownSnippet(hit), style), columns),
    ...around("prompt", hit.prompt),
    ...around("summary", "far" in hit ? hit.summary : null),
    ...hit.also.flatMap((piece) => around("also", piece)),
    ...around("answer", hit.answer),
  ]
}

const SPEAKERS: Readonly<Record<string, string>> = {
  human: "you",
  assistant: "Claude",
  tool: "result",
  host: "Claude Code",
}

function speakerOf({ role, tool }: AnyHit): string | undefined {
  if (tool !== null) return role === "tool" ? `${tool} result` : tool
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
