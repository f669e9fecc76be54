/** RULES_NUMBER goes up when the rules change: otherwise what was archived before is not filtered again. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { FORMATS } from "../../../src/secrets/formats/all-formats.ts"
import { RULES_NUMBER } from "../../../src/secrets/rules.ts"
import { conditionsOf } from "../../support/conditions.ts"
import { filledPrint, patternsPrint, ruleSources } from "../../support/rules-print.ts"

const GOLDEN = "test/golden/rules.tsv"

const lines = readFileSync(join(import.meta.dir, "../../..", GOLDEN), "utf8")
  .trimEnd()
  .split("\n")
const numberOf = (line: string): number => Number(line.split("\t")[0])

test("each number has one line, and the last is that of RULES_NUMBER", () => {
  expect(lines[0]).toBe("number\tpatterns\tfilled")
  const numbers = lines.slice(1).map(numberOf)
  expect(numbers).toEqual(numbers.map((_, n) => numbers[0]! + n))
  expect(numbers.at(-1)).toBe(RULES_NUMBER)
})

test("the rules are those of RULES_NUMBER", () => {
  const prints = `${patternsPrint()}\t${filledPrint()}`
  const line = `${RULES_NUMBER}\t${prints}`
  if (lines.at(-1) === line) return
  throw new Error(
    `The rules for secrets have changed since ${GOLDEN} was written.

Do they find anything that they did not find before? Then raise RULES_NUMBER (src/secrets/rules.ts) to ${RULES_NUMBER + 1}, so that
what was archived before is filtered again, and add this line to ${GOLDEN}:
${RULES_NUMBER + 1}\t${prints}

Do they find the same, or less? Then leave the number, and put this line in place of the last:
${line}
`,
  )
})

describe("what tells rules apart", () => {
  const source = `
    /** Words. */
    import { other } from "./other.ts"
    const WORDS: readonly string[] = ["harbour", 'quay']
    export function find(text: string): number {
      if (text.length < 20) throw new Error("too short")
      return text.search(/\\bpier{2,}/) + \`of \${text}\`.length + 1
    }`

  test("not comments, names, types, errors, order nor imports", () => {
    const same = `
      import { another } from "./another.ts"
      export const seek = (it: string): number => {
        const at = it.search(/\\bpier{2,}/)
        if (it.length < 20) throw new RangeError("not long enough")
        return 1 + at + (\`of \${it}\`).length
      }
      const NAMES = ["harbour", "quay"] // as they are said`
    expect(conditionsOf(same)).toEqual(conditionsOf(source))
    expect(conditionsOf(source)).toEqual([
      '"harbour"',
      '"of "',
      '"quay"',
      "+",
      "+",
      "/\\bpier{2,}/",
      "20",
      "<",
    ])
  })

  test.each([
    ["a word", '"harbour"', '"haven"'],
    ["a word more", "'quay'", "'quay', 'dock'"],
    ["an expression", "pier{2,}", "pier{3,}"],
    ["a number", "20", "18"],
    ["a template", "`of ", "`from "],
    ["a comparison", "length < 20", "length <= 20"],
  ])("%s", (_, before, after) => {
    expect(source).toContain(before)
    expect(conditionsOf(source.replace(before, after))).not.toEqual(conditionsOf(source))
  })

  test("a format, whichever table it is in, and whatever its service is called", () => {
    const sources = ruleSources()
    const shapes = FORMATS.map(([, shape]) => shape)
    const usual = patternsPrint(sources, shapes)
    expect(patternsPrint(sources, shapes.toReversed())).toBe(usual)
    expect(patternsPrint(sources, [...shapes, "harbour_{an 20}"])).not.toBe(usual)
    expect(patternsPrint(sources, shapes.with(0, `${shapes[0]!}!`))).not.toBe(usual)
    expect(sources.join("")).not.toContain(shapes[0]!)
  })

  test("what they fill", () => {
    expect(filledPrint((text) => text)).not.toBe(filledPrint())
  })
})
