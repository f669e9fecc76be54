/** Turns a query and filters into hits. Reads the index, the rows of a shortlist, and the texts of what is shown. */

import { once } from "../base/once.ts"
import type { CopyReaders } from "../vault/reader.ts"
import type { Database } from "../views/database.ts"
import { readLabels } from "../views/labels.ts"
import {
  type LatestRow,
  latestMessages,
  population,
  type RankRow,
  rankRows,
  type TimedRow,
} from "../views/queries/messages.ts"
import { type EndedSession, sessionsByEnd } from "../views/queries/sessions.ts"
import { matchesAmong } from "../views/queries/word-matches.ts"
import { filterWord } from "../views/word-index.ts"
import { type Candidates, candidatesOf, lackedBy, namesAsked, verified, type Weighted } from "./candidates.ts"
import { closestFirst } from "./closeness.ts"
import { type CorrectedQuery, type Correction, correctedQuery } from "./corrected-query.ts"
import {
  allOf,
  anyOf,
  ftsExpression,
  isExact,
  needsWord,
  wordExpression,
  wordsGivenBy,
} from "./fts-expression.ts"
import { type Hit, type HitsShown, hitsOf } from "./hit.ts"
import { MessageTexts } from "./message-text.ts"
import { type Filter, filterOf, type Narrowing } from "./narrowing.ts"
import {
  isFiller,
  isWordless,
  type Node,
  parseQuery,
  partsAsked,
  type Query,
  type Term,
} from "./parse-query.ts"
import {
  type Alike,
  besides,
  bestFirst,
  type Coverage,
  coverageOf,
  type FoundBy,
  joined,
  type Ranked,
  rank,
  type Similar,
  shortlist,
  WEIGHTS,
} from "./rank.ts"
import { type WholeName, wholeNamesIn } from "./whole-matches.ts"

export interface SearchRequest extends Narrowing {
  /** Any text. Empty: the newest of what passes the filters. */
  readonly query: string
  readonly limit: number
  /** Whether words that no message has stay as they are. Default: false, the nearest words are searched for. */
  readonly isExact?: boolean | undefined
  /** Whether to show only a hit's best message. Default: false. */
  readonly isBrief?: boolean | undefined
  /** UTF-16 units for the texts of each hit. Default: all hits share what a reader should get at once. */
  readonly room?: number | undefined
  /**
   * What a search by meaning found, with the same restrictions. It counts as far as the words leave something open, and
   * not at all when operators or phrases say what a message must have: meaning cannot be checked for words.
   */
  readonly similar?: readonly Similar[] | undefined
  /** Whether words count besides meaning. Default: true. */
  readonly byWords?: boolean | undefined
  /** Whether meaning counts even where words leave nothing open. Default: false. */
  readonly isHybrid?: boolean | undefined
  /**
   * Whether further texts are read than those that are shown: for `partial`, and for which turns have the words close
   * together. Default: true.
   */
  readonly tellsPartial?: boolean | undefined
  /** What to show of a tool's output where no words say what of it. Default: its beginning. */
  readonly telling?: ((output: string) => string) | undefined
}

export interface FoundTurns extends Pick<HitsShown, "linesOf"> {
  /** Best first; each with its handle, session, project and time. */
  readonly hits: readonly Hit[]
  /** Whether there are more hits than were asked for. */
  readonly more: boolean
  /** Whether nothing had the query's phrases and fields, so these hits only contain words of it. */
  readonly isLoose: boolean
  /** Ids, versions and the like of which messages have only parts. */
  readonly partial?: readonly string[]
  /** Words that no message has, and what was searched for instead. */
  readonly corrections?: readonly Correction[]
  /** All turns that were found, best first. */
  readonly ranked: readonly Ranked[]
  /** What was looked for, by rarity. */
  readonly terms: readonly Weighted[]
  /** Words of the query as they were typed, but for fillers: all, and those that the best turn does not have. */
  readonly words: { readonly asked: readonly string[]; readonly lacking: readonly string[] }
  /** Words of the query that a turn does not have, as they were typed; looked up when it is called. */
  readonly lackedBy: (turn: number) => readonly string[]
}

