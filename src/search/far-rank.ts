/** Orders entries from elsewhere by their text: backends only say which ones have the words. Pure. */
import { densest, placesIn, type Sought } from "./snippet.ts"

/** UTF-16 units within which words count as said together. */
const TOGETHER = 600
/** What a word counts that is elsewhere in the turn. */
const APART = 0.3

export interface RankedEntry<T> {
  readonly entry: T
  readonly score: number
  /** The share of the words, by weight, that it has. */
  readonly share: number
}

/** Best first; equal ones stay as they came. */
export function rankEntries<T extends { readonly content?: string }>(
  entries: readonly T[],
  sought: Sought,
): RankedEntry<T>[] {
  const weights = [...sought.words.values()]
  const all = weights.reduce((sum, weight) => sum + weight, 0)
  return entries
    .map((entry) => {
      const places = placesIn(entry.content ?? "", sought)
      const bits = places.reduce((seen, { words }) => seen | words, 0)
      const has = weights.reduce((sum, weight, n) => ((bits >>> n) & 1 ? sum + weight : sum), 0)
      const score = densest(places, TOGETHER).weight + APART * has
      return { entry, score, share: all === 0 ? 1 : has / all }
    })
    .sort((a, b) => b.score - a.score)
}
