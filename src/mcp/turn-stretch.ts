/** Which lines of a long turn fit into what is shown at once. Pure. */
import { lengthOf } from "../util/text.ts"
import type { ToldLine } from "./told-turn.ts"

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
