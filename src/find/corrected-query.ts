/** Corrects words of a query that nobody has ever written, by the nearest words of the index. */

import { distance } from "../base/text.ts"
import { stem } from "../base/words.ts"
import type { Database } from "../views/database.ts"
import { type IndexedWord, newestMatches, wordsThatBegin } from "../views/queries/word-matches.ts"
import { allOf, wordExpression } from "./fts-expression.ts"
import type { MessageTexts } from "./message-text.ts"
import type { Filter } from "./narrowing.ts"
import type { Query, Term } from "./parse-query.ts"

export interface Correction {
  /** As it was typed. */
  readonly typed: string
  /** What was searched for instead. */
  readonly word: string
}

export interface CorrectedQuery {
  readonly text: string
  readonly corrections: readonly Correction[]
}

/** What to tell whoever reads hits that do not have all that was asked for. */
export const LOOSE_NOTE = "no exact match; these have some of the words"

/** The same of an id, a version or a path of which they only have parts. */
export function partialNote(partial: readonly string[] | undefined): string | undefined {
  if (partial === undefined || partial.length === 0) return undefined
  const names = partial.map((name) => `“${name}”`).join(" or ")
  return `No message has ${names} as a whole; these have parts of it.`
}

/** What to tell whoever reads the hits. */
export function correctionNote(corrections: readonly Correction[] | undefined): string | undefined {
  if (corrections === undefined) return undefined
  const all = (words: readonly string[]): string => words.map((word) => `“${word}”`).join(", ")
  const typed = all(corrections.map((one) => one.typed))
  return `No match for ${typed}. Showing results for ${all(corrections.map(({ word }) => word))}.`
}

/** Shorter words are near to too many others. */
const SHORTEST = 5
/** Letters that may be wrong: one, or two from this length on. */
const LONG = 8
/** Most words of a query that are corrected. */
const MOST = 3
/** ms for all words of a query. A list of words that takes longer is not read to its end. */
const PATIENCE = 25
/** Words after which the clock is looked at. */
const CHECKED = 64
/** Only the nearest are tried against the search's filter. */
const TRIED = 5

/**
 * @param missing terms that no message has which passes the filter
 * @returns undefined if there is nothing to correct, or nothing near enough
 */
export function correctedQuery(
  db: Database,
  { text }: Query,
  missing: readonly Term[],
  filter: Filter,
  texts: MessageTexts,
): CorrectedQuery | undefined {
  const deadline = performance.now() + PATIENCE
  const unquoted = text.replace(/"[^"]*"/g, (phrase) => " ".repeat(phrase.length))
  const corrections: Correction[] = []
  let corrected = text
  for (const { typed, word } of missing) {
    const plain = typed.toLowerCase()
    // Names of several parts, figures and phrases are meant as they are.
    if (stem(plain) !== word || word.length < SHORTEST || !/^[a-z]+$/.test(plain)) continue
    const place = new RegExp(`(?<![\\p{L}\\p{N}_.-])${typed}(?![\\p{L}\\p{N}_*.:-])`, "u")
    const at = unquoted.search(place)
    if (at < 0 || newestMatches(db, wordExpression(word), undefined, 1).length > 0) continue
    const better = nearestWord(db, word, filter, deadline)
    if (better === undefined) continue
    const shown = asWritten(texts, better, endedAs(plain, word, better.term))
    corrections.push({ typed, word: shown })
    corrected = corrected.replace(place, shown)
    if (corrections.length >= MOST) break
  }
  return corrections.length === 0 ? undefined : { text: corrected, corrections }
}

interface NearWord {
  readonly term: string
  /** A message that has it. */
  readonly message: number
}

/** The indexed word that is nearest, the most frequent among equals. */
function nearestWord(db: Database, word: string, filter: Filter, deadline: number): NearWord | undefined {
  const furthest = word.length < LONG ? 1 : 2
  const found = new Map<string, IndexedWord & { readonly far: number }>()
  let least = furthest + 1
  let n = 0
  for (const beginning of beginningsOf(word)) {
    for (const one of wordsThatBegin(db, beginning, [word.length - furthest, word.length + furthest])) {
      const far = /^[a-z]+$/.test(one.term) ? distance(word, one.term) : furthest + 1
      // Only what stays the same when it is looked up can be searched for.
      if (far <= furthest && stem(one.term) === one.term) found.set(one.term, { ...one, far })
      if (found.has(one.term)) least = Math.min(least, far)
      if (++n % CHECKED === 0 && performance.now() > deadline) break
    }
    if (least === 1 || performance.now() > deadline) break
  }
  const best = [...found.values()].sort((a, b) => a.far - b.far || b.messages - a.messages)
  for (const { term } of best.slice(0, TRIED)) {
    const expression = allOf([wordExpression(term), filter.expression])
    const [message] = newestMatches(db, expression, filter.condition, 1)
    if (message !== undefined) return { term, message }
  }
  return undefined
}

/** Most typos are behind the second letter, or swap the first two; hardly any is in the first letter alone. */
const beginningsOf = (word: string): string[] => [word.slice(0, 2), `${word[1]}${word[0]}`, word[0]!]

/** The index has stems. A word of this stem: the one given if the message has it, else another that it has. */
function asWritten(texts: MessageTexts, { term, message }: NearWord, likely: string): string {
  const forms = (texts.of(message)?.text ?? "").toLowerCase().match(/[a-z]+/g) ?? []
  const own = forms.filter((form) => stem(form) === term)
  return own.includes(likely) ? likely : (own[0] ?? likely)
}

/** With the ending as it was typed. */
function endedAs(typed: string, word: string, term: string): string {
  const whole = typed.startsWith(word) ? term + typed.slice(word.length) : term
  return stem(whole) === term ? whole : term
}
