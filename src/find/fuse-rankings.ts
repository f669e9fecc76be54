/** Merges rankings of turns by their ranks (reciprocal rank fusion). Pure. */
import type { Ranked } from "./rank.ts"

export interface Similar {
  readonly turn: number
  /** The message that matched; undefined: the turn as a whole. */
  readonly message?: number | undefined
  readonly score: number
}

const K = 60

/** What a place in one ranking is worth, from 0. */
export const scoreOfPlace = (place: number): number => 1 / (K + place)

/** @param similar best first */
export function fuse(lexical: readonly Ranked[], similar: readonly Similar[]): Ranked[] {
  const turns = new Map<number, Ranked>()
  for (const [place, one] of lexical.entries()) turns.set(one.turn, { ...one, score: scoreOfPlace(place) })
  for (const [place, { turn, message }] of similar.entries()) {
    const known = turns.get(turn)
    const score = (known?.score ?? 0) + scoreOfPlace(place)
    turns.set(turn, { turn, message: known?.message ?? message, score })
  }
  return [...turns.values()].sort((a, b) => b.score - a.score)
}

/**
 * The same for anything that has a name. What several rankings have is taken from the first of them.
 *
 * @param rankings each best first
 */
export function fuseNamed<T extends { readonly score: number }>(
  rankings: readonly (readonly T[])[],
  nameOf: (one: T) => string,
): T[] {
  const all = new Map<string, T>()
  for (const ranking of rankings) {
    for (const [place, one] of ranking.entries()) {
      const known = all.get(nameOf(one))
      const score = (known?.score ?? 0) + scoreOfPlace(place)
      all.set(nameOf(one), { ...(known ?? one), score })
    }
  }
  return [...all.values()].sort((a, b) => b.score - a.score)
}
