/**
 * Vectors without a model: each word, pair of words and piece of a word adds to a place that its hash names. Texts that
 * share words, or parts of words, come close; meaning plays no part. The same text gives the same vector everywhere.
 * Pure.
 */

import { toLengthOne } from "./quantise.ts"

/** Names this way of making them: change it with anything below. */
export const HASHED_ID = "hashed-ngrams-1"
export const HASHED_DIMENSION = 384

/** Letters of a piece of a word. */
const PIECE = 4
/** What a piece and a pair weigh against a word. */
const PIECE_WEIGHT = 0.35
const PAIR_WEIGHT = 0.5
/** Said in nearly every text. */
const EMPTY = new Set(
  "a an and are as at be but by can did do does for from had has have he her his how i if in is it its me my not of on or our she so than that the their them then there they this to was we were what when where which who why will with you your".split(
    " ",
  ),
)

/** Length 1, or all zero where a text has no words. */
export function hashedVector(text: string): Float32Array {
  const sum = new Float32Array(HASHED_DIMENSION)
  const weights = new Map<string, number>()
  const add = (feature: string, weight: number): void => {
    weights.set(feature, (weights.get(feature) ?? 0) + weight)
  }
  let before: string | undefined
  for (const word of wordsOf(text)) {
    if (EMPTY.has(word)) {
      before = undefined
      continue
    }
    add(`w${word}`, 1)
    if (before !== undefined) add(`p${before} ${word}`, PAIR_WEIGHT)
    const framed = `^${word}$`
    for (let at = 0; at + PIECE <= framed.length; at++) add(`n${framed.slice(at, at + PIECE)}`, PIECE_WEIGHT)
    before = word
  }
  for (const [feature, weight] of weights) {
    const hash = Bun.hash.xxHash64(feature, 0n)
    const place = Number(hash % BigInt(HASHED_DIMENSION))
    // Signs let what meets in one place cancel out instead of adding up; the root keeps repetition from ruling.
    sum[place]! += (hash >> 63n === 0n ? 1 : -1) * Math.sqrt(weight)
  }
  return toLengthOne(sum)
}

/** Words in small letters; `camelCase` and `snake_case` are two each. */
const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKC")
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []
