/** Which pieces of a turn a hit shows. */
import { describe, expect, test } from "bun:test"
import fc from "fast-check"
import { wordSet } from "../../../src/base/words.ts"
import { passagesOf, type SearchedMessage } from "../../../src/find/passages.ts"

const sought = (words: string, weight = 1) => ({
  words: new Map([...wordSet(words)].map((word) => [word, weight])),
  prefixes: [],
})
const said = (text: string, fields: Partial<SearchedMessage> = {}): SearchedMessage => ({
  text,
  isProse: true,
  isFound: true,
  isLast: false,
  ...fields,
})
const texts = (parts: readonly SearchedMessage[], words: string, room: number): string[] =>
  passagesOf(parts, sought(words), room).map(({ text }) => text)

const FILLER = "The kiln was swept and the shelves were counted once more before anybody left.\n"

describe("passagesOf", () => {
  test("shows everything if it fits", () => {
    expect(texts([said("a heron\nstood"), said("why?"), said("")], "heron", 40)).toEqual([
      "a heron stood",
      "why?",
      "",
    ])
  })

  test("joins distant places with an ellipsis and marks their words", () => {
    const text = `${FILLER.repeat(9)}Glaze runs at cone ten.\n${FILLER.repeat(9)}Copper reddens without air.\n${FILLER.repeat(9)}`
    const [shown] = passagesOf([said(text)], sought("glaze copper"), 400)
    expect(shown!.text).toContain("…Glaze runs at cone ten.…Copper reddens without air.")
    expect(shown!.marks.map(([from, to]) => shown!.text.slice(from, to))).toEqual(["Glaze", "Copper"])
  })

  test("shows the last answer's conclusion even without sought words", () => {
    const conclusion = "So we leave the lid open and check it by hand."
    const text = `The glaze was looked at.\n${FILLER.repeat(30)}${conclusion}`
    const prompt = said("why is the glaze dull", { isFound: false })
    const shown = (isLast: boolean) =>
      texts([prompt, said(text, { isLast }), said("glaze, glaze ".repeat(60))], "glaze", 500)[1]!
    expect(shown(true)).toEndWith(conclusion)
    expect(shown(false)).not.toContain(conclusion)
  })

  test("shows what the last answer begins with, not what announces it", () => {
    const result = "The lid was too tight.\nSteam had no way out.\nIt ran down the wall.\n"
    const text = `Here is what I found:\n\n## The cause\n${result}${FILLER.repeat(30)}`
    const prompt = said("why is the glaze dull", { isFound: false })
    const shown = (isLast: boolean) =>
      texts([prompt, said(text, { isLast }), said("glaze, glaze ".repeat(60))], "glaze", 400)[1]!
    expect(shown(true)).toContain("The lid was too tight. Steam had no way out. It ran down the wall.")
    expect(shown(true)).not.toContain("Here is what I found")
    expect(shown(false)).toContain("The lid was too tight.")
    expect(shown(false)).not.toContain("It ran down the wall.")
  })

  test("an offer at the end is no conclusion", () => {
    const conclusion = "So we leave the lid open and check it by hand."
    const offers = "Shall I write that down?\n**Or would you rather wait?**"
    const text = `The glaze was looked at.\n${FILLER.repeat(30)}${conclusion}\n${offers}`
    const prompt = said("why is the glaze dull", { isFound: false })
    const parts = [prompt, said(text, { isLast: true }), said("glaze, glaze ".repeat(60))]
    const shown = texts(parts, "glaze", 400)[1]!
    expect(shown).toContain(conclusion)
    expect(shown).not.toContain("Shall I")
  })

  test("what was said on the way is shown for its words, not for how it begins", () => {
    const way = `Now I look at the shelf.\n${FILLER.repeat(9)}The glaze is in the third jar.\n${FILLER.repeat(9)}`
    const shown = (isAside: boolean) =>
      texts([said("Where is the glaze?"), said(way, { isAside })], "glaze", 300)[1]!
    expect(shown(false)).toContain("Now I look")
    expect(shown(true)).toContain("The glaze is in the third jar.")
    expect(shown(true)).not.toContain("Now I look")
  })

  test("never shows only the tool's name of a call", () => {
    const command = `cat ${"shelves kilns and so on ".repeat(9)}> all.txt`
    const call = said(
      `Bash: ${command}\n${"x y z\n".repeat(40)}glaze ${"shelves kilns and so on ".repeat(11)}`,
      { isProse: false },
    )
    const found = said(`The glaze is dull.\n${FILLER.repeat(3)}`)
    for (let room = 30; room < 400; room += 10)
      expect(texts([found, call], "glaze", room)[1]).not.toMatch(/^Bash:…?$/)
  })

  test("always shows what was found, and repeated text only once", () => {
    const twice = "The glaze needs copper and a slow kiln to turn red."
    const log = said(`line one of a log\nglaze\n${"x y z\n".repeat(40)}`, { isProse: false })
    const [found, first, second] = texts(
      [log, said(`${twice}\n${FILLER.repeat(9)}`), said(`${twice}\n${FILLER.repeat(9)}`)],
      "glaze copper kiln",
      300,
    )
    expect(found).toContain("glaze")
    expect(first).toContain(twice)
    expect(second).not.toContain(twice)
  })

  test("a word already shown counts less than a new one", () => {
    const other = "Only the rutile is left over here."
    const glaze = "The glaze was mixed again on that day.\n"
    const [shown] = texts(
      [said(`${glaze.repeat(3)}${FILLER.repeat(9)}${other}\n${FILLER}`)],
      "glaze rutile",
      150,
    )
    expect(shown).toContain(other)
  })

  test("without sought words, shows where texts begin", () => {
    const [found, answer] = texts(
      [
        said(`First things.\n${FILLER.repeat(9)}`),
        said(`It began so.\n${FILLER.repeat(9)}`, { isLast: true }),
      ],
      "",
      500,
    )
    expect(found).toStartWith("First things.")
    expect(answer).toContain("It began so.")
  })

  test("shows the stretch of a very long output with the most words", () => {
    const log = `glaze\n${"nothing of note on this line\n".repeat(4000)}the copper glaze cracked\n${"more\n".repeat(900)}`
    const [shown] = texts([said(log, { isProse: false })], "copper glaze cracked", 400)
    expect(shown).toContain("the copper glaze cracked")
  })

  test("for any texts: fits the room, is well-formed, marks sought words in order", () => {
    const word = fc.constantFrom(
      "cat",
      "Cats",
      "dog.",
      "🛡️",
      "\n",
      "end. ",
      "。",
      "y".repeat(70),
      "🜁".repeat(200),
      "x: ",
    )
    const part = fc.record({
      words: fc.array(word, { maxLength: 80 }),
      isProse: fc.boolean(),
      isFound: fc.boolean(),
      isLast: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 350, max: 900 }),
        (all, room) => {
          const parts = all.map(({ words, ...fields }) => said(words.join(" "), fields))
          const shown = passagesOf(parts, sought("cat end"), room)
          expect(shown).toHaveLength(parts.length)
          expect(shown.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(room)
          for (const { text, marks } of shown) {
            expect(text.isWellFormed()).toBe(true)
            let last = 0
            for (const [from, to] of marks) {
              expect(from).toBeGreaterThanOrEqual(last)
              expect(["cat", "cats", "end"]).toContain(text.slice(from, to).toLowerCase())
              last = to
            }
          }
        },
      ),
    )
  })
})
