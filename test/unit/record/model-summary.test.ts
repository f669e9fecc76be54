/** What is taken of a model's answer, and of a line that another machine has sent. */
import { expect, test } from "bun:test"
import fc from "fast-check"
import { checkedSummary, SUMMARY_TYPE, summaryLineOf } from "../../../src/record/model-summary.ts"

const known = {
  hasTurn: (handle: string) => handle === "ctx:ab12cd",
  hasFile: (path: string) => path === "src/a.ts",
}

const answer = (observation: object) => ({
  summary: { request: "Retries", learned: 7 },
  observations: [{ type: "decision", title: "T", turns: ["ctx:ab12cd"], ...observation }],
})

test("an observation needs one of the six types, a title and a turn of the session", () => {
  const kept = (observation: object) => checkedSummary(answer(observation), known)?.observations
  expect(kept({})).toEqual([
    { type: "decision", title: "T", narrative: "", facts: [], files: [], turns: ["ctx:ab12cd"] },
  ])
  for (const no of [
    { type: "rumour" },
    { title: " " },
    { turns: [] },
    { turns: "ctx:ab12cd" },
    { turns: ["ctx:zz"] },
  ])
    expect(kept(no)).toEqual([])
  expect(kept({ files: ["src/a.ts", "/etc/passwd"], facts: ["one", 2, ""] })).toMatchObject([
    { files: ["src/a.ts"], facts: ["one"] },
  ])
})

test("a summary needs what was asked or what was done", () => {
  expect(checkedSummary(answer({}), known)?.summary).toEqual({
    ...{ request: "Retries", investigated: "", learned: "", completed: "", next: "" },
  })
  for (const no of [undefined, [], "text", {}, { summary: { next: "x" } }, { observations: [] }])
    expect(checkedSummary(no, known)).toBeUndefined()
})

test("any answer, and any line, is bounded or refused, never an error", () => {
  const text = fc.oneof(fc.string(), fc.string({ minLength: 2000, maxLength: 3000 }))
  const any = fc.oneof(fc.anything(), text, fc.array(text, { maxLength: 10 }))
  const observation = fc.record({
    type: fc.constant("change"),
    title: any,
    narrative: any,
    facts: any,
    turns: any,
  })
  const document = fc.record({
    summary: fc.record({ request: any, next: any }),
    observations: fc.array(observation),
  })
  fc.assert(
    fc.property(fc.oneof(any, document), (value) => {
      const all = { hasTurn: () => true, hasFile: () => true }
      const kept = checkedSummary(value, all)
      expect(JSON.stringify(kept ?? null).length).toBeLessThan(12 * 10_000)
      expect(kept?.observations.length ?? 0).toBeLessThanOrEqual(12)
      expect(
        summaryLineOf(JSON.stringify({ type: SUMMARY_TYPE, ...(value as object) }) ?? ""),
      ).toBeUndefined()
      expect(summaryLineOf(String(JSON.stringify(value)))).toBeUndefined()
    }),
    { numRuns: 30 },
  )
})
