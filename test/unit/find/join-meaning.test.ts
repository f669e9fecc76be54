/** How words and meaning make one order, with made-up cosines. */
import { describe, expect, test } from "bun:test"
import { type Coverage, coverageOf, joined, type Ranked, type Similar } from "../../../src/find/rank.ts"

const term = (word: string, weight: number) => ({ word, weight, typed: word, isPrefix: false })
const asked = (...words: string[]) => words.map((word) => ({ word, typed: word, isPrefix: false }))

const SIZE = 10_000
/** Two rare words, and one that half of the messages have. */
const terms = [term("quorum", 6), term("falcon", 5), term("server", 0.7)]
/** Of each message, what it has of these: by its id. */
const masks = Uint8Array.from({ length: 8 }, (_, id) => id)
const coverage = (words: readonly string[], ...best: number[]) =>
  coverageOf(asked(...words), { terms, masks, size: SIZE }, best)

const byWords = (...turns: (readonly [turn: number, score: number])[]): Ranked[] =>
  turns.map(([turn, score]) => ({ turn, message: turn * 10, score }))
const turnsOf = (found: readonly Ranked[]) => found.map(({ turn }) => turn)

/** So much is covered, and rare words are in these messages. */
const left = (covered: number, ...rare: number[]): Coverage => ({
  covered,
  isOpen: true,
  isKnown: true,
  hasRare: (message) => rare.includes(message),
})
/** With this coverage, a cosine of 1 counts as much as the best by words. */
const EVEN = left(0.65)

describe("what the best turns have of a query", () => {
  test("rare words count more", () => {
    expect(coverage(["quorum", "falcon", "server"], 0b111)).toMatchObject({ covered: 1, isOpen: false })
    expect(coverage(["quorum", "falcon", "server"], 0b011).covered).toBeCloseTo(11 / 11.7)
    expect(coverage(["quorum", "falcon", "server"], 0b100).covered).toBeCloseTo(0.7 / 11.7)
  })

  test("one turn has to have them: two halves are no whole", () => {
    const { covered, isOpen } = coverage(["quorum", "falcon"], 0b01, 0b10)
    expect(covered).toBeCloseTo(6 / 11)
    expect(isOpen).toBe(true)
  })

  test("a word that no message has is missing, and weighs as much as one can", () => {
    const { covered, isKnown } = coverage(["quorum", "zzzqqq"], 0b001)
    expect(covered).toBeCloseTo(6 / (6 + Math.log(1 + (SIZE + 0.5) / 0.5)))
    expect(isKnown).toBe(true)
    expect(coverage(["zzzqqq"], 0b001)).toMatchObject({ covered: 0, isKnown: false })
  })

  test("words around the subject do not count beside it", () => {
    expect(coverage(["quorum", "something"], 0b001).covered).toBe(1)
  })

  test("rare words are those of which fewer than one in fifty messages have any", () => {
    const { hasRare } = coverage(["quorum", "falcon", "server"])
    expect([0b011, 0b111, 0b001, 0b100].map((message) => hasRare(message))).toEqual([
      true,
      true,
      false,
      false,
    ])
    expect(coverage(["server"]).hasRare(0b100)).toBe(false)
    // Nobody has said it all.
    expect(coverage(["quorum", "zzzqqq"]).hasRare(0b111)).toBe(false)
  })
})

