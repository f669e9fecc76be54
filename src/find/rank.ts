/**
 * Ranks candidates. What counts was measured (`bun bench/recall.ts`, docs/measurements/search.md): how rare the message's words
 * are, how long it is, what its neighbours contain, and how much its session is about the words. How often a word
 * occurs in a message did not help. Pure.
 */
import type { RankRow } from "../views/queries/messages.ts"
import type { VectorTotals } from "../views/vectors.ts"
import { type Candidates, type Masks, placeAmong, weightOf } from "./candidates.ts"
import { isFiller, type Term } from "./parse-query.ts"

/** How a turn was found: the words as they were typed, all of them in one place, some of them, or none but the meaning. */
export type FoundBy = "phrase" | "together" | "words" | "meaning"

export interface Ranked {
  /** Its best message; undefined when the turn was found as a whole, by meaning. */
  readonly message: number | undefined
  readonly turn: number
  readonly score: number
  /** Undefined: as any other by the same search. */
  readonly by?: FoundBy
}

export const WEIGHTS = {
  /** Length of a typical line, in bytes. */
  usual: 1000,
  /** How strongly longer lines are penalised, 0 to 1. */
  lengths: 0.6,
  /** What share of its score the adjacent message lends, and the factor for each step further away. */
  near: 0.5,
  fade: 0.6,
  /** How many messages on each side lend. */
  reach: 3,
  session: 0.45,
  /** What all the words of a turn together add. */
  turn: 0.2,
}

const KINDS: Readonly<Record<string, number>> = {
  prompt: 1,
  answer: 1,
  thinking: 0.7,
  call: 0.8,
  result: 0.7,
  // Rare among what was put out, and often what is looked for.
  failure: 1.25,
  host: 0.4,
}

const EVERY_TERM = 0xffff_ffff

/** BM25's k1. A word counts 1 in a message of usual length. */
const K1 = 1.2

/** The best candidates by their words alone, newest first among equals. Only these are examined further. */
export function shortlist(candidates: Candidates, most: number): number[] {
  return candidates.ids.length <= most ? [...candidates.ids] : bestFirst(candidates, most)
}

/** Like `shortlist`, but always sorted. */
export function bestFirst({ terms, masks, ids }: Candidates, most: number): number[] {
  const groups = new Map<number, number[]>()
  for (let n = 0; n < ids.length; n++) {
    const id = ids[n]!
    const group = groups.get(masks[id]!)
    if (group === undefined) groups.set(masks[id]!, [id])
    else group.push(id)
  }
  const scoreOf = scorer(terms.map(({ weight }) => weight))
  const best = [...groups].sort(([a], [b]) => scoreOf(b) - scoreOf(a))
  const chosen: number[] = []
  for (const [, group] of best) {
    if (chosen.length >= most) break
    const sorted = new Uint32Array(group).sort()
    for (let n = sorted.length - 1; n >= 0 && chosen.length < most; n--) chosen.push(sorted[n]!)
  }
  return chosen
}

function scorer(weights: readonly number[]): (mask: number) => number {
  const known = new Map<number, number>()
  return (mask) => {
    let sum = known.get(mask)
    if (sum === undefined) {
      sum = 0
      for (let n = 0; n < weights.length; n++) if ((mask >>> n) & 1) sum += weights[n]!
      known.set(mask, sum)
    }
    return sum
  }
}

/**
 * Turns, best first, each with its best message.
 *
 * @param rows the shortlist and its neighbours, by ascending id
 */
