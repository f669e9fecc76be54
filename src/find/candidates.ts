/**
 * Finds which messages contain which words of a query. Each word's list is walked newest first and only up to a limit,
 * so a common word costs no more in an archive of a million messages than in one of a hundred thousand. Phrases, and
 * everything else that the index cannot decide, are checked on the texts of the best and newest, and of no more of them
 * than a person would wait for.
 */

import type { Stretch } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { idsOfTurn, type MessagePlace, placesOf, population } from "../views/queries/messages.ts"
import { newestMatches } from "../views/queries/word-matches.ts"
import { allOf, anyOf, fulfils, wordExpression } from "./fts-expression.ts"
import type { MessageTexts } from "./message-text.ts"
import { type Filter, filterOf, type Narrowing } from "./narrowing.ts"
import { isFiller, type Node, parseQuery, partsAsked, type Term } from "./parse-query.ts"

/**
 * Rows read for all words together, and for a single one. Beyond its share, a common word is read only in messages that
 * also contain a rarer one.
 */
const ROWS = 16_000
const MOST_ROWS = 5000
/** Rows read when all candidates contain the same words: then the newest are the best. */
const ENOUGH_ALIKE = 1000
/** Bits in a message's mask. One remains for messages without any of the terms. */
const MOST_TERMS = 31
/** What a filler weighs, as a share of another word's weight. */
const FILLER = 0.6

export interface Weighted extends Term {
  /** How much it says about a message to contain this word: the logarithm of its rarity, less for fillers. */
  readonly weight: number
}

/**
 * One mask per message in the archive. As narrow as the terms allow: the system has to supply every page that is
 * touched.
 */
export type Masks = Uint8Array | Uint16Array | Uint32Array

export interface Candidates {
  readonly terms: readonly Weighted[]
  /** Bit n of a message's mask is set when the message has term n. */
  readonly masks: Masks
  readonly ids: readonly number[]
  /** About how many messages were searched. */
  readonly size: number
}

/**
 * @param filter what every message must match
 * @param population upper limit of the number of messages
 * @param given words that every message matching the filter contains
 * @param isOpen whether messages without any of the terms are candidates as well, after those that have some
 */
export function candidatesOf(
  db: Database,
  terms: readonly Term[],
  { expression: filter, condition }: Pick<Filter, "expression" | "condition">,
  population: number,
  given: ReadonlySet<string>,
  isOpen = false,
): Candidates {
  const rowsOf = (expression: string | undefined, limit: number, below?: number): number[] =>
    newestMatches(db, expression, condition, limit, below)
  const isNarrow = filter !== undefined || condition !== undefined
  if (terms.length === 0) return newest(rowsOf(filter, ROWS), population)
  const isGiven = ({ word, isPrefix }: Term): boolean => !isPrefix && given.has(word)
  const asked = terms.filter((term) => !isGiven(term)).length
  const isAlike = asked === 0 || terms.length === 1
  const share = isAlike ? ENOUGH_ALIKE : Math.min(MOST_ROWS, Math.max(1000, Math.floor(ROWS / asked)))
  const all = isNarrow ? rowsOf(filter, share) : undefined
  const size = all === undefined ? population : estimate(all, share, population)
  const lists = terms
    .map((term) => {
      const expression = wordExpression(term.word, term.isPrefix)
      const rows = all !== undefined && isGiven(term) ? all : rowsOf(allOf([expression, filter]), share)
      return { term, expression, rows, count: estimate(rows, share, population) }
    })
    .filter(({ rows }) => rows.length > 0)
    .sort((a, b) => a.count - b.count)
    .slice(0, MOST_TERMS)
  const masks = masksFor(population, lists.length + (isOpen ? 1 : 0))
  const ids: number[] = []
  let givenBits = 0
  for (const [n, { term }] of lists.entries()) if (isGiven(term)) givenBits |= 2 ** n
  // Plain loops here and in rank.ts: this runs once in the life of a process, before the engine has compiled any of it.
  const add = (rows: readonly number[], bit: number): void => {
    let n = 0
    // Skip what was written after the population was counted.
    while (rows[n]! > population) n++
    for (; n < rows.length; n++) {
      const id = rows[n]!
      const mask = masks[id]!
      if (mask === 0) ids[ids.length] = id
      masks[id] = mask | bit
    }
  }
  for (const [n, { rows }] of lists.entries()) add(rows, givenBits | (2 ** n))
  if (isOpen) add(all ?? rowsOf(filter, share), 2 ** lists.length)
  const rare = lists.filter(({ rows }) => rows.length < share).map(({ expression }) => expression)
  for (const [n, { expression, rows, term }] of lists.entries()) {
    if (rows.length < share || rare.length === 0 || isGiven(term)) continue
    // Only older messages: the newer ones are already counted.
    add(rowsOf(allOf([expression, anyOf(rare), filter]), share, rows.at(-1)!), givenBits | (2 ** n))
  }
  return {
    terms: lists.map(({ term, count }) => ({
      ...term,
      weight: weightOf(term, count, size),
    })),
    masks,
    ids,
    size,
  }
}

