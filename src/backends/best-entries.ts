/** Chooses among entries that are read one by one, for backends that have no index of their own. Pure. */
import { wordSet } from "../util/words.ts"
import type { EntryQuery, FoundEntry } from "./backend.ts"
import type { Entry } from "./entry.ts"
import { filterFor } from "./entry-filter.ts"

/** The best first. Holds no more than twice as many as are wanted, since each may come with a long content. */
export function bestEntries(entries: Iterable<Entry>, query: EntryQuery): FoundEntry[] {
  const passes = filterFor(query)
  const rate = raterOf(query)
  const { limit, withContent } = query
  let found: FoundEntry[] = []
  for (const entry of entries) {
    const { id, key, summary, content, metadata } = entry
    const score = passes(metadata) ? rate(entry) : undefined
    if (score === undefined) continue
    found.push({ id, key, summary, metadata, score, ...(withContent && { content }) })
    if (found.length > 2 * limit) found = found.sort(byScore).slice(0, limit)
  }
  return found.sort(byScore).slice(0, limit)
}

/** Gives an entry's score; undefined if it is not wanted. */
function raterOf(query: EntryQuery): (entry: Entry) => number | undefined {
  if ("words" in query) {
    const wanted = [...wordSet(query.words)]
    if (wanted.length === 0) return () => 0
    const needles = needlesOf(wanted)
    return ({ content, summary }) => {
      const isThere = (needle: RegExp): boolean => needle.test(content)
      const mayHave = query.isAny ? needles.some(isThere) || needles.length === 0 : needles.every(isThere)
      if (!mayHave && !OTHER_LETTERS.test(content)) return undefined
      const words = wordSet(content)
      const has = wanted.reduce((sum, word) => sum + Number(words.has(word)), 0)
      if (has < (query.isAny ? 1 : wanted.length)) return undefined
      const prominent = wordSet(summary)
      // What the summary says is what the turn is about; in a long text, a word is found by chance.
      const said = wanted.filter((word) => prominent.has(word)).length + 1 / Math.log2(2 + words.size)
      return query.isAny ? has + said / (2 + wanted.length) : said
    }
  }
  const { embedder, values } = query.vector
  return ({ vector }) =>
    vector?.embedder === embedder && vector.values.length === values.length
      ? values.reduce((sum, value, n) => sum + value * vector.values[n]!, 0)
      : undefined
}

/** With an accent, a word is written otherwise than it is found. */
const OTHER_LETTERS = /[^\P{L}A-Za-z]|\p{M}/u

/**
 * Patterns that occur in every text of plain letters that has the words: much cheaper than to split all texts into words.
 * Not of compound names, whose parts need not stand together.
 */
const needlesOf = (wanted: readonly string[]): RegExp[] =>
  wanted
    .filter((word) => /^[a-z0-9]+$/.test(word))
    .filter((word) => !wanted.some((part) => part !== word && word.startsWith(part.slice(0, -1))))
    // The stemmer may have turned a final `y` into `i`.
    .map((word) => new RegExp(word.replace(/i$/, "[iy]"), "i"))

/** Equal scores: the newest first. */
const byScore = (a: FoundEntry, b: FoundEntry): number =>
  b.score - a.score ||
  (b.metadata.timestamp ?? "").localeCompare(a.metadata.timestamp ?? "") ||
  (a.id < b.id ? -1 : 1)