export function rank({ terms, masks }: Candidates, rows: readonly RankRow[]): Ranked[] {
  const idf = terms.map(({ weight }) => weight)
  const scoreOf = scorer(idf)
  const scores = withNeighbours(rows, ownScores(rows, masks, scoreOf))
  const sessions = sessionScores(rows, masks, idf)
  const turns = new Map<number, Best>()
  let best: Best | undefined
  for (let n = 0; n < rows.length; n++) {
    const { id, turn, session } = rows[n]!
    const score = scores[n]! + WEIGHTS.session * sessions.get(session)!
    // Messages of a turn are adjacent, except for what a subagent did meanwhile.
    if (best?.turn !== turn) best = turns.get(turn)
    if (best === undefined) {
      best = { turn, message: id, score, mask: masks[id]! }
      turns.set(turn, best)
      continue
    }
    best.mask |= masks[id]!
    if (score > best.score) {
      best.score = score
      best.message = id
    }
  }
  const ranked: Ranked[] = []
  for (const { turn, message, score, mask } of turns.values()) {
    ranked.push({ turn, message, score: score + WEIGHTS.turn * scoreOf(mask >>> 0) })
  }
  return ranked.sort((a, b) => b.score - a.score || b.message! - a.message!)
}

/** How many other messages of a turn are shown with it. */
const BESIDE = 2

/**
 * For each of these turns, its other messages that contain words of the query, best first. Prompts are left out: a turn
 * is always shown with its prompt.
 */
export function besides(
  { terms, masks }: Candidates,
  rows: readonly RankRow[],
  turns: readonly Ranked[],
): Map<number, RankRow[]> {
  if (turns.length === 0) return new Map()
  const found = new Map(turns.map(({ turn }) => [turn, [] as RankRow[]]))
  const shown = new Set(turns.map(({ message }) => message))
  for (let n = 0; n < rows.length; n++) {
    const { id, turn, kind } = rows[n]!
    if (masks[id] && kind !== "prompt" && !shown.has(id)) found.get(turn)?.push(rows[n]!)
  }
  const scoreOf = scorer(terms.map(({ weight }) => weight))
  const best = (some: readonly RankRow[]): RankRow[] => {
    const own = ownScores(some, masks, scoreOf)
    const order = some.map((_, n) => n).sort((a, b) => own[b]! - own[a]!)
    return order.slice(0, BESIDE).map((n) => some[n]!)
  }
  return new Map([...found].map(([turn, some]) => [turn, best(some)]))
}

/** A turn, as far as its messages have been examined. */
interface Best {
  readonly turn: number
  message: number
  score: number
  mask: number
}

function ownScores(rows: readonly RankRow[], masks: Masks, scoreOf: (mask: number) => number): Float64Array {
  const { usual, lengths } = WEIGHTS
  const own = new Float64Array(rows.length)
  const all = scoreOf(EVERY_TERM)
  for (let n = 0; n < rows.length; n++) {
    const { id, length, kind } = rows[n]!
    const factor = ((KINDS[kind] ?? 1) * (K1 + 1)) / (1 + K1 * (1 - lengths + (lengths * length) / usual))
    const score = scoreOf(masks[id]!)
    // Half of the query is worth less than half as much as all of it.
    own[n] = all === 0 ? 0 : score * Math.sqrt(score / all) * factor
  }
  return own
}

/** Adds what a message's neighbours lend to its own score. */
function withNeighbours(rows: readonly RankRow[], own: Float64Array): Float64Array {
  const { near, fade, reach } = WEIGHTS
  const scores = own.slice()
  const lends: number[] = []
  for (let step = 0; step < reach; step++) lends.push(near * fade ** step)
  for (let n = 0; n < rows.length; n++) {
    const { id, session } = rows[n]!
    for (let next = n + 1; next < rows.length; next++) {
      const one = rows[next]!
      const distance = one.id - id
      if (distance > reach) break
      if (one.session !== session) continue
      const lent = lends[distance - 1]!
      scores[n]! += lent * own[next]!
      scores[next]! += lent * own[n]!
    }
  }
  return scores
}

/** How much of the query each session is about. A word in many of its messages counts almost fully. */
function sessionScores(rows: readonly RankRow[], masks: Masks, idf: readonly number[]): Map<string, number> {
  const counts = new Map<string, number[]>()
  let last: string | undefined
  let count: number[] = []
  for (let n = 0; n < rows.length; n++) {
    const { session, id } = rows[n]!
    if (session !== last) {
      last = session
      count = counts.get(session) ?? idf.map(() => 0)
      counts.set(session, count)
    }
    const mask = masks[id]!
    for (let term = 0; term < count.length; term++) count[term]! += (mask >>> term) & 1
  }
  const scores = new Map<string, number>()
  for (const [session, count] of counts) {
    let sum = 0
    for (let n = 0; n < idf.length; n++) sum += (idf[n]! * count[n]!) / (count[n]! + 2)
    scores.set(session, sum)
  }
  return scores
}