/** What a term weighs that so many of the messages have. */
export const weightOf = (term: Term, count: number, size: number): number =>
  sayingOf(term) * Math.log(1 + Math.max(0.5, size - count + 0.5) / (count + 0.5))

/** A word around the subject of a question is no better evidence because few messages have it. */
const sayingOf = ({ typed }: Term): number => (isFiller(typed.toLowerCase()) ? FILLER : 1)

function masksFor(population: number, terms: number): Masks {
  if (terms <= 8) return new Uint8Array(population + 1)
  return terms <= 16 ? new Uint16Array(population + 1) : new Uint32Array(population + 1)
}

/** Without terms there is nothing to rank by: all that the filter lets through is equal. */
function newest(ids: readonly number[], population: number): Candidates {
  const masks = masksFor(population, 1)
  for (const id of ids) masks[id] = 1
  return { terms: [], masks, ids, size: population }
}

/** Estimates how many rows there are from the newest of them. */
function estimate(rows: readonly number[], limit: number, population: number): number {
  if (rows.length < limit) return rows.length
  const span = population - rows.at(-1)! + 1
  return Math.round((rows.length / span) * population)
}

/**
 * About how many bytes of transcripts are unpacked for one search: once something has matched, and before reporting
 * that nothing does.
 */
const UNPACKED = 12 << 20
const UNPACKED_IN_VAIN = 64 << 20
/** How many frames are kept: sessions archived side by side alternate. */
const HELD = 4
/** This many matches are enough to rank. */
const ENOUGH = 30

const utf8 = new TextDecoder()

/**
 * The candidates that fulfil `must`, as far as they were checked. Unpacking is what costs: so the last frames are kept,
 * and equally good candidates come newest first, which keeps those of one transcript together. A line is decoded only
 * when it may match.
 *
 * @param candidates message ids, best first
 */
export function verified(
  db: Database,
  texts: MessageTexts,
  candidates: readonly number[],
  must: Node,
): number[] {
  const mayFulfil = lineMayFulfil(must)
  const kept: number[] = []
  const rows = placesOf(db, candidates)
  const places = new Map<number, MessagePlace>()
  for (let n = 0; n < rows.length; n++) places.set(rows[n]!.id, rows[n]!)
  const held = new Map<string, Stretch>()
  let unpacked = 0
  // For most candidates, nothing written in JavaScript is called: the engine would compile it.
  for (let n = 0; n < candidates.length; n++) {
    if (kept.length >= ENOUGH || unpacked >= (kept.length > 0 ? UNPACKED : UNPACKED_IN_VAIN)) break
    const id = candidates[n]!
    const place = places.get(id)
    if (place === undefined) continue
    const { copy, offset, length } = place
    try {
      let frame = held.get(copy)
      if (frame === undefined || offset < frame.from || offset >= frame.from + frame.content.length) {
        for (const [oldest] of held) {
          if (held.size < HELD) break
          texts.release(oldest)
          held.delete(oldest)
        }
        texts.release(copy)
        frame = texts.reader(copy).stretchAt(offset)
        if (frame === undefined) continue
        held.set(copy, frame)
        unpacked += frame.content.length
      }
      const start = offset - frame.from
      // A line that continues in the next frame is not checked here but once it is decoded.
      const isWhole = start + length <= frame.content.length
      if (isWhole && !mayFulfil(utf8.decode(frame.content.subarray(start, start + length)))) continue
      texts.load([place])
      const subject = texts.of(id)
      if (subject !== undefined && fulfils(must, subject)) kept.push(id)
    } catch {
      // A damaged or missing copy loses only its own texts; `verify` reports it.
    }
  }
  return kept
}

