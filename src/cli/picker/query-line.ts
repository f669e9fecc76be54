/** The line in which the query is typed: its text, and the cursor in it. Pure. */
import type { PickerAction } from "./picker-keys.ts"

export interface QueryLine {
  readonly text: string
  /** In UTF-16 units, always between two characters. */
  readonly cursor: number
}

/** UTF-16 units of a query; the search reads no more. */
const LONGEST = 4000

const segmenter = new Intl.Segmenter()

export const lineWith = (text: string): QueryLine => {
  const kept = text.toWellFormed().slice(0, LONGEST)
  return { text: kept, cursor: kept.length }
}

export function withTyped({ text, cursor }: QueryLine, added: string): QueryLine {
  const fits = added
    .toWellFormed()
    .slice(0, Math.max(0, LONGEST - text.length))
    .toWellFormed()
  return { text: text.slice(0, cursor) + fits + text.slice(cursor), cursor: cursor + fits.length }
}

/** @returns undefined if the action is none of this line's */
export function edited(line: QueryLine, action: PickerAction): QueryLine | undefined {
  const { text, cursor } = line
  const without = (from: number, to: number): QueryLine => ({
    text: text.slice(0, from) + text.slice(to),
    cursor: from,
  })
  switch (action) {
    case "left":
      return { text, cursor: before(line) }
    case "right":
      return { text, cursor: after(line) }
    case "word-left":
      return { text, cursor: wordBefore(line) }
    case "word-right":
      return { text, cursor: cursor + /^\s*\S*/.exec(text.slice(cursor))![0].length }
    case "start":
      return { text, cursor: 0 }
    case "end":
      return { text, cursor: text.length }
    case "delete-back":
      return without(before(line), cursor)
    case "delete-forward":
      return { text: text.slice(0, cursor) + text.slice(after(line)), cursor }
    case "delete-word":
      return without(wordBefore(line), cursor)
    case "delete-all":
      return { text: "", cursor: 0 }
    default:
      return undefined
  }
}

const before = ({ text, cursor }: QueryLine): number => {
  if (cursor === 0) return 0
  return segmenter.segment(text).containing(cursor - 1)!.index
}

const after = ({ text, cursor }: QueryLine): number => {
  const next = segmenter.segment(text).containing(cursor)
  return next === undefined ? cursor : next.index + next.segment.length
}

const wordBefore = ({ text, cursor }: QueryLine): number =>
  cursor - /\S*\s*$/.exec(text.slice(0, cursor))![0].length
