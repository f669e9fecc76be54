/** Filters that are typed in the query, `since:7d` and the like, apart from what is searched for. Pure. */
import { momentOf } from "../../util/parse-moment.ts"

/** What the search's own parser knows, `role:` and `tool:`, stays in `words`. */
export interface TypedQuery {
  readonly words: string
  /** A project's name or path as it was typed. */
  readonly project?: string
  /** A session's id, or its beginning. */
  readonly session?: string
  readonly file?: string
  /** ISO 8601 in UTC. */
  readonly since?: string
  readonly until?: string
  readonly error?: boolean
  /** A filter whose value means nothing, as it was typed. */
  readonly misread?: string
}

const FILTER = /(?<!\S)(project|session|file|since|until|errors?):(\S*)/gi

/** @param now ms since the epoch */
export function typedQuery(text: string, now: number): TypedQuery {
  const found: { -readonly [Name in keyof TypedQuery]: TypedQuery[Name] } = { words: "" }
  found.words = text.replace(FILTER, (typed: string, name: string, value: string) => {
    const filter = name.toLowerCase()
    if (filter.startsWith("error")) found.error = true
    // It is being typed.
    else if (value === "") return ""
    else if (filter === "since" || filter === "until") {
      const moment = momentOf(value, now)
      if (moment === undefined) found.misread = typed
      else found[filter] = moment
    } else found[filter as "project" | "session" | "file"] = value
    return ""
  })
  return found
}

/** Letters of a word's beginning that are enough to look for all words that begin so. */
const ENOUGH = 3
/** A word that may go on: neither a phrase's, nor an operator, nor one with a role or tool. */
const UNFINISHED = /(?:^|[\s(])(?!(?:AND|OR|NOT)$)[^\s():*"]*?[\p{L}\p{N}]+$/u
const END = /[\p{L}\p{N}]+$/u

/**
 * The query while its last word is being typed: that word stands for all that begin so. One of fewer letters would stand
 * for a tenth of the archive, so it is searched as it is.
 *
 * @returns `short`: the query without that last word, if it was too short
 */
export function whileTyping(words: string): { query: string; short?: string } {
  const end = END.exec(words)?.[0]
  if (end === undefined || words.split('"').length % 2 === 0 || !UNFINISHED.test(words))
    return { query: words }
  if ([...end].length >= ENOUGH) return { query: `${words}*` }
  return { query: words, short: words.replace(/\S+$/, "") }
}