/** Minimum number of messages that are ranked. 250 found no more (docs/measurements/search.md) and cost twice as much. */
const SHORTLIST = 120
/** As many for each hit that is asked for, because messages of one turn compete. */
const PER_HIT = 12
/** As many where those are of fewer turns than were asked for. */
const WIDEST = 960
/** Messages looked at to tell whether there are more hits. */
const LOOKED_AT = 1000
/** How many messages found by meaning are merged with what was found by words. */
export const NEAREST = 400
/**
 * When the index alone cannot decide: how many messages' texts may be checked, and how many when none of those match.
 */
const CHECKED = [250, 2500] as const

/** A search whose words were looked up. */
export interface Begun {
  /** What words alone tell of the query; undefined if it is nothing that meaning could be asked for. */
  coverage(): Coverage | undefined
  /** @param alike what a search by meaning found, if it was asked */
  finish(alike?: Alike): FoundTurns
}

export const search = (
  db: Database,
  dataHome: string,
  request: SearchRequest,
  readers: CopyReaders,
): FoundTurns => begun(db, dataHome, request, readers).finish({ similar: request.similar })

/** Looks up the words, so that meaning is asked only where they leave something open. */
export function begun(db: Database, dataHome: string, request: SearchRequest, readers: CopyReaders): Begun {
  const texts = new MessageTexts(db, dataHome, readers)
  const forgiving = rankedForgivingly(db, texts, request)
  const { ranking: asRanked, ...told } = forgiving
  const coverage = once(() => coverageBy(request, forgiving))
  const { byWords = true, tellsPartial = true } = request
  const turns = byWords && tellsPartial ? closestFirst(texts, told.text, asRanked) : asRanked.turns
  const ranking = { ...asRanked, turns }
  return {
    coverage,
    finish(alike) {
      const covered = alike?.similar === undefined ? undefined : coverage()
      const found =
        covered === undefined ? ranking : withMeaning(db, request, { ranking, coverage: covered }, alike!)
      return foundBy(db, texts, request, { ...found, ...told })
    },
  }
}

/** How many of the best turns may have the query. */
const BEST = 3

function coverageBy(
  request: SearchRequest,
  { ranking: { turns, candidates, rows }, text, corrections }: ForgivingRanking,
): Coverage | undefined {
  const query = parseQuery(request.query)
  if (query.terms.length === 0 || query.must !== undefined) return undefined
  const best = turns.slice(0, BEST).map((one) => maskOf(one, candidates, rows))
  const typed = coverageOf(partsAsked(query), candidates, best)
  if (corrections === undefined) return typed
  // What was taken for a mistyped word may be another one, but a turn with the corrected ones is not to be outvoted.
  const { hasRare } = coverageOf(partsAsked(parseQuery(text)), candidates, best)
  return { ...typed, hasRare }
}

/** The words of all messages of a turn that were ranked. */
function maskOf({ turn: wanted }: Ranked, { masks }: Candidates, rows: readonly RankRow[]): number {
  let mask = 0
  for (const { id, turn } of rows) if (turn === wanted) mask |= masks[id]!
  return mask
}

function withMeaning(
  db: Database,
  request: SearchRequest,
  { ranking, coverage }: { readonly ranking: Ranking; readonly coverage: Coverage },
  alike: Alike,
): Ranking {
  const filter = filterOf(db, request)
  const similar = filter === undefined ? [] : narrowed(db, alike.similar ?? [], filter)
  const { byWords = true, isHybrid = false } = request
  const always = isHybrid || !byWords ? ALWAYS : 0
  const turns = joined(byWords ? ranking.turns : [], { ...alike, similar }, coverage, always)
  if (turns === ranking.turns) return ranking
  const { isMoreLeft: _left, ...rest } = ranking
  return { ...rest, turns }
}

/** What a cosine of 1 counts beside words, at least, for whoever asks for meaning whatever words have found. */
const ALWAYS = 1