describe("words and meaning in one order", () => {
  const near = (...some: (readonly [turn: number, cosine: number])[]): { similar: Similar[] } => ({
    similar: some.map(([turn, score]) => ({ turn, message: turn * 10 + 1, score })),
  })

  test("the more is missing, the further up comes what is alike; nothing is added to what is covered", () => {
    const words = byWords([1, 10], [2, 7], [3, 3])
    const placeAt = (covered: number): number =>
      turnsOf(joined(words, near([9, 0.5]), left(covered))).indexOf(9)
    expect([1, 0.9, 0.8, 0.65, 0.5, 0.2].map(placeAt)).toEqual([-1, -1, 3, 2, 1, 0])
    expect(joined(words, near([9, 0.5]), left(1))).toBe(words)
    // For whoever asks for both.
    expect(turnsOf(joined(words, near([9, 0.5]), left(1), 1))).toEqual([1, 2, 9, 3])
  })

  test("what has next to nothing of the query is no good match, even if it is the best", () => {
    const firstAt = (covered: number) =>
      joined(byWords([1, 10]), near([9, 0.25]), left(covered)).map(({ turn }) => turn)[0]
    expect([0.3, 0.1].map(firstAt)).toEqual([1, 9])
  })

  test("while half of the turns have no vectors, meaning counts half", () => {
    const firstWith = (embedded: number) =>
      joined(byWords([1, 10]), { ...near([9, 0.9]), vectors: { turns: 8, embedded } }, left(0.5))[0]!.turn
    expect([8, 4].map(firstWith)).toEqual([9, 1])
  })

  test("a long turn of many middling messages does not win by their number", () => {
    const many = Array.from({ length: 50 }, (_, n) => ({ turn: 7, message: 70 + n, score: 0.3 }))
    const found = joined([], { similar: [...many, { turn: 8, message: 80, score: 0.6 }] }, EVEN)
    expect(turnsOf(found)).toEqual([8, 7])
  })

  test("scores decide, not places: a much better match by words stays ahead", () => {
    const found = joined(byWords([1, 10], [2, 1], [3, 0.5]), near([3, 0.5], [4, 0.48]), EVEN)
    expect(turnsOf(found)).toEqual([1, 3, 4, 2])
    for (const [n, score] of [0.5, 0.275, 0.24, 0.05].entries()) expect(found[n]!.score).toBeCloseTo(score)
  })

  test("what has all rare words, or the words as they were typed, is not outvoted, and its score says so", () => {
    const words = byWords([1, 10], [2, 9], [3, 8])
    const found = joined(words, near([9, 0.9]), left(0.1, 20))
    expect(turnsOf(found)).toEqual([2, 9, 1, 3])
    expect(found[0]!.score).toBe(found[1]!.score)
    const typed = [{ ...words[0]!, by: "phrase" } as const, ...words.slice(1)]
    expect(turnsOf(joined(typed, near([9, 0.9]), left(0.1)))).toEqual([1, 9, 2, 3])
  })

  test("a turn found both ways shows the message that counts more, and tells which way it was", () => {
    const [first, second] = joined(byWords([1, 10], [2, 2]), near([1, 0.4], [2, 0.8]), EVEN)
    expect(first).toMatchObject({ turn: 1, message: 10 })
    expect(first!.by).toBeUndefined()
    expect(second).toMatchObject({ turn: 2, message: 21, by: "meaning" })
  })

  test("what is not alike is none; of words that nobody knows more is wanted", () => {
    const alike = near([1, 0.45], [2, 0.3], [3, 0.19])
    const unknown = { ...EVEN, isKnown: false }
    expect(turnsOf(joined([], alike, EVEN))).toEqual([1, 2])
    expect(turnsOf(joined([], alike, unknown))).toEqual([1])
    expect(turnsOf(joined([], { ...alike, hasWords: true }, unknown))).toEqual([1, 2])
  })

  test("vectors of hashed words tell of words, not of meaning", () => {
    const similar: Similar[] = [{ turn: 2, message: 21, score: 0.9 }]
    expect(joined([], { similar, isHashed: true }, EVEN)).toMatchObject([{ turn: 2, by: "words" }])
    expect(joined([], { similar }, EVEN)).toMatchObject([{ turn: 2, by: "meaning" }])
  })

  test("nothing found by words, or nothing by meaning", () => {
    expect(turnsOf(joined([], near([9, 0.5]), EVEN))).toEqual([9])
    expect(turnsOf(joined(byWords([1, 10], [2, 9]), near(), EVEN))).toEqual([1, 2])
    expect(joined([], { similar: undefined }, EVEN)).toEqual([])
  })
})
