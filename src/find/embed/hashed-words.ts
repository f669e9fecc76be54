/**
 * Makes vectors without a model: each word, and each fragment of a word, adds to a component chosen by its hash. Texts
 * that share words or fragments come close; meaning plays no part. The same text gives the same vector on every
 * machine. Pure.
 */
import { toLengthOne } from "./quantise.ts"

/** Identifies this method: change it whenever anything below changes. */
export const HASHED_ID = "hashed-ngrams-1"
export const HASHED_DIMENSION = 384

/** Letters in a fragment, and its weight relative to a word. */
const PIECE = 4
const PIECE_WEIGHT = 0.4
const EMPTY = new Set(
  `a about after all also am an and any are as at be been before being but by can could did do does for from get go got
   had has have he her him his how i if in into is it its just know like me more most my no not now of off oh ok on one
   only or other our out over really said say she should so some such than that the their them then there they this to
   too up us very want was we well were what when where which who why will with would yeah yes you your`.split(
    /\s+/,
  ),
)

/** Of length 1, or all zeros for a text without words. */
export function hashedVector(text: string): Float32Array {
  const sum = new Float32Array(HASHED_DIMENSION)
  const weights = new Map<string, number>()
  const add = (feature: string, weight: number): void => {
    weights.set(feature, (weights.get(feature) ?? 0) + weight)
  }
  for (const word of wordsOf(text)) {
    if (EMPTY.has(word)) continue
    add(`w${word}`, 1)
    const framed = `^${word}$`
    for (let at = 0; at + PIECE <= framed.length; at++) add(`n${framed.slice(at, at + PIECE)}`, PIECE_WEIGHT)
  }
  for (const [feature, weight] of weights) {
    const hash = Bun.hash.xxHash64(feature, 0n)
    const place = Number(hash % BigInt(HASHED_DIMENSION))
    // With signs, features that share a component tend to cancel out instead of adding up; the square root limits the
    // effect of repetition.
    sum[place]! += (hash >> 63n === 0n ? 1 : -1) * Math.sqrt(weight)
  }
  return toLengthOne(sum)
}

/** Words in lower case; `camelCase` and `snake_case` are split in two. */
const wordsOf = (text: string): string[] =>
  text
    .normalize("NFKC")
    .replace(/(\p{Ll}|\d)(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []
