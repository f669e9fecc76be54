/** A whole turn as numbered lines, which `get` shows in stretches and `search` points into. Pure. */
import { type CallOf, callsIn, partText, whoseOf } from "../export/part-text.ts"
import type { ToldPart, TurnMessage, WholeTurn } from "../read/turn.ts"
import { blockQuote } from "../restore/quote.ts"
import { beginning, placesIn, type Sought } from "../search/snippet.ts"
import { shortLines } from "../util/pages.ts"
import { nameOr } from "./quoting.ts"

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
