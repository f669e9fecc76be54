/** What an edit did to one line of a file. White space does not count, so line endings and indents do not either. Pure. */
import type { ReplacedText } from "../read/edit-diff.ts"

/**
 * `introduced`: it is new. `written`: the whole file was written with it, and nobody says what was there before.
 * `kept`: it stands on both sides. `removed`: only before. `absent`: the whole file was written without it.
 */
export type LineEffect = "introduced" | "written" | "kept" | "removed" | "absent"

/** Two lines with the same are the same line. */
export const lineKey = (line: string): string => line.replace(/\s+/g, "")

/** Of a replaced text what matters for the lines that are sought, so that each costs no search in all of it. */
export interface EditedText {
  /** Keys of sought lines; undefined: nobody says what was there before. */
  readonly before: ReadonlySet<string> | undefined
  readonly after: ReadonlySet<string>
  /** Keys of its first and last line, which may be pieces of lines; undefined if both were there before. */
  readonly ends: readonly [first: string, last: string] | undefined
  readonly isOneLine: boolean
}

/** @param sought keys of lines */
export function editedText({ before, after }: ReplacedText, sought: ReadonlySet<string>): EditedText {
  const keys = after.split("\n").map(lineKey)
  const ends = [keys[0]!, keys.at(-1)!] as const
  const former = before === undefined ? undefined : lineKey(before)
  return {
    before: before === undefined ? undefined : new Set(before.split("\n").map(lineKey)).intersection(sought),
    after: new Set(keys).intersection(sought),
    ends: former === undefined || ends.every((piece) => former.includes(piece)) ? undefined : ends,
    isOneLine: keys.length === 1,
  }
}

/** @returns undefined if the edit does not touch the line with this key */
export function effectOn(texts: readonly EditedText[], key: string): LineEffect | undefined {
  const effects = texts.map(({ before, after }): LineEffect | undefined => {
    const isAfter = after.has(key)
    if (before === undefined) return isAfter ? "written" : "absent"
    const isBefore = before.has(key)
    if (isAfter) return isBefore ? "kept" : "introduced"
    return isBefore ? "removed" : undefined
  })
  return ORDER.find((effect) => effects.includes(effect))
}

/** Which effect counts when a call has several edits. */
const ORDER: readonly LineEffect[] = ["introduced", "written", "removed", "kept", "absent"]

/** Shorter pieces of a line are in too many lines. */
const SHORTEST_PIECE = 4

/** Whether an edit put a piece into the line with this key: replaced texts may begin and end within a line. */
export const changedWithin = (texts: readonly EditedText[], key: string): boolean =>
  texts.some(({ ends, isOneLine }) => {
    if (ends === undefined) return false
    const [first, last] = ends
    return isOneLine
      ? isTelling(first) && key.includes(first)
      : (isTelling(first) && key.endsWith(first)) || (isTelling(last) && key.startsWith(last))
  })

const isTelling = (piece: string): boolean => piece.length >= SHORTEST_PIECE && /\p{L}{2}/u.test(piece)

/** A line that is blank, or only punctuation, or a word that ends a block: it stands everywhere. */
export const isCommonLine = (line: string): boolean =>
  !/[\p{L}\p{N}]{2}/u.test(line) ||
  /^\s*\W*(?:else|try|end|return|break|continue|pass|do|done|then|fi|finally)\b[^\p{L}]*$/u.test(line)
