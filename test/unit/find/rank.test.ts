import { describe, expect, test } from "bun:test"
import type { Candidates } from "../../../src/find/candidates.ts"
import { besides, fuse, rank, shortlist } from "../../../src/find/rank.ts"
import type { RankRow } from "../../../src/views/queries/messages.ts"

const term = (word: string, weight: number) => ({ word, weight, typed: word, isPrefix: false })

/** Candidates with the given masks, by id from 1. */
function candidates(masks: readonly number[], weights: readonly number[]): Candidates {
  const all = new Uint32Array([0, ...masks])
  const ids = masks.flatMap((mask, n) => (mask === 0 ? [] : [n + 1]))
  return { terms: weights.map((weight, n) => term(`w${n}`, weight)), masks: all, ids }
}

const row = (id: number, fields: Partial<RankRow> = {}): RankRow => ({
  id,
  turn: id,
  session: "s",
  length: 1000,
  kind: "answer",
  ...fields,
})

describe("rank", () => {
  test("rarer words count more, long lines less", () => {
    const found = candidates([0b01, 0, 0, 0, 0b10, 0, 0, 0, 0b01], [2, 3])
    const order = rank(found, [
      row(1, { session: "a" }),
      row(5, { session: "b" }),
      row(9, { session: "c", length: 50_000 }),
    ])
    expect(order.map(({ message }) => message)).toEqual([5, 1, 9])
  })

  test("the whole query in one message counts more than its halves in two", () => {
    const found = candidates([0b01, 0, 0, 0, 0b10, 0, 0, 0, 0b11], [2, 2])
    const scores = new Map(
      rank(found, [row(1, { session: "a" }), row(5, { session: "b" }), row(9, { session: "c" })]).map(
        ({ message, score }) => [message, score],
      ),
    )
    expect(scores.get(9)!).toBeGreaterThan(scores.get(1)! + scores.get(5)!)
  })

  test("prose counts more than calls and outputs of the same length", () => {
    const found = candidates([0b1, 0, 0, 0, 0b1, 0, 0, 0, 0b1], [2])
    const order = rank(found, [
      row(1, { session: "a" }),
      row(5, { session: "b", kind: "call" }),
      row(9, { session: "c", kind: "result" }),
    ])
    expect(order[0]!.message).toBe(1)
  })

  test("the output of a failed call counts more than other outputs, and than a call", () => {
    const found = candidates([0b1, 0, 0, 0, 0b1, 0, 0, 0, 0b1], [2])
    const order = rank(found, [
      row(1, { session: "a", kind: "failure" }),
      row(5, { session: "b", kind: "result" }),
      row(9, { session: "c", kind: "call" }),
    ])
    expect(order.map(({ message }) => message)).toEqual([1, 9, 5])
  })

  test("a turn's other messages: best first, at most two, without its prompt and what is already shown", () => {
    const masks = [0b11, 0b01, 0b11, 0b10, 0b11, 0b11, 0]
    const found = candidates(masks, [2, 3])
    const rows = masks.map((_, n) => row(n + 1, { turn: 4, kind: n === 0 ? "prompt" : "answer" }))
    const shown = { turn: 4, message: 3, score: 1 }
    expect([...besides(found, rows, [shown])]).toEqual([[4, [rows[4]!, rows[5]!]]])
    expect(besides(found, rows, [{ ...shown, turn: 9 }]).get(9)).toEqual([])
    expect(besides(found, rows, []).size).toBe(0)
  })

  test("neighbours in the same session raise a message's score", () => {
    const found = candidates([0b1, 0b1, 0, 0, 0, 0, 0, 0b1, 0b1], [2])
    const same = rank(found, [row(1, { session: "a" }), row(2, { session: "a" })])
    const apart = rank(found, [row(8, { session: "b" }), row(9, { session: "c" })])
    expect(same[0]!.score).toBeGreaterThan(apart[0]!.score)
  })

  test("a turn appears once, with its best message, and all its words count", () => {
    const found = candidates([0b01, 0, 0, 0, 0, 0b10, 0, 0, 0, 0, 0b10], [2, 3])
    const [first, ...rest] = rank(found, [row(1, { turn: 7 }), row(6, { turn: 7 }), row(11, { turn: 8 })])
    expect(first).toMatchObject({ turn: 7, message: 6 })
    expect(rest).toHaveLength(1)
  })

  test("the shortlist keeps the best, then the newest", () => {
    const found = candidates([0b1, 0b1, 0b10, 0b1, 0b1], [1, 5])
    expect(shortlist(found, 3)).toEqual([3, 5, 4])
    expect(shortlist(found, 9)).toEqual([1, 2, 3, 4, 5])
  })

  test("more than 30 words fit into a mask", () => {
    const found = candidates([2 ** 31, 0, 0, 0, 2 ** 31 + 1], Array(32).fill(1))
    expect(rank(found, [row(1), row(5)]).map(({ message }) => message)).toEqual([5, 1])
  })
})

test("merging two rankings puts what both have first and loses nothing", () => {
  const lexical = [1, 2, 3].map((turn) => ({ turn, message: turn * 10, score: 9 - turn }))
  const order = fuse(lexical, [
    { turn: 3, score: 0.9 },
    { turn: 4, message: 44, score: 0.8 },
  ])
  expect(order.map(({ turn }) => turn)).toEqual([3, 1, 2, 4])
  expect(order[0]!.message).toBe(30)
  expect(order[3]!.message).toBe(44)
})
