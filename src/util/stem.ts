/**
 * Reduces an English word to a stem, so that "caches", "cached" and "caching" match. A few rules remove the endings of
 * verbs and plurals, in the manner of Porter's first steps; the result need not be a word. Pure.
 */

const VOWELS = "aeiouy"
const DOUBLING = "bcdfgmnprt"

/** @param word in lower case */
export function stem(word: string): string {
  if (word.length < 4 || word.length > 24 || !isPlain(word)) return word
  return ending(tense(plural(word)))
}

/**
 * Whether it has only ASCII letters: identifiers with digits and other scripts are left alone. No regular expression,
 * because a search would have to compile it.
 */
function isPlain(word: string): boolean {
  for (let n = 0; n < word.length; n++) {
    const unit = word.charCodeAt(n)
    if (unit < 0x61 || unit > 0x7a) return false
  }
  return true
}

function plural(word: string): string {
  if (!word.endsWith("s")) return word
  if (word.endsWith("sses")) return word.slice(0, -2)
  if (word.endsWith("ies")) return word.length > 4 ? `${word.slice(0, -3)}y` : word.slice(0, -1)
  if (word.endsWith("ss") || word.endsWith("us") || word.endsWith("is")) return word
  return word.slice(0, -1)
}

function tense(word: string): string {
  const length = word.endsWith("ing") ? 3 : word.endsWith("ed") ? 2 : 0
  if (length === 0) return word
  const rest = word.slice(0, -length)
  if (rest.length < 3 || !hasVowel(rest)) return word
  const last = rest.at(-1)!
  return last === rest.at(-2) && DOUBLING.includes(last) ? rest.slice(0, -1) : rest
}

function hasVowel(word: string): boolean {
  for (let n = 0; n < word.length; n++) if (VOWELS.includes(word[n]!)) return true
  return false
}

function ending(word: string): string {
  let rest = word
  if (rest.length > 5 && rest.endsWith("ly")) rest = rest.slice(0, -2)
  else if (rest.length > 5 && (rest.endsWith("sion") || rest.endsWith("tion"))) rest = rest.slice(0, -3)
  if (rest.length > 3 && rest.endsWith("e")) return rest.slice(0, -1)
  if (rest.length > 3 && rest.endsWith("y") && !VOWELS.includes(rest.at(-2)!)) return `${rest.slice(0, -1)}i`
  return rest
}

/** What may follow the beginning of a word up to its end, as far as stems depend on it. */
const ENDINGS = ["", "e", "d", "ed", "s", "es", "y", "ly", "n", "on", "ion", "g", "ng", "ing"]

/** Stems that words beginning with `prefix` may have, but that do not begin with it: `cach` for `cachi`. */
export const shorterStems = (prefix: string): string[] =>
  [...new Set(ENDINGS.map((rest) => stem(prefix + rest)))].filter((one) => !one.startsWith(prefix))
