/**
 * Which candidates come first. What counts was measured (`ctxbridge bench recall`, docs/adr/0009): how rare the words
 * are that a message has, how long it is, what stands around it, and how much its session is about them. How often
 * a word occurs in a message did not help. Pure.
 */
import type { Candidates } from "./candidates.ts"

/** A message as ranking sees it. */
export interface RankRow {
  readonly id: number
  readonly turn: number
  readonly session: string
  /** Bytes of its line. */
  readonly length: number
  readonly kind: string
}

export interface Ranked {
  /** Its best message; undefined: it was found as a whole, by its meaning. */
  readonly message: number | undefined
  readonly turn: number
  readonly score: number
}

export interface Weights {
  /** Bytes of a line of usual length. */
  readonly usual: number
  /** How much longer lines count less, 0 to 1. */
  readonly lengths: number
  /** What the next message lends, and what is left of that with each further one. */
  readonly near: number
  readonly fade: number
  /** How many messages on each side lend. */
  readonly reach: number
  readonly session: number
  /** What all words of a turn together add. */
  readonly turn: number
  readonly kinds: Readonly<Record<string, number>>
}

export const WEIGHTS: Weights = {
  usual: 1000,
  lengths: 0.6,
  near: 0.4,
  fade: 0.6,
  reach: 3,
  session: 0.4,
  turn: 0.2,
  kinds: { prompt: 1, answer: 1, thinking: 0.8, call: 1, result: 0.9, host: 0.4 },
}

/** BM25's k1: what a word counts in a message of usual length is 1. */
const K1 = 1.2

/** The best candidates by their words alone, newest first among equals: no more are looked at. */
export function shortlist({ terms, masks, ids }: Candidates, most: number): number[] {
  if (ids.length <= most) return [...ids]
  const scoreOf = scorer(terms.map(({ weight }) => weight))
  const top = scoreOf(0xffffffff)
  if (top === 0) return ids.slice(0, most)
  const buckets = new Uint32Array(SHELVES + 1)
  const shelf = (id: number): number => Math.floor((scoreOf(masks[id]!) / top) * SHELVES)
  for (const id of ids) buckets[shelf(id)]!++
  let from = SHELVES
  for (let sum = buckets[from]!; from > 0 && sum + buckets[from - 1]! <= most; ) sum += buckets[--from]!
  const chosen = ids.filter((id) => shelf(id) >= from)
  if (from === 0 || chosen.length >= most) return chosen.slice(0, most)
  const rest = ids.filter((id) => shelf(id) === from - 1).sort((a, b) => b - a)
  return [...chosen, ...rest.slice(0, most - chosen.length)]
}

const SHELVES = 512

/** Sum of the weights of a mask's terms. */
export function scorer(weights: readonly number[]): (mask: number) => number {
  const known = new Map<number, number>()
  return (mask) => {
    let sum = known.get(mask)
    if (sum === undefined) {
      sum = 0
      for (const [n, weight] of weights.entries()) if ((mask >>> n) & 1) sum += weight
      known.set(mask, sum)
    }
    return sum
  }
}

/** Turns, best first, each with its best message. @param rows the shortlist and what stands around it */
export function rank(
  { terms, masks }: Candidates,
  rows: readonly RankRow[],
  weights: Weights = WEIGHTS,
): Ranked[] {
  const idf = terms.map(({ weight }) => weight)
  const scoreOf = scorer(idf)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const own = new Map(rows.map((row) => [row.id, scoreOf(masks[row.id] ?? 0) * lengthFactor(row, weights)]))
  const sessions = sessionScores(rows, masks, idf)
  const turns = new Map<number, { best: Ranked & { message: number }; mask: number }>()
  for (const row of rows) {
    const mask = masks[row.id] ?? 0
    if (mask === 0) continue
    let score = own.get(row.id)!
    for (let step = 1, lent = weights.near; step <= weights.reach; step++, lent *= weights.fade) {
      for (const id of [row.id - step, row.id + step]) {
        if (byId.get(id)?.session === row.session) score += lent * own.get(id)!
      }
    }
    score += weights.session * sessions.get(row.session)!
    const known = turns.get(row.turn)
    const best = { message: row.id, turn: row.turn, score }
    if (known === undefined) turns.set(row.turn, { best, mask })
    else {
      known.mask |= mask
      if (score > known.best.score) known.best = best
    }
  }
  return [...turns.values()]
    .map(({ best, mask }) => ({ ...best, score: best.score + weights.turn * scoreOf(mask >>> 0) }))
    .sort((a, b) => b.score - a.score || b.message - a.message)
}

function lengthFactor({ length, kind }: RankRow, { usual, lengths, kinds }: Weights): number {
  return ((kinds[kind] ?? 1) * (K1 + 1)) / (1 + K1 * (1 - lengths + (lengths * length) / usual))
}

/** How much of the query a session is about: a word in many of its messages counts nearly whole. */
function sessionScores(
  rows: readonly RankRow[],
  masks: Uint32Array,
  idf: readonly number[],
): Map<string, number> {
  const counts = new Map<string, Uint32Array>()
  for (const { session, id } of rows) {
    let count = counts.get(session)
    if (count === undefined) {
      count = new Uint32Array(idf.length)
      counts.set(session, count)
    }
    for (let n = 0; n < idf.length; n++) count[n]! += ((masks[id] ?? 0) >>> n) & 1
  }
  const scores = new Map<string, number>()
  for (const [session, count] of counts) {
    scores.set(
      session,
      idf.reduce((sum, weight, n) => sum + (weight * count[n]!) / (count[n]! + 2), 0),
    )
  }
  return scores
}
