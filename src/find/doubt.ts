/**
 * Whether what was found may not be what was asked for: because nobody has said one of a few words, or because no hit
 * has most of many. In a sentence, some of the words are always others than were said.
 */

import { stem } from "../base/words.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { newestMatches } from "../views/queries/word-matches.ts"
import { namesAsked } from "./candidates.ts"
import { allOf, wordExpression } from "./fts-expression.ts"
import { MessageTexts } from "./message-text.ts"
import { filterOf, type Narrowing } from "./narrowing.ts"
import { isStopWord, parseQuery, type Term } from "./parse-query.ts"
import type { FoundTurns } from "./search-turns.ts"
import { wholeNamesIn } from "./whole-matches.ts"

export interface Doubt {
  /** Words that no message has, as they were typed, in lower case. */
  readonly unsaid: readonly string[]
  /** Words that the hit with the most of them lacks, those included. */
  readonly lacking: readonly string[]
  /** Numbers that no hit has near the other words, if that is the doubt. */
  readonly apart?: readonly string[]
}

/** Up to so many words, each counts: of a line of words, and of a sentence. How they were chosen: docs/measurements. */
const FEW = 5
const FEW_OF_SENTENCE = 4
/** The share of the words that may lack, up to so many words and of more. */
const LACKING = 0.5
const LINE = 5
const LACKING_OF_MANY = 2 / 3

/**
 * @param asked how many words were asked for
 * @param isSentence whether others, which say nothing by themselves, are among them
 */
export const isDoubtful = ({ unsaid, lacking }: Doubt, asked: number, isSentence: boolean): boolean =>
  (unsaid.length > 0 && asked <= (isSentence ? FEW_OF_SENTENCE : FEW)) ||
  lacking.length > asked * (asked <= LINE ? LACKING : LACKING_OF_MANY)

/** Hits that may have the words, and those whose messages are read for words that the index has in other forms. */
const LOOKED_AT = 10
const READ = 5

interface Place {
  readonly db: Database
  readonly dataHome: string
  readonly readers: CopyReaders
}

/** @returns undefined if there is nothing to doubt */
export function doubtOf(
  place: Place,
  found: FoundTurns,
  request: Narrowing & { readonly query: string },
): Doubt | undefined {
  const { ranked, words, isLoose } = found
  // What fulfils operators or has a phrase is what was asked for; what only has its words is doubted already.
  if (isLoose || ranked.length === 0 || parseQuery(request.query).must !== undefined) return undefined
  const isSentence = request.query
    .toLowerCase()
    .split(/[^\p{L}]+/u)
    .some(isStopWord)
  const doubt = lackOf(place, found, request)
  if (doubt !== undefined && isDoubtful(doubt, words.asked.length, isSentence)) return doubt
  const isFew = words.asked.length <= (isSentence ? FEW_OF_SENTENCE : FEW)
  const apart = isFew && words.asked.length > 1 ? numbersApart(place, found) : []
  return apart.length === 0 ? undefined : { unsaid: [], lacking: [], apart }
}

/** Those of one digit are everywhere. */
const NUMBER = /^\d{2,}$/

/** UTF-16 units between a number and a word that it may be of. */
const NEAR = 60

/**
 * A number says nothing without what it is of: "137" is said of lines, too, where an exit code was asked for. It need not be
 * near the other words in a message that has most of them.
 */
function numbersApart({ db, dataHome, readers }: Place, { hits, ranked, words }: FoundTurns): string[] {
  const { asked } = words
  const isAmong = (number: string): boolean =>
    hits.some(
      ({ by, why }) =>
        by === "phrase" ||
        by === "together" ||
        (why.includes(number) && why.length - 1 > (asked.length - 1) / 2),
    )
  const left = asked.filter((typed) => NUMBER.test(typed) && !isAmong(typed))
  if (left.length === 0) return []
  const texts = new MessageTexts(db, dataHome, readers)
  const messages = ranked.slice(0, Math.min(LOOKED_AT, hits.length)).flatMap(({ message }) => message ?? [])
  texts.load([], messages)
  const shown = messages.map((message) => texts.of(message)?.text.toLowerCase() ?? "")
  const others = asked.filter((typed) => !NUMBER.test(typed)).map((typed) => stem(typed))
  const isNear = (number: string): boolean =>
    shown.some((text) =>
      text.matchAll(new RegExp(`(?<!\\d)${number}(?!\\d)`, "g")).some(({ index }) => {
        const around = text.slice(Math.max(0, index - NEAR), index + NEAR)
        return others.some((word) => around.includes(word))
      }),
    )
  return left.filter((number) => !isNear(number))
}

function lackOf(
  { db, dataHome, readers }: Place,
  { hits, ranked, lackedBy, terms }: FoundTurns,
  request: Narrowing & { readonly query: string },
): Doubt | undefined {
  let nearest: readonly string[] | undefined
  for (const { turn } of ranked.slice(0, Math.min(LOOKED_AT, hits.length))) {
    const lacking = lackedBy(turn)
    if (nearest === undefined || lacking.length < nearest.length) nearest = lacking
    if (nearest.length === 0) return undefined
  }
  const texts = new MessageTexts(db, dataHome, readers)
  const first = ranked.slice(0, READ).flatMap(({ message }) => message ?? [])
  texts.load([], first)
  const shown = first.map((message) => texts.of(message)?.text.toLowerCase() ?? "")
  const known = new Set(terms.map(({ word }) => word))
  // Of these, `partial` says what no message has as a whole.
  const whole = new Set(wholeNamesIn(request.query).map(({ typed }) => typed.toLowerCase()))
  const filter = filterOf(db, request)
  const hasKin = ({ word }: Term): boolean => {
    const beginning = beginningOf(word)
    if (filter === undefined || beginning === undefined) return false
    const expression = allOf([wordExpression(beginning, true), filter.expression])
    return newestMatches(db, expression, filter.condition, 1).length > 0
  }
  const unsaid: string[] = []
  const lacking: string[] = []
  for (const typed of nearest!) {
    const missing = [...namesAsked(typed).values()].flat().filter(({ word }) => !known.has(word))
    if (missing.length === 0) lacking.push(typed)
    else if (!whole.has(typed) && !shown.some((text) => text.includes(typed)) && !missing.every(hasKin)) {
      unsaid.push(typed)
      lacking.push(typed)
    }
  }
  return { unsaid, lacking }
}

/** What a word shares with its other forms, whose endings only English words are without: two thirds of it, or half. */
function beginningOf(word: string): string | undefined {
  const share = /^[a-z]+$/.test(word) ? 2 / 3 : 1 / 2
  const length = Math.max(SHORTEST, Math.ceil(word.length * share))
  return /^\p{L}+$/u.test(word) && word.length > length ? word.slice(0, length) : undefined
}

const SHORTEST = 4

/** What to tell whoever reads the hits. */
export function doubtNote({ unsaid, lacking, apart }: Doubt): string {
  const named = (words: readonly string[], last: string): string => {
    const quoted = words.map((word) => `“${word}”`)
    return quoted.length < 2 ? quoted.join("") : `${quoted.slice(0, -1).join(", ")} ${last} ${quoted.at(-1)}`
  }
  if (apart !== undefined)
    return `No hit has ${named(apart, "or")} near the other words: these may not be about it.`
  return unsaid.length > 0
    ? `No message has ${named(unsaid, "or")}: these may not be about it.`
    : `No hit has most of the words: the nearest lacks ${named(lacking, "and")}.`
}
