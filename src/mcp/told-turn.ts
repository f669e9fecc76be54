/**
 * A whole turn as numbered lines, which `get` shows in stretches or in outline and `search` points into. Pure.
 */
import { type CallOf, callsIn, partText, whoseOf } from "../export/part-text.ts"
import type { ToldPart, TurnMessage, WholeTurn } from "../read/turn.ts"
import { blockQuote } from "../restore/quote.ts"
import { beginning, placesIn, type Sought } from "../search/snippet.ts"
import { shortLines } from "../util/pages.ts"
import { count, lengthOf } from "../util/text.ts"
import { nameOr, plain, strange } from "./quoting.ts"

/** A line of tool output may be a whole file. */
const LONGEST_LINE = 2000
/** UTF-16 units within which the words of a match are looked for together. */
const SPAN = 600

export interface ToldLine {
  readonly text: string
  /** The line above the quotation to which this one belongs. */
  readonly title: string
  /** Which message of the turn it belongs to, from 0. */
  readonly message: number
  /** Whether the model says it to the human. */
  readonly isAnswer: boolean
}

/** All quoted text follows `> `. */
export function toldLines(turn: WholeTurn): ToldLine[] {
  const calls = callsIn(turn.tools)
  const callOf: CallOf = (id) => ({ ...calls(id), name: nameOr(calls(id).name, "a tool") })
  return turn.messages.flatMap((message, n) =>
    message.parts.flatMap((part) => {
      const shown = partText(namedSafely(part), callOf)
      if (shown === undefined) return []
      const words = shown.text.trimEnd()
      const quoted = words === "" ? [] : blockQuote(words).split("\n")
      const title = titleOf(shown.title, part, message)
      const isAnswer = part.kind === "text" && !message.sidechain
      return ["", title, ...quoted.flatMap(folded)].map((text) => ({ text, title, message: n, isAnswer }))
    }),
  )
}

const folded = (line: string): string[] =>
  shortLines(line, LONGEST_LINE).map((piece, n) => (n === 0 ? piece : `> ${piece}`))

/** Replaces suspicious names, since names are printed outside the quotation. */
function namedSafely(part: ToldPart): ToldPart {
  if (part.kind === "toolUse") return { ...part, name: nameOr(part.name, "a tool") }
  if (part.kind === "boundary") return { ...part, trigger: nameOr(part.trigger, "unknown") }
  return part.kind === "context" ? { ...part, source: nameOr(part.source, "Claude Code") } : part
}

function titleOf(title: string, part: ToldPart, { sidechain }: TurnMessage): string {
  return `${title}${whoseOf(part.origin, sidechain)}:`
}

/**
 * The line at which most of the sought words are together, from 0.
 *
 * @param message the one to look in; undefined, or without such a word: the whole turn
 */
export function lineOfMatch(
  lines: readonly ToldLine[],
  message: number | undefined,
  sought: Sought,
): number | undefined {
  const from = message === undefined ? -1 : lines.findIndex((line) => line.message === message)
  const own = from < 0 ? [] : lines.slice(from).filter((line) => line.message === message)
  return (
    placeIn(own, sought, Math.max(0, from)) ?? (message === undefined ? placeIn(lines, sought, 0) : undefined)
  )
}

function placeIn(lines: readonly ToldLine[], sought: Sought, from: number): number | undefined {
  const text = lines.map((line) => line.text).join("\n")
  const places = placesIn(text, sought)
  if (places.length === 0) return undefined
  // `beginning` starts a little early, at a line or sentence.
  const at = Math.max(beginning(text, places, SPAN), 0)
  let end = -1
  for (let n = 0; n < lines.length; n++) {
    end += lines[n]!.text.length + 1
    if (end >= at) return from + n
  }
  return undefined
}

/** UTF-16 units of what was said. */
const SAID = 90
/** How many of the first lines are kept when there are too many. */
const FIRST = 2

const PROMPT = /^prompt/
const FAILURE = /^(?:result of .* \(error|error output|API error)/

/**
 * What happened in a long turn, a line for each thing that was said or failed.
 *
 * @param room UTF-16 units for all lines
 */
export function outlineOf(lines: readonly ToldLine[], room: number): string[] {
  const entries: { text: string; calls: number; line: number }[] = []
  for (const [n, { text, title, isAnswer }] of lines.entries()) {
    // A part begins with the line that says what it is.
    if (text !== title || text.startsWith(">")) continue
    const words = lines[n + 1]?.text.replace(/^> ?/, "") ?? ""
    if (isAnswer) entries.push({ text: JSON.stringify(plain(words, SAID)), calls: 0, line: n + 1 })
    else if (PROMPT.test(title) && entries.length > 0)
      entries.push({ text: `asked ${JSON.stringify(plain(words, SAID))}`, calls: 0, line: n + 1 })
    else if (FAILURE.test(title))
      entries.push({ text: `${title} ${JSON.stringify(strange(words, SAID))}`, calls: 0, line: n + 1 })
    else if (title.startsWith("result of ")) {
      const last = entries.at(-1)
      if (last === undefined) entries.push({ text: "began", calls: 1, line: n + 1 })
      else last.calls++
    }
  }
  return fitting(
    entries.map(
      ({ text, calls, line }) => `@${line} ${text}${calls > 0 ? `, then ${count(calls, "call")}` : ""}`,
    ),
    room,
  )
}

/** The first ones and as many of the last as there is room for. */
function fitting(lines: readonly string[], room: number): string[] {
  if (lengthOf(lines) <= room) return [...lines]
  const first = lines.slice(0, FIRST)
  let left = room - lengthOf(first) - 20
  let from = lines.length
  while (from > FIRST && left >= lines[from - 1]!.length + 1) left -= lines[--from]!.length + 1
  return [...first, `… ${from - FIRST} more`, ...lines.slice(from)]
}

/** Lines from `from` up to but not including `to`. */
export interface LineRange {
  readonly from: number
  readonly to: number
}

/** What share of the room precedes the line that was asked for. */
const LEAD = 0.25

/** From a line on, at least one line. */
export function stretchAfter(lines: readonly ToldLine[], from: number, room: number): LineRange {
  let to = from
  for (let left = room; to < lines.length; to++) {
    left -= lines[to]!.text.length + 1
    if (left < 0 && to > from) break
  }
  return { from, to }
}

/** Up to but not including a line, at least one line. */
export function stretchBefore(lines: readonly ToldLine[], to: number, room: number): LineRange {
  let from = to
  for (let left = room; from > 0; from--) {
    left -= lines[from - 1]!.text.length + 1
    if (left < 0 && from < to) break
  }
  return { from, to }
}

/** Around a line: a little of what precedes it, and what follows. */
export function stretchAround(lines: readonly ToldLine[], at: number, room: number): LineRange {
  const lead = stretchBefore(lines, at, room * LEAD)
  // The line itself comes before what precedes it.
  const isLong =
    sizeOfLines(lines, lead) > room * LEAD || sizeOfLines(lines, { from: lead.from, to: at + 1 }) > room
  const { from, to } = stretchAfter(lines, isLong ? at : lead.from, room)
  // At the end of the turn there is room for more of what precedes.
  return to === lines.length ? stretchBefore(lines, to, room) : { from, to }
}

export const sizeOfLines = (lines: readonly ToldLine[], { from, to }: LineRange): number =>
  lengthOf(lines.slice(from, to).map(({ text }) => text))
