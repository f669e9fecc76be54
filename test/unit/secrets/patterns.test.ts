/** The user's own patterns: they mean what they mean in JavaScript, and take time in proportion to the text. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { finderOf, problemOf } from "../../../src/secrets/patterns.ts"

const found = (pattern: string, text: string): string[] => {
  const all: string[] = []
  finderOf([pattern])(text, (start, end) => void all.push(`${start}-${end}`))
  return all
}

const native = (pattern: string, text: string): string[] =>
  [...text.matchAll(new RegExp(pattern, "g"))]
    .filter(([match]) => match !== "")
    .map(({ 0: match, index }) => `${index}-${index + match.length}`)

describe("are refused, with the reason", () => {
  test.each([
    ["(", "not a regular expression"],
    ["(x)\\1", "back-references take too long"],
    ["(?<a>x)\\k<a>", "back-references take too long"],
    ["x*", "it matches the empty text"],
    ["\\b", "it matches the empty text"],
    ["a".repeat(301), "longer than 300 characters"],
    ["(?:\\w{1,40}-){40}", "too large"],
    ["a(?:(?:(?:){9999}){9999}){9999}", "too large"],
    ["a{0,99999}b", "too large"],
    ["(?=a(?!b))a", "a look-around within a look-around"],
  ])("%s", (pattern, problem) => {
    expect(problemOf(pattern)).toStartWith(problem)
  })
})

test.each([
  ["ACME-\\d+", "x ACME-12 ACME- ACME-3"],
  ["\\bint-[a-z]{4,}\\b", "int-abcd xint-abcd int-abc int-abcde1 int-wxyz"],
  ["[\\w.]+@example\\.com", "a.b@example.com, c@example.org @example.com"],
  ["(?:ab)+", "ababab a abab"],
  ["(?<=id: )(?:-x)+(a|b)?(?!c+)", "id: -x-xa id: -xac id:-x"],
  ["(?=.*9)\\d{3}", "123 456 789 012"],
  ["(?<!no )secret", "no secret, but secret"],
  ["token=.*?;", "token=abc; token=def;"],
  ["(?i:acme)-[[\\]x-z]", "AcMe-y acme-] ACME-a"],
  ["a{2}|b{1,3}?|c{2,}|{x|}", "aaaa bbb cccc {x }"],
  ["[^\\]\\w]\\x41\\u0042", "-AB ]AB aAB"],
  ["^a|b$|\\Bc", "a b cc b"],
  ["(a|ab)(c|bcd)(d*)", "abcd"],
  ["(a+)+$", "aaaa aaa"],
])("%s finds what the engine finds", (pattern, text) => {
  expect(problemOf(pattern)).toBeUndefined()
  expect(found(pattern, text)).toEqual(native(pattern, text))
  expect(native(pattern, text)).not.toEqual([])
})

const atom = fc.constantFrom(
  "a",
  "b",
  "c",
  "[ab]",
  "[^a]",
  ".",
  "\\w",
  "\\b",
  "^",
  "$",
  "(?=a)",
  "(?!b)",
  "(?<=a)",
  "(?<!ab|c)",
)
const quantifier = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?", "??")
const { expression } = fc.letrec<{ expression: string; group: string; part: string }>((tie) => ({
  expression: fc.array(tie("part"), { minLength: 1, maxLength: 4 }).map((parts) => parts.join("")),
  group: fc
    .array(tie("expression"), { minLength: 1, maxLength: 3 })
    .map((choices) => `(?:${choices.join("|")})`),
  part: fc.oneof(
    { depthSize: "small" },
    fc.tuple(atom, quantifier).map(([one, sign]) => (/^[\^$]|^\\b|^\(\?/.test(one) ? one : one + sign)),
    // How often a group that may be empty is repeated, and with what, is not defined in the same way.
    fc
      .tuple(tie("group"), quantifier)
      .map(([one, sign]) => (problemOf(one) === undefined ? one + sign : one)),
  ),
}))

test("random patterns find what the engine finds", () => {
  let compared = 0
  fc.assert(
    fc.property(
      expression,
      fc.string({ unit: fc.constantFrom("a", "b", "c", " "), maxLength: 12 }),
      (pattern, text) => {
        if (problemOf(pattern) !== undefined) return
        compared++
        expect(found(pattern, text)).toEqual(native(pattern, text))
      },
    ),
    { numRuns: 3000 },
  )
  expect(compared).toBeGreaterThan(500)
})

/** ms of CPU time. */
function cost(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const SIZE = 64 << 10
const HARD = ["a", "ab", "a ", "x1", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", "-"]

test.each([
  ["[a-z]+[a-z]+[a-z]+\\d"],
  ["\\w{1,99}\\w{1,99}\\w{1,99}\\w{1,99}!"],
  [`${"a?".repeat(28)}${"a".repeat(28)}`],
  ["[^x]*[^y]*[^z]*q"],
  ["(a+)+$"],
  ["(?:a|aa)*b"],
  ["a(?:.*b)?"],
  ["(?=.*x)a(?<=a.*)"],
])("%s takes time in proportion", (pattern) => {
  expect(problemOf(pattern)).toBeUndefined()
  const find = finderOf([pattern])
  for (const piece of HARD) {
    const text = piece.repeat(SIZE / piece.length)
    expect(cost(() => find(text, () => {}))).toBeLessThan(5000)
  }
})

test("random patterns take bounded time on any of these texts", () => {
  fc.assert(
    fc.property(expression, fc.constantFrom(...HARD), (pattern, piece) => {
      if (problemOf(pattern) !== undefined) return
      const text = piece.repeat(8192 / piece.length)
      expect(cost(() => finderOf([pattern])(text, () => {}))).toBeLessThan(1000)
    }),
    { numRuns: 300 },
  )
})
