/**
 * Observations that have a query's words: a model's, so they are listed apart and take no hit's place, or alone, if
 * those of a type are asked for. Few rows with their own index, so SQLite ranks them.
 */

import { wordSet } from "../base/words.ts"
import { OBSERVATION_TYPES, type ObservationType } from "../record/model-summary.ts"
import type { Database } from "../views/database.ts"
import {
  hasObservations,
  type Observation,
  observationsOfType,
  observationsWith,
} from "../views/queries/summaries.ts"
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
  const { project, session, since, until, role, tool, file, error, program } = narrowing
  if (
    role !== undefined ||
    tool !== undefined ||
    file !== undefined ||
    error === true ||
    program !== undefined
  )
    return []
  // Who writes operators wants just that, and here nobody checks them.
  if (parseQuery(query).isStrict || !hasObservations(db)) return []
  return withWords(db, wordsTold(query), { project, session, since, until, most: LOOKED_AT }).slice(0, MOST)
}

const FIELD = new RegExp(String.raw`(?:^|\s)type:(${OBSERVATION_TYPES.join("|")})(?=\s|$)`, "i")

/**
 * Of the type that was chosen, or that the query names (`type:bugfix`), with the other words of the query: the best
 * first, or without words the newest.
 *
 * @returns undefined if none is asked for, or only the query names one and there is none: then it is about its words
 */
export function observationsAlone(
  db: Database,
  query: string,
  { project, session, since, until }: Narrowing,
  { type, most }: { readonly type: ObservationType | undefined; readonly most: number },
): Observation[] | undefined {
  const named = FIELD.exec(query)?.[1]?.toLowerCase()
  const wanted = type ?? OBSERVATION_TYPES.find((one) => one === named)
  if (!hasObservations(db)) return type && []
  if (wanted === undefined) return undefined
  const told = wordsTold(query.replace(FIELD, " "))
  const narrowed = { project, session, since, until, type: wanted }
  const found =
    told.length === 0
      ? observationsOfType(db, { ...narrowed, most })
      : withWords(db, told, { ...narrowed, most: Math.max(LOOKED_AT, most) }).slice(0, most)
  return found.length === 0 && type === undefined ? undefined : found
}

type Term = ReturnType<typeof parseQuery>["terms"][number]

const wordsTold = (query: string): Term[] =>
  parseQuery(query).terms.filter(({ typed }) => !isFiller(typed.toLowerCase()))

function withWords(
  db: Database,
  told: readonly Term[],
  wanted: Parameters<typeof observationsWith>[2],
): Observation[] {
  if (told.length === 0) return []
  const words = anyOf(told.map(({ word, isPrefix }) => wordExpression(word, isPrefix)))
  const share = (one: Observation): number => {
    const own = wordsOf(one)
    return told.filter(({ word, isPrefix }) => hasWord(own, word, isPrefix)).length / told.length
  }
  return observationsWith(db, words, wanted)
    .map((one) => ({ one, share: share(one) }))
    .filter(({ share }) => share >= ENOUGH)
    .sort((a, b) => b.share - a.share)
    .map(({ one }) => one)
}

const wordsOf = ({ title, narrative, facts, files }: Observation): ReadonlySet<string> =>
  wordSet([title, narrative, ...facts, ...files].join("\n"))
