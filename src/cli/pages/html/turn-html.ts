/** A turn: what was asked, all that was done for it, and what was answered. Pure. */
import { isShell, todosOf, toolFiles, toolKind } from "../../../agents/tool-kinds.ts"
import { bytes, count, cut, oneLine } from "../../../base/text.ts"
import { objectOf, stringOf } from "../../../record/json.ts"
import { isGivenBack } from "../../../record/our-marks.ts"
import type { Part } from "../../../record/types.ts"
import { editDiff } from "../../../views/edit-diff.ts"
import { errorLine, inputText } from "../../../views/part-text.ts"
import type { ToolCall } from "../../../views/queries/calls.ts"
import type { ToldPart, TurnMessage, WholeTurn } from "../../../views/turn.ts"
import type { CompactionOnPage, PageWords, SubagentData } from "./document.ts"
import { type Content, Html, html, icon, iconOf, markdown } from "./document.ts"

/** UTF-16 units of a folded text that are seen in its line. */
const GLANCE = 160

/** What is around the turns of a page. */
export interface TurnWorld {
  readonly words: PageWords
  readonly cwd: string | null
  /** Most tokens in the context during the turn. */
  readonly contextOf: (handle: string) => number | undefined
  /** What the user has labelled a turn with, each in a few words. */
  readonly labelsOf: (handle: string) => readonly string[]
  readonly mediaOf: (turn: WholeTurn) => ReadonlyMap<Part, string>
  readonly compactionAt: (time: string | null) => CompactionOnPage | undefined
  /** File name of the page of a file that is beside this one. */
  readonly pageOf: (path: string) => string | undefined
  /** The subagent that was asked this, once. */
  readonly subagentOf: (brief: string) => SubagentData | undefined
}

/** A handle as an element's id, and as a link's target: `#ctx-ab12cd`. */
export const anchorOf = (handle: string): string => handle.replace(":", "-")

export function* turnHtml(turn: WholeTurn, world: TurnWorld): Generator<Html> {
  const { handle, takenBack, interrupted } = turn
  const labels = world.labelsOf(handle)
  yield html`<section class="turn group${takenBack && " taken-back"}" id="${anchorOf(handle)}">
${head(turn, world)}
${labels.length > 0 && mark(labels.join(" · "))}${takenBack && mark("Rewound: the conversation continued from an earlier turn")}`
  const callOf = new Map(turn.tools.map((call) => [call.id, call]))
  const media = world.mediaOf(turn)
  for (const { sidechain, items } of stretchesOf(turn.messages)) {
    if (sidechain)
      yield html`<details class="agent"><summary>${icon("agent")}<b>Subagent</b> <span class="target">${count(items.length, "step")}</span></summary>\n`
    for (const item of items) {
      if (item.kind !== "call") {
        yield itemHtml(item, media, world)
        continue
      }
      const { use, result } = item
      const call = callOf.get(use?.id ?? result?.id ?? "")
      yield callHtml(item, { call, cwd: world.cwd, media })
      const brief = stringOf(objectOf(use?.input)["prompt"])
      const subagent = brief === undefined ? undefined : world.subagentOf(brief)
      if (subagent !== undefined) yield* subagentHtml(subagent, world)
    }
    if (sidechain) yield html`</details>\n`
  }
  const isTold = turn.messages.some(({ parts }) => parts.some(({ kind }) => kind === "interrupt"))
  yield html`${interrupted && !isTold && mark("Interrupted")}${changedFiles(turn, world)}</section>\n`
}

/** Links to the pages of the files that the turn changed. */
function changedFiles({ messages }: WholeTurn, { cwd, pageOf }: TurnWorld): Html | undefined {
  const uses = messages.flatMap(({ parts }) => parts.filter((part) => part.kind === "toolUse"))
  const files = uses.flatMap(({ name, input }) => toolFiles(name, input).filter(({ op }) => op !== "read"))
  const links = [...new Set(files.map(({ path }) => path))].flatMap((path) => {
    const page = pageOf(path)
    return page === undefined ? [] : html`<a href="${page}"><code>${below(cwd, path)}</code></a> `
  })
  return links.length === 0
    ? undefined
    : html`<p class="item changed" data-kind="file">Line by line: ${links}</p>\n`
}

