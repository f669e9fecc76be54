/** Renders a whole turn: as it was said, or laid out for a terminal. Pure. */

import { count, oneLine } from "../base/text.ts"
import type { Part } from "../record/types.ts"
import type { Worth } from "../restore/learning/follow-uses.ts"
import { type DiffLine, editDiff } from "../views/edit-diff.ts"
import { type CallOf, callsIn, partText } from "../views/part-text.ts"
import type { ToldPart, TurnMessage, WholeTurn } from "../views/turn.ts"
import { block } from "./block.ts"
import { period, type Screen, wrapped } from "./screen.ts"
import type { ShowPath } from "./shown-path.ts"
import { dotted, type Style, safe } from "./style.ts"

interface TurnLook {
  readonly screen: Screen
  readonly color: boolean
  readonly links: boolean
  readonly showPath: ShowPath
  /** Laid out for a terminal; otherwise texts stay as they are. */
  readonly isLaidOut: boolean
  /** Whether long results and changes are folded to their first lines there. */
  readonly isFolded: boolean
}

/** Lines of a result, of thinking and the like, and of a change that are shown of a folded one. */
const RESULT_LINES = 12
const CHANGE_LINES = 60
/** Files that are named of a folded turn, and columns of what was done to them. */
const FILES = 6
const OP = 7
const DEPENDENT = ["thinking", "context", "summary", "notice"]

/** All lines of the turn, without paging. */
export function renderTurn(turn: WholeTurn, worth: Worth, look: TurnLook): string[] {
  const callOf = callsIn(turn.tools)
  return [
    ...head(turn, worth, look),
    ...turn.messages.flatMap((message) =>
      message.parts.flatMap((part) => renderPart(part, message, turn, callOf, look)),
    ),
  ]
}

function head(turn: WholeTurn, worth: Worth, look: TurnLook): string[] {
  const { style, now, columns } = look.screen
  const figures = dotted(
    period(turn.started, turn.ended, now),
    turn.via,
    count(turn.tools.length, "tool call"),
    turn.errors > 0 && count(turn.errors, "error"),
    turn.interrupted && "interrupted",
    turn.others && "written by others",
    turn.takenBack && "rewound",
    worth.uses > 0 && `used ${count(worth.uses, "time")}`,
    worth.cold && "out of the index",
  )
  const lines = [
    `${style.bold(turn.handle)}  turn ${turn.seq} of session ${safe(turn.session)}`,
    figures,
    ...turn.usage.map(
      ({ model, input, output, cacheCreation, cacheRead }) =>
        `${safe(model)}: tokens ${input} input, ${cacheCreation} written to cache, ${cacheRead} read from cache, ${output} output`,
    ),
  ]
  const shown = look.isLaidOut ? lines.flatMap((line) => wrapped(line, columns)) : lines
  return [...shown, ...fileLines(turn, look)]
}

function fileLines(
  { files, handle }: WholeTurn,
  { screen, showPath, isLaidOut, isFolded }: TurnLook,
): string[] {
  const most = isLaidOut && isFolded ? FILES : files.length
  const lines = files.slice(0, most).map(({ path, op, count: times }) => {
    const often = times > 1 ? ` (${times} times)` : ""
    const room = screen.columns - OP - 1 - often.length
    return `${op.padEnd(OP)} ${isLaidOut ? showPath(path, room) : showPath(path)}${often}`
  })
  const left = files.length - most
  return left > 0 ? [...lines, `… ${count(left, "more file")}: ctxbridge show ${handle} --full`] : lines
}

function renderPart(
  part: ToldPart,
  message: TurnMessage,
  turn: WholeTurn,
  callOf: CallOf,
  look: TurnLook,
): string[] {
  const shown = partText(part, callOf)
  if (shown === undefined) return []
  const { style } = look.screen
  const whose = part.origin === "import" ? " (imported)" : message.sidechain ? " (subagent)" : ""
  const title = `── ${safe(oneLine(shown.title))}${whose} ──`
  const lines = look.isLaidOut ? laidOut(part, shown.text, turn, look) : asItIs(shown.text)
  return ["", titled(title, part, style), ...(DEPENDENT.includes(part.kind) ? lines.map(style.dim) : lines)]
}

function titled(title: string, part: Part, style: Style): string {
  const isFailed = (part.kind === "toolResult" && part.isError) || part.kind === "apiError"
  if (isFailed) return style.red(title)
  return part.kind === "prompt" || part.kind === "reply" ? style.bold(title) : style.dim(title)
}

