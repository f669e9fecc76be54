/** A turn: what was asked, all that was done for it, and what was answered. Pure. */
import type { WholeTurn } from "../../read/turn.ts"
import { objectOf, stringOf } from "../../transcript/json.ts"
import type { Part } from "../../transcript/types.ts"
import { count, cut, oneLine } from "../../util/text.ts"
import { callHtml } from "./call-html.ts"
import { compactionHtml } from "./compaction-html.ts"
import { icon } from "./icons.ts"
import { longText } from "./long-text.ts"
import { markdown } from "./markdown.ts"
import { type Content, type Html, html } from "./markup.ts"
import type { CompactionNote, PageWords, SubagentData } from "./page-data.ts"
import { mediaHtml } from "./picture.ts"
import { stretchesOf, type TurnItem } from "./turn-parts.ts"

/** UTF-16 units of a folded text that are seen in its line. */
const GLANCE = 160

/** What is around the turns of a page. */
export interface TurnWorld {
  readonly words: PageWords
  readonly cwd: string | null
  /** Most tokens in the context during the turn. */
  readonly contextOf: (handle: string) => number | undefined
  readonly mediaOf: (turn: WholeTurn) => ReadonlyMap<Part, string>
  readonly compactionAt: (time: string | null) => CompactionNote | undefined
  /** The subagent that was asked this, once. */
  readonly subagentOf: (brief: string) => SubagentData | undefined
}

/** A handle as an element's id, and as a link's target: `#ctx-ab12cd`. */
export const anchorOf = (handle: string): string => handle.replace(":", "-")

export function* turnHtml(turn: WholeTurn, world: TurnWorld): Generator<Html> {
  const { handle, takenBack, interrupted } = turn
  yield html`<section class="turn group${takenBack && " taken-back"}" id="${anchorOf(handle)}">
${head(turn, world)}
${takenBack && mark("Rewound: the conversation continued from an earlier turn")}`
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
  yield html`${interrupted && !isTold && mark("Interrupted")}</section>\n`
}

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
  return html`<header><a class="number" href="#${anchorOf(handle)}">${seq}</a><span class="facts">${facts
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
