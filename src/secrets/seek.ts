/** Where the fixed sequences of characters stand that the filter looks for. Pure. */
import { wordGate } from "./introductions.ts"

export interface SequencePlaces {
  /** Where each occurrence of the sequence begins, in order. Sequences are those of the lists that sweep.ts names. */
  places(sequence: string): readonly number[]
  /** Calls `examine` with start and end of each match of the gate for words; it returns where to look for the next. */
  eachWord(examine: (start: number, end: number) => number): void
}

/** @param bytes what `text` was made from, one character per byte */
export type Seek = (bytes: Buffer, text: string) => SequencePlaces

/**
 * @param isValue whether it is a password, key or token by itself, in plain text, rather than something that holds or
 * surrounds one
 */
export type AddSpan = (start: number, end: number, isValue?: boolean) => void

/** What separates the sequences of a list. */
export const BETWEEN = "|"

/**
 * Calls `use` with each sequence of a list, which is one string: the engine would take a block of 16 kB for arrays of
 * each length (docs/adr/0013).
 */
export function eachIn(list: string, use: (sequence: string) => void): void {
  for (let from = 0; from < list.length; ) {
    const end = list.indexOf(BETWEEN, from)
    const to = end < 0 ? list.length : end
    use(list.slice(from, to))
    from = to + 1
  }
}

const NONE: readonly number[] = []
let gate: RegExp | undefined

/** Looks for each sequence by itself, which needs no preparation. Searching bytes is five times as fast as text. */
export const seekEach: Seek = (bytes, text) => ({
  places(sequence) {
    let at = bytes.indexOf(sequence, 0, "latin1")
    if (at < 0) return NONE
    const found: number[] = []
    for (; at >= 0; at = bytes.indexOf(sequence, at + 1, "latin1")) found.push(at)
    return found
  },
  eachWord(examine) {
    gate ??= wordGate()
    gate.lastIndex = 0
    for (let match = gate.exec(text); match !== null; match = gate.exec(text))
      gate.lastIndex = examine(match.index, gate.lastIndex)
  },
})