const below = (cwd: string | null, path: string): string =>
  cwd !== null && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path

/** Folded, with its own turns. */
export function* subagentHtml({ session, turns }: SubagentData, world: TurnWorld): Generator<Html> {
  const { agent, title, firstPrompt } = session
  const figures = [count(session.tools, "tool call"), session.errors > 0 && count(session.errors, "error")]
  yield html`<details class="agent"><summary>${icon("agent")}<b>Subagent ${agent}</b> <span class="target">${title ?? firstPrompt}</span><span class="end">${figures.filter(Boolean).join(", ")}</span></summary>\n`
  for (const turn of turns) yield* turnHtml(turn, world)
  yield html`</details>\n`
}

function head(turn: WholeTurn, { words, contextOf }: TurnWorld): Html {
  const { handle, seq, started, ended, tools, errors } = turn
  const tokens = contextOf(handle)
  const facts: Content[] = [
    started !== null && html`<time datetime="${started}">${words.moment(started)}</time>`,
    lasted(started, ended),
    tools.length > 0 && count(tools.length, "tool call"),
    errors > 0 && html`<span class="bad">${count(errors, "error")}</span>`,
    tokens !== undefined && `${words.tokens(tokens)} tokens in context`,
  ]
  return html`<header><h2 class="number"><a href="#${anchorOf(handle)}" aria-label="Turn ${seq}">${seq}</a></h2><span class="facts">${facts
    .filter(Boolean)
    .map(
      (fact) => html`<span>${fact}</span>`,
    )}</span><button class="copy" type="button" title="Copy a link to this turn">${handle}</button></header>`
}