/* Tells from the raw line whether it may fulfil a requirement, because decoding it costs more. Pure. */

/**
 * True for every line that fulfils it, and for some that do not. A phrase matches within one text of a line, not across
 * two.
 */
export function lineMayFulfil(must: Node): (line: string) => boolean {
  switch (must.kind) {
    case "phrase": {
      const pattern = patternOf(must.text)
      return pattern === undefined ? () => true : (line) => pattern.test(line)
    }
    case "and": {
      const each = must.nodes.map(lineMayFulfil)
      return (line) => each.every((may) => may(line))
    }
    case "or": {
      const each = must.nodes.map(lineMayFulfil)
      return (line) => each.some((may) => may(line))
    }
    default:
      return () => true
  }
}

/** White space between words, raw or as JSON escapes it. */
const BETWEEN = "(?:\\s|\\\\[nrtf]|\\\\u[0-9a-fA-F]{4})+"

/** @returns undefined when the phrase has characters that JSON may escape in ways not covered here */
function patternOf(phrase: string): RegExp | undefined {
  if (!/^[\x20-\x7e]+$/.test(phrase)) return undefined
  return new RegExp(phrase.replace(/\W/g, written), "i")
}

/** How a character may be written in JSON. Some writers escape more than they must. */
function written(char: string): string {
  if (char === " ") return BETWEEN
  if (char === "\\") return "\\\\\\\\"
  return /["/<>&'=+`]/.test(char) ? `(?:\\\\?\\${char}|\\\\u00[0-9a-fA-F]{2})` : `\\${char}`
}

/** Whether a message has a word, as the index knows. */
export const hasTerm =
  ({ terms, masks }: Candidates, id: number) =>
  ({ word }: Term): boolean =>
    terms.some((one, n) => one.word === word && ((masks[id]! >>> n) & 1) === 1)

/** @returns undefined if nothing passes the filter */
export function candidatesIn(
  db: Database,
  terms: readonly Term[],
  narrowing: Narrowing,
): Candidates | undefined {
  const filter = filterOf(db, narrowing)
  return filter && candidatesOf(db, terms, filter, population(db), new Set())
}

/* How much of a query a turn covers. */

/** A term's place among those that were found; -1 if no message has it. */
export const placeAmong = (terms: readonly Term[], { word, isPrefix }: Term): number =>
  terms.findIndex((one) => one.word === word && one.isPrefix === isPrefix)

/** The words of a query as they were typed, in lower case, with the terms that together are one. */
export function namesAsked(text: string): Map<string, readonly Term[]> {
  const all = Map.groupBy(partsAsked(parseQuery(text)), ({ typed }) => typed.toLowerCase())
  const telling = new Map([...all].filter(([typed]) => !isFiller(typed)))
  return telling.size > 0 ? telling : all
}

/** @returns the words that the turn does not have, as they were typed, in lower case */
export function lackedBy(
  db: Database,
  turn: number,
  { terms, masks }: Candidates,
  asked: ReadonlyMap<string, readonly Term[]>,
): string[] {
  let mask = 0
  for (const id of idsOfTurn(db, turn)) mask |= masks[id] ?? 0
  const has = new Set(terms.filter((_, n) => (mask >>> n) & 1).map(({ word }) => word))
  return [...asked].flatMap(([typed, parts]) => (parts.every(({ word }) => has.has(word)) ? [] : [typed]))
}
