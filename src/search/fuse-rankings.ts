/** Merges two rankings of turns by their ranks (reciprocal rank fusion). Pure. */
import type { Ranked } from "./rank.ts"

export interface Similar {
  readonly turn: number
  /** The message that matched; undefined: the turn as a whole. */
  readonly message?: number | undefined
  readonly score: number
}

const K = 60

/** @param similar best first */
export function fuse(lexical: readonly Ranked[], similar: readonly Similar[]): Ranked[] {
  const turns = new Map<number, Ranked>()
  for (const [place, one] of lexical.entries()) turns.set(one.turn, { ...one, score: 1 / (K + place) })
  for (const [place, { turn, message }] of similar.entries()) {
    const known = turns.get(turn)
    const score = (known?.score ?? 0) + 1 / (K + place)
    turns.set(turn, { turn, message: known?.message ?? message, score })
  }
  return [...turns.values()].sort((a, b) => b.score - a.score)
}