type Finished = ForgivingFound & Ranking

function foundBy(
  db: Database,
  texts: MessageTexts,
  request: SearchRequest,
  { turns: ranked, candidates, rows, isLoose = false, isMoreLeft = () => false, ...found }: Finished,
): FoundTurns {
  const { text, corrections } = found
  const by = byOf(parseQuery(text), isLoose)
  const shown = ranked.slice(0, request.limit).map((one) => (by === undefined ? one : { by, ...one }))
  const beside = (some: readonly Ranked[]) => besides(candidates, rows, some)
  const { room, isBrief = false, tellsPartial = true, telling } = request
  const { hits, linesOf } = hitsOf(db, shown, candidates, {
    ...{ texts, isBrief, room, beside, telling },
    labelled: readLabels(texts.dataHome),
  })
  const more = ranked.length > shown.length || isMoreLeft()
  const words = wordsIn(parseQuery(text).terms, candidates, rows, ranked[0])
  const partial = hits.length === 0 || !tellsPartial ? [] : namesNowhere(db, texts, request, candidates, hits)
  for (const name of partial) lackName(words, name)
  const asked = once(() => namesAsked(text))
  return {
    hits,
    more,
    isLoose,
    ...(corrections && { corrections }),
    ...(partial.length > 0 && { partial }),
    ranked,
    terms: candidates.terms,
    words,
    linesOf,
    lackedBy: (turn) => lackedBy(db, turn, candidates, asked()),
  }
}

/** How a turn was found of which nothing else is known; undefined if nothing was asked for. */
function byOf({ terms, must }: Query, isLoose: boolean): FoundBy | undefined {
  if (must?.kind === "phrase" && !isLoose) return "phrase"
  return terms.length === 0 && must === undefined ? undefined : "words"
}

/** Messages that have all parts of a name, and whose texts are looked at for the whole. */
const LOOKED_INTO = 40

/** Names of several parts of which no message that was found has the whole. */
function namesNowhere(
  db: Database,
  texts: MessageTexts,
  request: SearchRequest,
  candidates: Candidates,
  hits: readonly Hit[],
): string[] {
  const isNowhere = (name: WholeName): boolean => {
    const { isIn } = name
    if (
      hits.some((hit) => [hit.snippet, hit.prompt, hit.answer, ...hit.also].some((text) => isIn(text ?? "")))
    )
      return false
    const having = candidates.ids.filter(holding(name, candidates).mayHave).sort((a, b) => b - a)
    const filter = filterOf(db, request)
    const rows = filter === undefined ? [] : rowsOf(db, having.slice(0, LOOKED_INTO), filter)
    return !rows.some(({ id }) => isIn(texts.of(id)?.text ?? ""))
  }
  return wholeNamesIn(request.query)
    .filter(isNowhere)
    .map(({ typed }) => typed)
}

/** What the index knows of the messages that have a name: which surely do, and which may, as they have all its parts. */
function holding({ words, joined }: WholeName, { terms, masks }: Candidates) {
  const bitOf = (word: string | undefined): number => {
    const n = terms.findIndex((term) => term.word === word && !term.isPrefix)
    return n < 0 ? 0 : 2 ** n
  }
  const bits = words.map(bitOf)
  const all = bits.includes(0) ? 0 : bits.reduce((sum, bit) => sum | bit, 0)
  const one = bitOf(joined)
  const has = (id: number): boolean => (masks[id]! & one) !== 0
  return { has, mayHave: (id: number): boolean => has(id) || (all !== 0 && (masks[id]! & all) === all) }
}

/** Numbers with points or hyphens between them: "404" is no "4.0.4", and "v4.0.4" is one. */
const IS_VERSION = /^v?\d+$/

