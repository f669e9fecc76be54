/** What the page of sessions is searched by: what is written is found again, and nothing in it is more than a list. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import {
  addTurnsWith,
  askedOf,
  bestText,
  dataScript,
  lengthLetter,
  listInScript,
  packed,
  shardsOf,
  spellingsOf,
  type TurnTexts,
  turnsWithAll,
} from "../../../src/cli/pages/search-format.ts"

test("which turns have a word is what was written, however many and however far apart", () => {
  const turns = fc.uniqueArray(fc.tuple(fc.nat(100_000), fc.integer({ min: 1, max: 15 })), {
    selector: ([turn]) => turn,
  })
  fc.assert(
    fc.property(turns, (some) => {
      const row = some.toSorted((a, b) => a[0] - b[0]).map(([turn, kinds]) => (turn << 4) | kinds)
      const found = new Map<number, number>()
      addTurnsWith(found, [["other word", `B ${packed(row)}`]], ["word", false])
      expect(found).toEqual(new Map(some))
    }),
  )
})

test("a script is a call with a list, which says what was put into it", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "binary" }),
      fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.nat())),
      (name, list) => {
        const script = dataScript(name, list)
        expect(script).not.toMatch(/[<\u2028\u2029]|\n./)
        const calls: unknown[] = []
        new Function("ctxbridge", script)((...args: unknown[]) => calls.push(args))
        expect(calls).toEqual([[name, list]])
      },
    ),
  )
  const list = ["</script><script>", "\u2028", "__proto__", 'a")', "(,)"]
  expect(listInScript(dataScript("d-a", list))).toEqual(list)
})

describe("what is asked", () => {
  test.each([
    ["rate lim", { words: ["rat"], prefix: "lim", phrases: [] }],
    ["rate limits ", { words: ["rat", "limit"], prefix: "", phrases: [] }],
    ["getUserName ", { words: ["get", "user", "nam"], prefix: "", phrases: [] }],
    ['"Rate  Limit" api', { words: ["rat", "limit"], prefix: "api", phrases: ["rate limit"] }],
    ['"rate lim', { words: ["rat", "lim"], prefix: "", phrases: ["rate lim"] }],
    ["a", { words: ["a"], prefix: "", phrases: [] }],
    ["?!", { words: [], prefix: "", phrases: [] }],
  ])("%s", (text, asked) => {
    expect(askedOf(text)).toEqual(asked)
  })

  test("a word that is being typed is found by the stems that it may get", () => {
    expect(spellingsOf(askedOf("caching whale"))).toEqual([
      [["cach", false]],
      expect.arrayContaining([
        ["whale", true],
        ["whal", false],
      ]),
    ])
  })

  test("a word lies in one shard, a beginning in all that it may begin in", () => {
    const first = ["apple", "beta", "bets", "cat"]
    expect(shardsOf(first, ["bet", false])).toEqual([0])
    expect(shardsOf(first, ["bet", true])).toEqual([0, 1, 2])
    expect(shardsOf(first, ["beta", false])).toEqual([1])
    expect(shardsOf(first, ["aa", true])).toEqual([0])
    expect(shardsOf(first, ["zoo", true])).toEqual([3])
    expect(shardsOf([], ["zoo", true])).toEqual([])
  })
})

test("turns have all words; a rare word, a prompt and a short turn count more", () => {
  const ranked = (...each: [number, number][][]): number[] =>
    turnsWithAll(
      each.map((one) => new Map(one)),
      lengthLetter(50).repeat(3) + lengthLetter(5000),
      4,
    )
      .sort((a, b) => b.score - a.score)
      .map(({ turn }) => turn)
  expect(
    ranked(
      [
        [0, 1],
        [1, 1],
      ],
      [
        [1, 1],
        [2, 1],
      ],
    ),
  ).toEqual([1])
  expect(
    ranked([
      [0, 4],
      [1, 1],
      [2, 2],
    ]),
  ).toEqual([1, 2, 0])
  expect(
    ranked([
      [3, 1],
      [2, 1],
    ]),
  ).toEqual([2, 3])
  expect(ranked()).toEqual([])
  expect(ranked([], [[1, 1]])).toEqual([])
})

describe("a hit's text", () => {
  const turn: TurnTexts = [
    "ctx:ab12cd",
    1,
    null,
    ...[0, "Mend the enclosure"],
    ...[
      1,
      `${"x ".repeat(500)}The rate of songs. ${"y ".repeat(500)}A hard-rate\nlimit was wrong ${"z ".repeat(200)}`,
    ],
    ...[3, "Error: RATE_LIMITED"],
  ]
  const shown = (text: string): string[] => {
    const hit = bestText(turn, askedOf(text))!
    return [hit.kind, ...hit.marks.map(([from, to]) => hit.text.slice(from, to))]
  }

  test("is the one with all words, near each other, and marks them alone", () => {
    expect(shown("mend enclos")).toEqual(["prompt", "Mend", "enclosure"])
    expect(shown("wrong limit")).toEqual(["answer", "limit", "wrong"])
    expect(shown("error rate ")).toEqual(["error", "Error", "RATE"])
  })

  test("begins with a word, and is cut", () => {
    const { text } = bestText(turn, askedOf("wrong limit"))!
    expect(text).toMatch(/^…y y .*A hard-rate\nlimit was wrong.*…$/s)
    expect(text.length).toBeLessThan(330)
  })

  test("has the phrase, whatever the space in it", () => {
    expect(shown('"rate limit"')).toContain("limit")
    expect(bestText(turn, askedOf('"limit rate"'))).toBeUndefined()
  })
})