/*
 * How words and meaning make one order. Words decide as long as the best turns found by them have most of the query;
 * the less of it they have, the more a likeness in meaning counts. What its numbers are was measured
 * (docs/measurements/search.md). Pure.
 */

export interface Similar {
  readonly turn: number
  /** The message that matched; undefined: the turn as a whole. */
  readonly message?: number | undefined
  /** Cosine. */
  readonly score: number
}

/** What a search by meaning found. */
export interface Alike {
  /** Undefined if there is nothing to compare with. */
  readonly similar: readonly Similar[] | undefined
  /** How many turns can be found so; undefined: all. */
  readonly vectors?: VectorTotals | undefined
  /** Whether the model knows any word of the query's subject. Default: false. */
  readonly hasWords?: boolean
  /** Whether vectors of hashed words were compared, for want of a model: that is no meaning. Default: false. */
  readonly isHashed?: boolean
}

/** The cosine from which a text is taken for one that is alike. */
export const LEAST_ALIKE = 0.2

const MEANING = {
  /** If one of the best turns has this share of the query by weight, words alone are asked. */
  covered: 0.9,
  /** What a cosine counts beside the score by words, 0 to 1, for all of the query that is missing. */
  steep: 4,
  /** With less of the query than this, the score by words counts less too: the best of what hardly matches is not good. */
  slight: 0.25,
  floor: LEAST_ALIKE,
  /** The same if neither the messages nor the model know any of the query's words: those are mostly none. */
  floorOfUnknown: 0.4,
}

/** What words alone tell of a query. */
export interface Coverage {
  /** The share of its words, by weight, that one of the best turns has: 0 to 1. */
  readonly covered: number
  /** Whether that leaves something open, which meaning may know. */
  readonly isOpen: boolean
  /** Whether any message has any of its words. */
  readonly isKnown: boolean
  /** Whether a message has all rare words of the query, of which there is one. */
  hasRare(message: number): boolean
}

/** The weight of a word that one of fifty messages has. */
const RARE = Math.log(50)

/**
 * @param asked the words of the query, those as well that no message has
 * @param best masks of the best turns
 */
export function coverageOf(
  asked: readonly Term[],
  { terms, masks, size }: Pick<Candidates, "terms" | "masks" | "size">,
  best: readonly number[],
): Coverage {
  const words = asked.map((term) => {
    const n = placeAmong(terms, term)
    const isSubject = !isFiller(term.typed.toLowerCase())
    return { bit: n < 0 ? 0 : 2 ** n, weight: terms[n]?.weight ?? weightOf(term, 0, size), isSubject }
  })
  const subject = words.some(({ isSubject }) => isSubject)
    ? words.filter(({ isSubject }) => isSubject)
    : words
  const all = subject.reduce((sum, { weight }) => sum + weight, 0)
  const shareOf = (mask: number): number =>
    subject.reduce((sum, { bit, weight }) => ((mask & bit) === 0 ? sum : sum + weight), 0) / all
  const rare = subject.filter(({ bit, weight }) => bit === 0 || weight >= RARE)
  const rareBits = rare.reduce((bits, { bit }) => bits | bit, 0)
  const isRareKnown = rare.length > 0 && rare.every(({ bit }) => bit !== 0)
  const covered = all === 0 ? 1 : Math.max(0, ...best.map(shareOf))
  return {
    covered,
    isOpen: covered < MEANING.covered,
    isKnown: subject.some(({ bit }) => bit !== 0),
    hasRare: (message) => isRareKnown && ((masks[message] ?? 0) & rareBits) === rareBits,
  }
}