/** Where all that is asked for is one name, and a message has it: only what may have all of it, so no "CVE" of another. */
function wholeOnly(candidates: Candidates, { text, terms }: Query): Candidates {
  const [name] = wholeNamesIn(text)
  if (name?.joined === undefined || IS_VERSION.test(name.joined)) return candidates
  if (terms.some(({ typed }) => typed !== name.typed)) return candidates
  const { has, mayHave } = holding(name, candidates)
  if (!candidates.ids.some(has)) return candidates
  const { masks } = candidates
  // What is not sought lends nothing to what is beside it, either.
  for (const id of candidates.ids) if (!mayHave(id)) masks[id] = 0
  return { ...candidates, ids: candidates.ids.filter((id) => masks[id] !== 0) }
}

/** A path is several words, which the best turn may have. */
function lackName({ asked, lacking }: { asked: string[]; lacking: string[] }, name: string): void {
  const typed = name.toLowerCase()
  if (asked.includes(typed) && !lacking.includes(typed)) lacking.push(typed)
}

/** Whether turns that are out of the index may have what was meant. */
export const isWanting = ({ hits, words, corrections }: FoundTurns): boolean =>
  hits.length === 0 || words.lacking.length > 0 || corrections !== undefined

/** In a longer query that finds something, a word that nobody has written is mostly another word, not a typo. */
const FEW = 3

interface ForgivingFound extends Partial<CorrectedQuery> {
  /** What was searched for in the end. */
  readonly text: string
}

interface ForgivingRanking extends ForgivingFound {
  readonly ranking: Ranking
}

/** Once more with the nearest words, if words of the query are in no message. */
function rankedForgivingly(db: Database, texts: MessageTexts, request: SearchRequest): ForgivingRanking {
  const ranking = rankedIn(db, texts, request)
  const asTyped = { ranking, text: request.query }
  if (request.isExact === true || request.byWords === false) return asTyped
  const query = parseQuery(request.query)
  if (ranking.turns.length > 0 && query.terms.length > FEW) return asTyped
  const known = new Set(ranking.candidates.terms.map(({ word }) => word))
  const missing = query.terms.filter(({ word, isPrefix }) => !isPrefix && !known.has(word))
  const filter = missing.length === 0 ? undefined : filterOf(db, request)
  const better = filter && correctedQuery(db, query, missing, filter, texts)
  if (better === undefined) return asTyped
  const again = rankedIn(db, texts, { ...request, query: better.text })
  return again.turns.length === 0 ? asTyped : { ranking: again, ...better }
}

function wordsIn(
  asked: readonly Term[],
  candidates: Candidates,
  rows: readonly RankRow[],
  best: Ranked | undefined,
): { asked: string[]; lacking: string[] } {
  const mask = best === undefined ? 0 : maskOf(best, candidates, rows)
  const { terms } = candidates
  const has = new Set(terms.filter((_, n) => (mask >>> n) & 1).map(({ typed }) => typed.toLowerCase()))
  const all = [...new Set(asked.map((term) => term.typed.toLowerCase()))]
  const subject = all.filter((word) => !isFiller(word))
  const typed = subject.length > 0 ? subject : all
  return { asked: typed, lacking: typed.filter((word) => !has.has(word)) }
}

/** All turns that match the query, best first, each with its best message. */
export function rankedTurns(
  db: Database,
  dataHome: string,
  request: Unlimited,
  readers: CopyReaders,
): Ranking {
  return rankedIn(db, new MessageTexts(db, dataHome, readers), request)
}

/** About as many turns are counted. */
const COUNTED = 40

/** How many turns match, as far as they are counted, and whether there are more. */
export function matchingTurns(
  db: Database,
  dataHome: string,
  request: Unlimited,
  readers: CopyReaders,
): { turns: number; isMore: boolean } {
  const { turns, isMoreLeft } = rankedTurns(db, dataHome, { ...request, limit: COUNTED }, readers)
  return { turns: turns.length, isMore: isMoreLeft?.() ?? turns.length > COUNTED }
}

interface Ranking {
  /** Best first. */
  readonly turns: readonly Ranked[]
  readonly candidates: Candidates
  readonly rows: readonly RankRow[]
  /** As in `Found`. */
  readonly isLoose?: boolean
  /** Whether messages that were not ranked belong to further turns. */
  readonly isMoreLeft?: () => boolean
}

