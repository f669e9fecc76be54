/** Labelled sentences in four languages: how many of those found are right, and how many are found. */
import { describe, expect, test } from "bun:test"
import { constraintsIn, decisionsIn, refutedIn } from "../../../src/record/noted-sentences.ts"
import { CONSTRAINTS, DECISIONS, REFUTED } from "../../fixtures/labelled.ts"

describe.each([
  ["constraints", constraintsIn, CONSTRAINTS],
  ["decisions", decisionsIn, DECISIONS],
  ["refuted ways", refutedIn, REFUTED],
] as const)("%s", (_name, find, languages) => {
  test.each(Object.entries(languages))(
    "%s: precision of 0.9 and recall of 0.8 at least",
    (_language, { yes, no }) => {
      const right = yes.filter((sentence) => find(sentence).length > 0)
      const wrong = no.filter((sentence) => find(sentence).length > 0)
      const missed = yes.filter((sentence) => !right.includes(sentence))
      const precision = right.length / Math.max(1, right.length + wrong.length)
      const recall = right.length / yes.length
      expect({ wrong, missed, enough: precision >= 0.9 && recall >= 0.8 }).toMatchObject({ enough: true })
    },
  )

  test("of many sentences each is judged alone", () => {
    const { yes, no } = languages["Chinese"]!
    expect(find(`${no[3]}${yes[0]}`)).toEqual([yes[0]!])
  })
})
