/**
 * Observations that have a query's words: a model's, so they are listed apart and take no hit's place. Few rows with
 * their own index, so SQLite ranks them.
 */

import { wordSet } from "../base/words.ts"
import type { Database } from "../views/database.ts"
import { hasObservations, type Observation, observationsWith } from "../views/queries/summaries.ts"
import { anyOf, hasWord, wordExpression } from "./fts-expression.ts"
import type { Narrowing } from "./narrowing.ts"
import { isFiller, parseQuery } from "./parse-query.ts"

/** How many are listed, and among how many they are chosen. */
const MOST = 3
const LOOKED_AT = 30
/** Share of the query's words that one must have. */
const ENOUGH = 0.5

/** Best first. None where the filters say what a message must be, which these are not. */
export function observationsFor(db: Database, query: string, narrowing: Narrowing): Observation[] {
  const { project, session, since, until, role, tool, file, error } = narrowing
  if (role !== undefined || tool !== undefined || file !== undefined || error === true) return []
  const { terms, isStrict } = parseQuery(query)
  const told = terms.filter(({ typed }) => !isFiller(typed.toLowerCase()))
  // Who writes operators wants just that, and here nobody checks them.
  if (isStrict || told.length === 0 || !hasObservations(db)) return []
  const words = anyOf(told.map(({ word, isPrefix }) => wordExpression(word, isPrefix)))
  const share = (one: Observation): number => {
    const own = wordsOf(one)
    return told.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix)).length / told.length
  }
  return observationsWith(db, { words, project, session, since, until, most: LOOKED_AT })
    .map((one) => ({ one, share: share(one) }))
    .filter(({ share }) => share >= ENOUGH)
    .sort((a, b) => b.share - a.share)
    .slice(0, MOST)
    .map(({ one }) => one)
}

const wordsOf = ({ title, narrative, facts, files }: Observation): ReadonlySet<string> =>
  wordSet([title, narrative, ...facts, ...files].join("\n"))