type Unlimited = Omit<SearchRequest, "limit" | "similar" | "byWords" | "isHybrid"> &
  Partial<Pick<SearchRequest, "limit">>

function rankedIn(db: Database, texts: MessageTexts, request: Unlimited): Ranking {
  const query = parseQuery(request.query)
  const filter = isWordless(query) ? undefined : filterOf(db, request)
  if (filter === undefined) return { turns: [], candidates: NOTHING, rows: [] }
  if (query.terms.length === 0 && query.must === undefined) {
    const turns = newestTurns(db, filter, (request.limit ?? SHORTLIST) + 1)
    return { turns, candidates: NOTHING, rows: [] }
  }
  let most = Math.max(SHORTLIST, PER_HIT * (request.limit ?? 0))
  let isLoose = false
  let candidates = wholeOnly(candidatesFor(db, query, filter), query)
  let rows = compared(db, texts, candidates, query.must, filter, most)
  if (rows.length === 0 && query.must !== undefined && !query.isStrict && query.terms.length > 0) {
    // Nobody said exactly that, but the phrase's words are still what was asked for.
    isLoose = true
    candidates = candidatesFor(db, { ...query, must: undefined }, filter)
    rows = compared(db, texts, candidates, undefined, filter, most)
  }
  let turns = rank(candidates, rows)
  // Whether others have a phrase as well is not known before their texts are read.
  const isKnown = isLoose || query.must === undefined || isExact(query.must)
  if (isKnown && turns.length < (request.limit ?? 0) && most < Math.min(WIDEST, candidates.ids.length)) {
    most = WIDEST
    rows = compared(db, texts, candidates, isLoose ? undefined : query.must, filter, most)
    turns = rank(candidates, rows)
  }
  const isMoreLeft = (): boolean => isKnown && isLeft(db, candidates, most, turns, filter)
  return { turns, candidates, rows, isLoose, isMoreLeft }
}

/** How many similar messages are held against a filter at a time, and of how many that pass no more are sought. */
const AT_A_TIME = 400
const PASSED = 100

/** Keeps those that pass the filter: similarity knows nothing of tools, times and files. */
function narrowed(db: Database, similar: readonly Similar[], filter: Filter): Similar[] {
  const kept: Similar[] = []
  for (let from = 0; from < similar.length && kept.length < PASSED; from += AT_A_TIME)
    kept.push(...passing(db, similar.slice(from, from + AT_A_TIME), filter))
  return kept
}

function passing(db: Database, similar: readonly Similar[], filter: Filter): Similar[] {
  const ids = similar.flatMap(({ message }) => message ?? [])
  const accepted = new Set(rowsOf(db, ids, filter).map(({ id }) => id))
  const narrow =
    filter.expression === undefined ? accepted : matchesAmong(db, [...accepted], filter.expression)
  return similar.filter(({ message }) =>
    message === undefined ? filter.expression === undefined : narrow.has(message),
  )
}

const NOTHING: Candidates = { terms: [], masks: new Uint32Array(0), ids: [], size: 0 }

function candidatesFor(db: Database, query: Query, filter: Filter): Candidates {
  const required = query.must === undefined ? undefined : ftsExpression(query.must)
  const given = new Set(wordsGivenBy(query.must))
  const expression = allOf([required, filter.expression])
  const isOpen = query.isStrict && query.must !== undefined && !needsWord(query.must)
  return candidatesOf(
    db,
    query.terms,
    { expression, condition: filter.condition },
    population(db),
    given,
    isOpen,
  )
}

function compared(
  db: Database,
  texts: MessageTexts,
  candidates: Candidates,
  must: Node | undefined,
  filter: Filter,
  most: number,
): TimedRow[] {
  return must !== undefined && !isExact(must)
    ? checked(db, texts, candidates, must, filter)
    : rowsOf(db, withNeighbours(candidates, shortlist(candidates, most)), filter)
}