/**
 * What a cosine of 1 counts beside the best score by words, which is 1.
 *
 * @param vectors as far as turns have none, they cannot be found by meaning, and are not to be outvoted for that
 */
function shareOfMeaning({ covered }: Coverage, vectors: VectorTotals | undefined): number {
  const { steep, slight } = MEANING
  const made = vectors?.turns ? vectors.embedded / vectors.turns : 1
  const words = Math.min(1, Math.max(0.1, covered / slight))
  return (made * steep * Math.max(0, MEANING.covered - covered)) / words
}

/** The best of those that are alike, one for each turn, best first. */
function nearestTurns(similar: readonly Similar[], isKnown: boolean): Similar[] {
  const floor = isKnown ? MEANING.floor : MEANING.floorOfUnknown
  const turns = new Map<number, Similar>()
  for (const one of similar) {
    const known = turns.get(one.turn)
    if (one.score >= floor && (known === undefined || one.score > known.score)) turns.set(one.turn, one)
  }
  return [...turns.values()].sort((a, b) => b.score - a.score)
}

/**
 * Both scores joined, 0 to 1: a convex combination. Each turn counts once, by its best message. What has the words as
 * they were typed, or all rare words, stays before what has not.
 *
 * @param byWords best first
 * @param least what a cosine of 1 counts at least beside the best score by words; by default, words may leave it nothing
 */
export function joined(
  byWords: readonly Ranked[],
  { similar = [], vectors, hasWords = false, isHashed = false }: Alike,
  coverage: Coverage,
  least = 0,
): readonly Ranked[] {
  const share = Math.max(least, shareOfMeaning(coverage, vectors))
  if (share === 0) return byWords
  const nearest = nearestTurns(similar, coverage.isKnown || hasWords)
  const isKept = ({ message, by }: Ranked): boolean =>
    by === "phrase" || (message !== undefined && coverage.hasRare(message))
  const best = byWords[0]?.score ?? 0
  const whole = (best > 0 ? 1 : 0) + share
  const turns = new Map<number, Ranked & { readonly isKept: boolean }>()
  for (const one of byWords) {
    const score = best > 0 ? one.score / best / whole : 0
    turns.set(one.turn, { ...one, score, isKept: isKept(one) })
  }
  const by = isHashed ? "words" : "meaning"
  for (const { turn, message, score: cosine } of nearest) {
    const known = turns.get(turn)
    const part = (share * cosine) / whole
    const words = known?.score ?? 0
    const isMore = part > words
    const shown = known === undefined || isMore ? ({ turn, message, by } as const) : known
    turns.set(turn, { ...shown, score: words + part, isKept: known?.isKept ?? false })
  }
  const order = [...turns.values()].sort((a, b) => Number(b.isKept) - Number(a.isKept) || b.score - a.score)
  return falling(order.map(({ isKept: _isKept, ...one }) => one))
}

/** The same with scores that fall: what comes before others for another reason is as good as they are. */
export function falling(ranked: readonly Ranked[]): Ranked[] {
  let least = 0
  return ranked
    .toReversed()
    .map((one) => {
      least = Math.max(least, one.score)
      return { ...one, score: least }
    })
    .toReversed()
}

/* Merges rankings by their ranks (reciprocal rank fusion). Pure. */

const K = 60

/** What a place in one ranking is worth, from 0. */
export const scoreOfPlace = (place: number): number => 1 / (K + place)

/**
 * For anything that has a name. What several rankings have is taken from the first of them.
 *
 * @param rankings each best first
 */
export function fuseNamed<T extends { readonly score: number }>(
  rankings: readonly (readonly T[])[],
  nameOf: (one: T) => string,
): T[] {
  const all = new Map<string, T>()
  for (const ranking of rankings) {
    for (const [place, one] of ranking.entries()) {
      const known = all.get(nameOf(one))
      const score = (known?.score ?? 0) + scoreOfPlace(place)
      all.set(nameOf(one), { ...(known ?? one), score })
    }
  }
  return [...all.values()].sort((a, b) => b.score - a.score)
}