/** `3 min 5 s`; undefined for what is shorter than a second, or unknown. */
function lasted(started: string | null, ended: string | null): string | undefined {
  const seconds = Math.round((Date.parse(ended ?? "") - Date.parse(started ?? "")) / 1000)
  if (!(seconds >= 1)) return undefined
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes} min ${seconds % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

function itemHtml(
  item: Exclude<TurnItem, { kind: "call" }>,
  media: ReadonlyMap<Part, string>,
  world: TurnWorld,
): Html {
  if (item.kind === "compaction") return compactionHtml(item, world.compactionAt(item.time), world.words)
  return partHtml(item.part, media)
}

function partHtml(part: Part, media: ReadonlyMap<Part, string>): Html {
  switch (part.kind) {
    case "prompt":
      return html`<div class="item prompt" data-kind="prompt">${part.via !== "typed" && html`<span class="via">${part.via}</span>`}${longText(part.via === "bash" ? `! ${part.text}` : part.text, "said")}</div>\n`
    case "reply":
      return html`<div class="item prompt" data-kind="prompt"><span class="via">reply</span>${longText(part.question === "" ? part.text : `${part.question}\n→ ${part.text}`, "said")}</div>\n`
    case "brief":
      return html`<div class="item prompt brief" data-kind="prompt">${longText(part.text, "said")}</div>\n`
    case "text":
      return html`<div class="item answer" data-kind="answer">${markdown(part.text)}</div>\n`
    case "thinking":
      return html`<details class="item thinking" data-kind="thinking"><summary>Thinking</summary>${markdown(part.text)}</details>\n`
    case "media":
      return mediaHtml(part, media.get(part))
    case "apiError":
      return html`<div class="item api-error" data-kind="error">${longText(part.text, "out bad")}</div>\n`
    case "interrupt":
      return mark("Interrupted")
    case "output":
      return html`<div class="item" data-kind="${part.isError ? "tool error" : "tool"}">${longText(part.text, part.isError ? "out bad" : "out")}</div>\n`
    case "summary":
      return aside("Claude Code’s summary", part.text, markdown(part.text))
    case "context":
      return aside(`Context from ${part.source}`, part.text)
    case "enqueued":
      return aside("Put into the queue", part.text)
    default:
      return aside("Note of Claude Code", "text" in part ? part.text : "")
  }
}

const mark = (text: string): Html => html`<p class="item mark" data-kind="mark">${text}</p>\n`

/** What neither of the two said. */
const aside = (title: string, text: string, body = longText(text, "out")): Html =>
  html`<details class="item beside" data-kind="context"><summary>${title} <span class="target">${cut(oneLine(text.slice(0, 4 * GLANCE)), GLANCE)}</span></summary>${body}</details>\n`

/* Where the conversation was compacted: what Claude Code kept of it, what was lost, and what was restored. Pure. */

function compactionHtml(
  { boundary, summary, restored }: CompactionItem,
  told: CompactionOnPage | undefined,
  words: PageWords,
): Html {
  const { trigger, preTokens, postTokens } = boundary
  const from = preTokens === undefined ? "" : ` at ${words.tokens(preTokens)} tokens`
  const to = postTokens === undefined ? "" : `, ${words.tokens(postTokens)} left`
  const text = told?.text || restored
  return html`<aside class="item compaction" data-kind="compaction">
<p><b>Compacted</b> (${trigger})${from}${to}${told && figures(told)}</p>
${summary !== undefined && html`<details><summary>Claude Code’s summary</summary>${markdown(summary)}</details>`}
${text && html`<details><summary>Restored by ctxbridge${told?.delivery && `: ${told.delivery}`}</summary>${longText(text, "out")}</details>`}
</aside>
`
}

const figures = ({ kept, restored, lost, text }: CompactionOnPage): Html =>
  html`<span class="figures" title="Paths, commands and names of the conversation before"><span>${kept} kept</span> ${text !== "" && html`<span class="plus">${restored} restored</span> `}<span class="minus">${lost} lost</span></span>`

/* A tool call: one line that says what it did and how it ended, and behind it all that went in and came out. Pure. */

/** Lines of a change that are seen without a click. */
const SMALL = 12
/** UTF-16 units of what a call's line shows of its error. */
const ERROR = 160

interface CallWorld {
  /** As the views have it; undefined for a call that they lack. */
  readonly call: ToolCall | undefined
  readonly cwd: string | null
  readonly media: ReadonlyMap<Part, string>
}

function callHtml({ use, result, media }: CallItem, world: CallWorld): Html {
  const name = use?.name || world.call?.name || "tool"
  const kind = toolKind(name)
  const isError = result?.isError === true
  const hunks = use && editDiff(name, use.input)
  const lines = hunks && countLines(hunks)
  const kinds = ["tool", hunks && "file", isError && "error"].filter(Boolean).join(" ")
  const isOpen = (lines && lines.added + lines.removed <= SMALL) || kind === "todo" || media.length > 0
  const target = use === undefined ? "" : targetOf(name, use.input, world)
  return html`<details class="item call${isError && " failed"}" data-kind="${kinds}"${isOpen && html` open`}${hunks && html` data-print`}>
<summary>${iconOf(kind)}<b>${name}</b> <span class="target">${target}</span>${outcome(result, world.call, lines)}${isError && html`<span class="why">${reason(result?.text ?? "")}</span>`}</summary>
<div class="body">${hunks ? diffHtml(hunks) : input(name, use?.input)}${output(name, result, hunks !== undefined)}${media.map((part) => mediaHtml(part, world.media.get(part)))}</div>
</details>
`
}

function targetOf(name: string, given: unknown, { call, cwd }: CallWorld): string {
  const whole = call?.target || oneLine(inputText(name, given).slice(0, 600))
  return cut(below(cwd, whole), 300)
}

function outcome(
  result: CallItem["result"],
  call: ToolCall | undefined,
  lines: { readonly added: number; readonly removed: number } | undefined,
): Content {
  if (result === undefined) return html`<span class="end">no answer</span>`
  if (result.isError)
    return html`<span class="end bad">${call?.exitCode ? `exit ${call.exitCode}` : "error"}</span>`
  if (lines === undefined) return undefined
  return html`<span class="end"><span class="plus">+${lines.added}</span> <span class="minus">−${lines.removed}</span></span>`
}

const reason = (text: string): string => cut(errorLine(text), ERROR)

function input(name: string, given: unknown): Content {
  const kind = toolKind(name)
  const fields = objectOf(given)
  const todos = todosOf(name, given)
  if (todos !== undefined) {
    return html`<ul class="todos">${todos.map(
      ({ content, status }) =>
        html`<li class="${status === "completed" ? "done" : status === "in_progress" ? "now" : "open"}">${content}</li>`,
    )}</ul>`
  }
  const prose =
    kind === "agent" ? stringOf(fields["prompt"]) : kind === "plan" ? stringOf(fields["plan"]) : undefined
  if (prose !== undefined) return markdown(prose)
  return given === undefined ? undefined : longText(inputText(name, given), isShell(name) ? "in shell" : "in")
}

function output(name: string, result: CallItem["result"], isChange: boolean): Content {
  if (result === undefined || result.text === "") return undefined
  // That a file was changed is said above, as is a list of todos.
  if (!result.isError && (isChange || toolKind(name) === "todo")) return undefined
  if (!result.isError && toolKind(name) === "agent") return markdown(result.text)
  return longText(result.text, result.isError ? "out bad" : "out")
}

/* What a call changed, as coloured lines. Pure. */

type Hunks = readonly (readonly { readonly mark: " " | "+" | "-"; readonly text: string }[])[]

/** Lines that are shown at once. */
const LINES_SHOWN = 80
/** Lines that are in the page at all. */
const LINES_KEPT = 20_000

interface LineCounts {
  readonly added: number
  readonly removed: number
}

function countLines(hunks: Hunks): LineCounts {
  const lines = hunks.flat()
  return {
    added: lines.filter(({ mark }) => mark === "+").length,
    removed: lines.filter(({ mark }) => mark === "-").length,
  }
}

export function diffHtml(hunks: Hunks): Html {
  const total = hunks.reduce((sum, { length }) => sum + length, 0)
  const first = html`<div class="diff">${upTo(hunks, 0, LINES_SHOWN)}</div>`
  if (total <= LINES_SHOWN) return first
  const rest = html`<div class="diff">${upTo(hunks, LINES_SHOWN, LINES_KEPT)}</div>`
  const lost =
    total > LINES_KEPT &&
    html`<p class="note">The page ends here: the change goes on for ${count(total - LINES_KEPT, "line")}.</p>`
  return html`${first}<details class="rest"><summary>Show all: ${count(total - LINES_SHOWN, "more line")}</summary>${rest}${lost}</details>`
}

/** A block for each hunk, with those of its lines that lie in this range of all. */
function upTo(hunks: Hunks, from: number, to: number): Html[] {
  let before = 0
  return hunks.flatMap((hunk) => {
    const lines = hunk.slice(Math.max(0, from - before), Math.max(0, to - before))
    before += hunk.length
    return lines.length === 0 ? [] : [html`<pre>${runs(lines)}</pre>`]
  })
}

/** Neighbouring lines of a kind are one element: a page may have tens of thousands of them. */
function runs(lines: Hunks[number]): Content[] {
  const made: Content[] = []
  for (let start = 0; start < lines.length; ) {
    const { mark } = lines[start]!
    let end = start + 1
    while (lines[end]?.mark === mark) end++
    const text = lines
      .slice(start, end)
      .map((line) => `${mark}${line.text}`)
      .join("\n")
    made.push(
      mark === "+"
        ? html`<ins>${text}</ins>`
        : mark === "-"
          ? html`<del>${text}</del>`
          : html`<span>${text}</span>`,
    )
    start = end
  }
  return made
}

/* Output as it was printed: the beginning at once, the rest behind a click, and of a whole file only so much. Pure. */

/** UTF-16 units and lines that are shown at once. */
const SHOWN = 8000
const SHOWN_LINES = 60
/** UTF-16 units that are in the page at all: a line of a transcript may hold a gigabyte. */
const KEPT = 2 << 20

/** @param kind a class for its looks */
export function longText(text: string, kind: string): Html {
  const whole = text.replace(/\s+$/, "")
  if (whole === "") return html``
  const end = endOfBeginning(whole)
  if (end >= whole.length) return html`<pre class="${kind}">${whole}</pre>`
  const rest = whole.slice(end)
  const lines = rest.split("\n").length
  const size = lines > 1 ? count(lines, "more line") : bytes(rest.length)
  const lost =
    rest.length > KEPT &&
    html`<p class="note">The page ends here: the text goes on for ${bytes(rest.length - KEPT)}.</p>`
  return html`<pre class="${kind}">${whole.slice(0, end)}</pre><details class="rest"><summary>Show all: ${size}</summary><pre class="${kind}">${cut(rest, KEPT)}</pre>${lost}</details>`
}

/** Ends with a line if that is not much less. */
function endOfBeginning(text: string): number {
  let end = 0
  for (let line = 0; line < SHOWN_LINES; line++) {
    const next = text.indexOf("\n", end)
    if (next < 0) return text.length > SHOWN * 1.5 ? cut(text, Math.max(end, SHOWN), "").length : text.length
    if (next > SHOWN) return end > SHOWN / 2 ? end : cut(text, SHOWN, "").length
    end = next + 1
  }
  // A few more lines are not worth a click.
  return text.length - end < SHOWN / 8 ? text.length : end
}

/* Images and sounds of a transcript as data: URLs, if they are what browsers show or play, and nothing else. Pure. */

/** By how such files begin (their "magic numbers"). Not SVG, which is a document. */
const KINDS: readonly (readonly [type: string, beginning: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n\x1a\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["audio/wav", /^RIFF.{4}WAVE/s],
  ["audio/mpeg", /^(?:ID3|\xff[\xe2\xe3\xf2\xf3\xfa\xfb])/],
  ["audio/ogg", /^OggS/],
  ["audio/flac", /^fLaC/],
]
/** UTF-16 units of base64 that are enough to tell: 12 bytes. */
const BEGINNING = 16
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
/** UTF-16 units of base64: Claude Code's own limit is 5 MB for each image. */
const LARGEST = 8 << 20

type Media = Extract<Part, { readonly kind: "media" }>

/** An image or a sound, or else what it is. */
export function mediaHtml({ mediaType, base64Length }: Media, base64: string | undefined): Html {
  const size = base64Length === 0 ? "" : `, ${bytes(Math.floor((base64Length * 3) / 4))}`
  return (
    picture(base64) ??
    sound(base64) ??
    html`<p class="item mark" data-kind="mark">${mediaType || "an attachment"}${size}, not shown</p>\n`
  )
}

/** @param base64 undefined if it is not known */
export function picture(base64: string | undefined): Html | undefined {
  const type = typeOf(base64, "image/")
  if (type === undefined) return undefined
  return html`<img class="item" data-kind="image" alt="image" src="data:${type};base64,${new Html(base64!)}">\n`
}

function sound(base64: string | undefined): Html | undefined {
  const type = typeOf(base64, "audio/")
  if (type === undefined) return undefined
  return html`<audio class="item" data-kind="sound" controls src="data:${type};base64,${new Html(base64!)}"></audio>\n`
}

/** By the bytes, whatever the transcript says of them. */
function typeOf(base64: string | undefined, kind: string): string | undefined {
  if (base64 === undefined || base64.length > LARGEST || base64.length % 4 !== 0) return undefined
  if (!BASE64.test(base64)) return undefined
  const start = atob(base64.slice(0, BEGINNING))
  return KINDS.find(([type, beginning]) => type.startsWith(kind) && beginning.test(start))?.[0]
}

/* A turn's parts in the order of a page: each call with its result, each compaction with what belongs to it. Pure. */

type Of<K extends Part["kind"]> = Extract<ToldPart, { readonly kind: K }>

interface CallItem {
  readonly kind: "call"
  /** Undefined: the turn has only the result. */
  readonly use: Of<"toolUse"> | undefined
  /** Undefined while unanswered. */
  readonly result: Of<"toolResult"> | undefined
  readonly media: readonly Of<"media">[]
}

interface CompactionItem {
  readonly kind: "compaction"
  readonly boundary: Of<"boundary">
  readonly time: string | null
  readonly summary: string | undefined
  readonly restored: string | undefined
}

interface PlainItem {
  readonly kind: "part"
  readonly part: ToldPart
}

type TurnItem = CallItem | CompactionItem | PlainItem

/** Items of the turn itself, or of a subagent that worked within its transcript. */
interface Stretch {
  readonly sidechain: boolean
  readonly items: readonly TurnItem[]
}

function stretchesOf(messages: readonly TurnMessage[]): Stretch[] {
  const taken = new Set<ToldPart>()
  const results = resultsIn(messages)
  const stretches: { sidechain: boolean; items: TurnItem[] }[] = []
  for (const [n, { parts, sidechain, time }] of messages.entries()) {
    for (const part of parts) {
      if (taken.has(part)) continue
      const item = itemOf(part, () => ({ results, taken, later: messages.slice(n), time }))
      if (item === undefined) continue
      if (stretches.at(-1)?.sidechain !== sidechain) stretches.push({ sidechain, items: [] })
      stretches.at(-1)!.items.push(item)
    }
  }
  return stretches
}

interface Result {
  readonly part: Of<"toolResult">
  readonly media: readonly Of<"media">[]
}

interface Around {
  readonly results: ReadonlyMap<string, Result>
  readonly taken: Set<ToldPart>
  readonly later: readonly TurnMessage[]
  readonly time: string | null
}

function itemOf(part: ToldPart, around: () => Around): TurnItem | undefined {
  switch (part.kind) {
    case "toolUse":
    case "toolResult": {
      const { results, taken } = around()
      const found = results.get(part.id)
      const use = part.kind === "toolUse" ? part : undefined
      if (found === undefined || taken.has(found.part))
        return {
          kind: "call",
          use,
          result: use === undefined ? (part as Of<"toolResult">) : undefined,
          media: [],
        }
      for (const one of [found.part, ...found.media]) taken.add(one)
      return { kind: "call", use, result: found.part, media: found.media }
    }
    case "boundary":
      return compaction(part, around())
    case "title":
      return undefined
    default:
      return { kind: "part", part }
  }
}

/** The first result of each call, with the images behind it. */
function resultsIn(messages: readonly TurnMessage[]): Map<string, Result> {
  const found = new Map<string, Result>()
  for (const { parts } of messages) {
    for (const [n, part] of parts.entries()) {
      if (part.kind !== "toolResult" || found.has(part.id)) continue
      const behind = parts.slice(n + 1)
      const end = behind.findIndex(({ kind }) => kind !== "media")
      found.set(part.id, { part, media: behind.slice(0, end < 0 ? undefined : end) as Of<"media">[] })
    }
  }
  return found
}

/** With the summary and the restored text that follow before anything is said. */
function compaction(boundary: Of<"boundary">, { later, taken, time }: Around): CompactionItem {
  let summary: string | undefined
  let restored: string | undefined
  let isBehind = false
  for (const part of later.flatMap(({ parts }) => parts)) {
    if (part === boundary) isBehind = true
    else if (isBehind && (part.kind === "boundary" || part.kind === "text" || part.kind === "toolUse")) break
    else if (isBehind && part.kind === "summary" && summary === undefined) {
      summary = part.text
      taken.add(part)
    } else if (isBehind && isGivenBack(part) && restored === undefined && "text" in part) {
      restored = part.text
      taken.add(part)
    }
  }
  return { kind: "compaction", boundary, time, summary, restored }
}