const asItIs = (text: string): string[] => (text === "" ? [] : safe(text).trimEnd().split("\n"))

function laidOut(part: Part, text: string, turn: WholeTurn, look: TurnLook): string[] {
  const { color, links } = look
  const { columns } = look.screen
  const folded = (most: number, whole: string): string[] =>
    look.isFolded
      ? block(whole, { indent: "", most, handle: `${turn.handle} --full` }).flatMap((line) =>
          wrapped(line, columns),
        )
      : wrapped(safe(whole).trimEnd(), columns)
  if (text === "") return []
  switch (part.kind) {
    case "text":
      return markdownLines(text, { columns, color, links })
    case "prompt":
    case "reply":
    case "brief":
    case "enqueued":
      return wrapped(safe(text).trimEnd(), columns)
    case "toolUse":
      return changed(part, turn, look) ?? folded(CHANGE_LINES, text)
    default:
      return folded(RESULT_LINES, text)
  }
}

type ToolUse = Extract<Part, { kind: "toolUse" }>

/** A change of a file as a diff; undefined if the call is something else. */
function changed(call: ToolUse, { handle, tools }: WholeTurn, look: TurnLook): string[] | undefined {
  const hunks = editDiff(call.name, call.input)
  if (hunks === undefined) return undefined
  const { columns, style } = look.screen
  const path = tools.find(({ id }) => id === call.id)?.target
  const lines = diffLines(hunks, style)
  const most = look.isFolded ? CHANGE_LINES : Number.POSITIVE_INFINITY
  const left = lines.length - most
  return [
    ...(!path ? [] : [look.showPath(path)]),
    ...lines.slice(0, most).flatMap((line) => wrapped(line, columns)),
    ...(left > 0 ? [`… ${count(left, "more line")}: ctxbridge show ${handle} --full`] : []),
  ]
}

/* What a call changed in files, as coloured lines. Pure. */

/** Hunks are separated by a line of dots, since their place in the file is not known. */
const diffLines = (hunks: readonly (readonly DiffLine[])[], style: Style): string[] =>
  hunks.flatMap((hunk, n) => [
    ...(n > 0 ? [style.dim("  ⋮")] : []),
    ...hunk.map((line) => colored(line, style)),
  ])

function colored({ mark, text }: DiffLine, style: Style): string {
  const line = safe(`${mark} ${text}`).replaceAll("\n", " ")
  if (mark === " ") return style.dim(line)
  return mark === "+" ? style.green(line) : style.red(line)
}

/* Markdown as a terminal shows it. What its text says cannot steer the terminal. Pure. */

interface MarkdownLook {
  readonly columns: number
  readonly color: boolean
  readonly links: boolean
}

/** Characters: beyond these it is not laid out, since that takes the square of a line's length (Bun 1.4.5). */
const LONGEST = 200_000
const LONGEST_LINE = 10_000

/** Colours, and links with their address: all that the renderer writes of its own. */
const OWN = /\x1b\[[\d;]*m|\x1b\]8;;([^\x1b]*)\x1b\\/g
const WEB = /^(?:https?|mailto):/

/** @param text as it was archived */
export function markdownLines(text: string, { columns, color, links }: MarkdownLook): string[] {
  const plain = safe(text).trimEnd()
  const isLong = plain.length > LONGEST || plain.split("\n").some(({ length }) => length > LONGEST_LINE)
  if (isLong) return wrapped(plain, columns)
  const drawn = Bun.markdown.ansi(plain, { columns, colors: color, hyperlinks: links })
  return harmless(drawn.trimEnd())
    .split("\n")
    .flatMap((line) => wrapped(line, columns))
}

/** Entities are decoded after `safe` has looked, and links may lead anywhere. */
function harmless(drawn: string): string {
  let text = ""
  let done = 0
  for (const { 0: sequence, 1: url, index } of drawn.matchAll(OWN)) {
    text += safe(drawn.slice(done, index)) + (url === undefined ? sequence : opened(url))
    done = index + sequence.length
  }
  return text + safe(drawn.slice(done))
}

/** The beginning of a link to the web, or the end of any; the text of other links stays without one. */
const opened = (url: string): string => {
  const encoded = url.toWellFormed().replace(/[^\x21-\x7e]/gu, encodeURIComponent)
  return `\x1b]8;;${WEB.test(url) ? encoded : ""}\x1b\\`
}