function isLeft(
  db: Database,
  candidates: Candidates,
  most: number,
  turns: readonly Ranked[],
  filter: Filter,
): boolean {
  if (candidates.ids.length <= most) return false
  const known = new Set(turns.map(({ turn }) => turn))
  const next = bestFirst(candidates, most + LOOKED_AT).slice(most)
  return rowsOf(db, next, filter).some(({ turn }) => !known.has(turn))
}

/** The chosen candidates and the candidates next to them. */
function withNeighbours({ masks }: Candidates, chosen: readonly number[]): number[] {
  const wanted: number[] = []
  const sorted = new Uint32Array(chosen).sort()
  for (let n = 0, next = 0; n < sorted.length; n++) {
    const last = sorted[n]! + WEIGHTS.reach
    for (next = Math.max(next, last - 2 * WEIGHTS.reach); next <= last; next++)
      if (masks[next]) wanted.push(next)
  }
  return wanted
}

/** Candidates whose texts fulfil the requirement, as far as it is worth reading. */
function checked(
  db: Database,
  texts: MessageTexts,
  candidates: Candidates,
  must: Node,
  filter: Filter,
): TimedRow[] {
  let seen = 0
  for (const most of CHECKED) {
    const chosen = bestFirst(candidates, most).slice(seen)
    seen += chosen.length
    const accepted = rowsOf(db, chosen, filter)
    const rows = new Map<number, TimedRow>()
    for (let n = 0; n < accepted.length; n++) rows.set(accepted[n]!.id, accepted[n]!)
    const best: number[] = []
    for (let n = 0; n < chosen.length; n++) if (rows.has(chosen[n]!)) best.push(chosen[n]!)
    const kept = verified(db, texts, best, must)
    if (kept.length > 0) return kept.sort((a, b) => a - b).map((id) => rows.get(id)!)
    if (seen < most) break
  }
  return []
}

/** Rows that the filter accepts, by ascending id. */
function rowsOf(db: Database, ids: readonly number[], filter: Filter): TimedRow[] {
  const rows = rankRows(db, ids, filter.isTimed)
  return filter.isOpen ? rows : rows.filter((row) => filter.accepts(row))
}

/** How many sessions are looked through at a time, last ended first. The first step is nearly always enough. */
const STEPS = [16, 64, Number.MAX_SAFE_INTEGER] as const

/**
 * What an empty query shows: the latest turns by the clock. Ids cannot tell, since they follow the order of archiving.
 *
 * @returns the turns of the latest messages that pass the filter, each with its latest message; at most `limit`
 */
function newestTurns(db: Database, filter: Filter, limit: number): Ranked[] {
  const sessions = sessionsByEnd(db)
  let found: LatestRow[] = []
  let from = 0
  for (const step of STEPS) {
    const rows = latestIn(db, filter, sessions.slice(from, from + step))
    found = [...found, ...rows].sort(laterFirst).slice(0, limit)
    from += step
    // All remaining sessions ended before the last turn found.
    const next = sessions[from]
    if (next === undefined || (found.length === limit && (next.ended ?? "") <= (found.at(-1)!.time ?? "")))
      break
  }
  return found.map(({ turn, id }) => ({ turn, message: id, score: 0 }))
}

function latestIn(db: Database, filter: Filter, sessions: readonly EndedSession[]): LatestRow[] {
  const { expression, condition } = filter
  const ids = sessions.map(({ id }) => id)
  const rows = latestMessages(db, ids, expression && within(expression, sessions), condition)
  return rows.filter((row) => filter.accepts(row))
}

/** Adds the sessions to the expression, where they are few enough, so the index reads shorter lists. */
function within(expression: string, sessions: readonly EndedSession[]): string {
  if (sessions.length > STEPS[1]) return expression
  const names = new Set(sessions.map(({ id }) => wordExpression(filterWord.session(id))))
  return allOf([expression, anyOf([...names])])!
}

function laterFirst(a: LatestRow, b: LatestRow): number {
  const [one, other] = [a.time ?? "", b.time ?? ""]
  return one === other ? b.id - a.id : one < other ? 1 : -1
}
