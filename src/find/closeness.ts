/**
 * How close a text has the words of a query: in their order as they were typed, or all in one place. A message that has
 * them so is more likely what is looked for than one of which only the index says that it has them.
 */

import type { RankRow } from "../views/queries/messages.ts"
import { type Candidates, placeAmong } from "./candidates.ts"
import type { MessageTexts } from "./message-text.ts"
import { isAscii, parseQuery, partsAsked, type Term } from "./parse-query.ts"
import { falling, type Ranked } from "./rank.ts"
import { densest, placesIn, type Sought, soughtBy } from "./snippet.ts"

/** UTF-16 units of a place: two or three sentences. */
const PLACE = 300
/** UTF-16 units of a query that may be said as it was typed. */
const LONGEST = 400

interface TypedRun {
  readonly isIn: (text: string) => boolean
  /** Whether a line of a transcript may have it. */
  readonly mayBeIn: (line: string) => boolean
}

/** What was typed, with any signs between its words; undefined if it is no more than a word. */
function typedRun(query: string): TypedRun | undefined {
  if (query.length > LONGEST) return undefined
  const words = query.normalize("NFC").match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  if (words.length < 2) return undefined
  const matching = (between: string, flags: string): RegExp =>
    new RegExp(`(?<![\\p{L}\\p{N}])${words.join(between)}(?![\\p{L}\\p{N}])`, flags)
  const pattern = matching("[^\\p{L}\\p{N}]+", "iu")
  // Other letters may be written as escapes.
  const raw = isAscii(query) ? new RegExp(words.join(BETWEEN), "i") : undefined
  return { isIn: (text) => pattern.test(text), mayBeIn: (line) => raw?.test(line) ?? true }
}

/** What is no letter and no digit, as JSON may write it. */
const BETWEEN = "(?:\\\\(?:[nrtbf]|u[0-9a-fA-F]{4})|[^A-Za-z0-9])+"

/** Words of which a text is looked through for all at once: one bit each. */
const MOST = 30

/**
 * @param run of the query; undefined: it is none
 * @param sought all words that the text should have
 */
function closenessIn(
  text: string,
  run: TypedRun | undefined,
  sought: Sought,
): "phrase" | "together" | undefined {
  if (run?.isIn(text)) return "phrase"
  const { words, prefixes } = sought
  if (words.size < 2 || words.size > MOST || prefixes.length > 0) return undefined
  const places = placesIn(text, sought)
  const { at } = densest(places, PLACE)
  const near = places.filter((one) => one.at >= at && one.at + one.length <= at + PLACE)
  const seen = near.reduce((bits, one) => bits | one.words, 0)
  return seen === 2 ** words.size - 1 ? "together" : undefined
}

interface Reading {
  readonly ofTurn: number
  readonly all: number
  readonly bytes: number
}

/** Messages whose lines are looked at for what was typed, and those whose words are looked for, which takes longer. */
const LINES: Reading = { ofTurn: 2, all: 12, bytes: 1 << 18 }
const WORDS: Reading = { ofTurn: 1, all: 12, bytes: 1 << 16 }

interface Found {
  readonly turns: readonly Ranked[]
  readonly candidates: Candidates
  readonly rows: readonly RankRow[]
}

/** Turns with a message that has the words as they were typed come first; those that have them all in one place gain. */
export function closestFirst(
  texts: MessageTexts,
  text: string,
  { turns, candidates, rows }: Found,
): readonly Ranked[] {
  const query = parseQuery(text)
  const parts = partsAsked(query)
  const run = typedRun(text)
  const sought = soughtBy(parts)
  const bits = query.must === undefined ? bitsOf(parts, candidates) : 0
  if (bits === 0 || (run === undefined && sought.words.size < 2)) return turns
  const having = rowsByTurn(bits, candidates, rows)
  texts.load([], toRead(turns, having, WORDS))
  const lines = run === undefined ? [] : toRead(turns, having, LINES)
  texts.load([], lines, run?.mayBeIn)
  const found = new Map<number, Pick<Ranked, "message" | "by">>()
  for (const { turn, message: best } of turns) {
    const ids = texts.read((having.get(turn) ?? []).map((row) => row.id))
    for (const id of ids.sort((a, b) => Number(b === best) - Number(a === best))) {
      const by = closenessIn(texts.of(id)?.text ?? "", run, sought)
      if (by === "phrase" || (by !== undefined && !found.has(turn))) found.set(turn, { message: id, by })
      if (by === "phrase") break
    }
  }
  if (found.size === 0) return turns
  const told = turns.map((one): Ranked => {
    const near = found.get(one.turn)
    if (near === undefined) return one
    return { ...one, ...near, score: near.by === "phrase" ? one.score : TOGETHER * one.score }
  })
  const isPhrase = ({ by }: Ranked): number => Number(by === "phrase")
  return falling(told.sort((a, b) => isPhrase(b) - isPhrase(a) || b.score - a.score))
}

/** What a turn's score is multiplied by if a message has all words in one place. */
const TOGETHER = 1.1

/** The bits of these terms; 0 if no message has one of them. */
function bitsOf(asked: readonly Term[], { terms }: Candidates): number {
  let bits = 0
  for (const term of asked) {
    const n = placeAmong(terms, term)
    if (n < 0) return 0
    bits |= 2 ** n
  }
  return bits
}

/** Messages with all of these words, by turn. */
function rowsByTurn(bits: number, { masks }: Candidates, rows: readonly RankRow[]): Map<number, RankRow[]> {
  const found = new Map<number, RankRow[]>()
  for (const row of rows) {
    if ((masks[row.id]! & bits) !== bits) continue
    const known = found.get(row.turn)
    if (known === undefined) found.set(row.turn, [row])
    else known.push(row)
  }
  return found
}

/** The shortest of each turn, of the best turns. */
function toRead(
  turns: readonly Ranked[],
  rows: ReadonlyMap<number, RankRow[]>,
  { ofTurn, all, bytes }: Reading,
): number[] {
  const chosen: number[] = []
  let left = bytes
  for (const { turn } of rows.size === 0 ? [] : turns) {
    if (chosen.length >= all) break
    const shortest = (rows.get(turn) ?? []).sort((a, b) => a.length - b.length).slice(0, ofTurn)
    for (const { id, length } of shortest) {
      if (length > left) continue
      left -= length
      chosen.push(id)
    }
  }
  return chosen
}
