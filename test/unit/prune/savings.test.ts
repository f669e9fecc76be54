/** What each way would have taken out of the window in sessions whose sizes are known. */
import { afterEach, beforeEach, expect, test } from "bun:test"
import { ANY_HANDLE, recentSavings, scaleOf, sentPassages, unitsBefore } from "../../../src/prune/savings.ts"
import { Archive } from "../../support/archive.ts"

let archive: Archive
beforeEach(() => {
  archive = new Archive()
})
afterEach(() => archive[Symbol.dispose]())

const OPTIONS = { keep: 1, maxChars: 80, results: false, threshold: 4_000, step: 2_000 }

/** Five turns with so much text in each; what was sent grows by 3 units per token, from 1,000. */
function session(id: string, { text, output }: { text: number; output: number }) {
  const it = archive.session(id)
  let units = 0
  const usage = () => ({ usage: { input_tokens: 1_000 + Math.round(units / 3), output_tokens: 5 } })
  for (let n = 0; n < 5; n++) {
    const prompt = `${n} ${"p".repeat(text)}`
    units += JSON.stringify({ type: "text", text: prompt }).length
    it.user(prompt)
    for (let step = 0; step < 5; step++) {
      const id = `toolu_${n}_${step}`
      const call = { type: "tool_use", id, name: "Bash", input: {} }
      const result = { type: "tool_result", tool_use_id: id, content: "o".repeat(output) }
      it.message().block(call, {}, usage()).user([result])
      units += JSON.stringify(call).length + JSON.stringify(result).length
    }
    const answer = { type: "text", text: "Done." }
    it.message().block(answer, {}, usage())
    units += JSON.stringify(answer).length
  }
  archive.follow(it.flush())
  return it
}

const savings = (options = OPTIONS, count = 10) => recentSavings(archive.db, archive.dataHome, options, count)

test("in tokens of the session's own scale: text by the rule, results by the API", () => {
  session("s1", { text: 30_000, output: 9_000 })
  const [only, ...more] = savings()
  expect(more).toEqual([])
  expect(only!.session).toBe("s1")
  expect(only!.title).toMatch(/^0 p+…$/)
  expect(only!.title.length).toBeLessThanOrEqual(60)
  // Four of five prompts of 10,000 tokens; 15 of 25 results of 3,000 tokens.
  expect(Math.round(only!.saved.proxy! / 1_000)).toBe(40)
  expect(only!.saved.patch).toBe(only!.saved.proxy)
  expect(Math.round(only!.saved.native! / 1_000)).toBe(45)
  expect(only!.saved.plugin).toBeUndefined()
  expect(only!.tokens).toBeGreaterThan(120_000)
})

test("nothing, where no way would have become active", () => {
  session("s1", { text: 200, output: 100 })
  expect(savings()[0]!.saved).toEqual({ native: 0, plugin: undefined, proxy: 0, patch: 0 })
})

test("at a compaction, the plugin takes out what it does not need", () => {
  const it = session("s1", { text: 30_000, output: 9_000 })
  it.boundary().summary("s".repeat(6_000))
  const after = { usage: { input_tokens: 10_000, output_tokens: 5 } }
  it.user("Go on").message().block({ type: "text", text: "Yes." }, {}, after).flush()
  archive.follow(it)
  const [{ saved, tokens }] = savings() as [ReturnType<typeof savings>[number]]
  expect(Math.round(saved.plugin! / 100)).toBe(Math.round((tokens - 10_000 - 1_000) / 100))
})

test("the latest sessions, each once", () => {
  for (const id of ["s1", "s2", "s3"]) session(id, { text: 100, output: 10 })
  expect(savings(OPTIONS, 2)).toHaveLength(2)
  expect(new Set(savings().map(({ session }) => session))).toEqual(new Set(["s1", "s2", "s3"]))
  expect(ANY_HANDLE).toMatch(/^ctx:\w{6}$/)
})

test("the scale is what requests grew by; a picture has one of its own", () => {
  const line = (fields: object) => JSON.stringify({ type: "user", message: fields })
  const answer = (id: string, tokens: number) =>
    JSON.stringify({
      type: "assistant",
      message: {
        role: "assistant",
        id,
        content: [{ type: "text", text: "ok" }],
        usage: { input_tokens: tokens },
      },
    })
  const words = (length: number) => line({ role: "user", content: "w".repeat(length) })
  const [passage] = sentPassages([words(3_000), answer("a", 6_000), words(60_000), answer("b", 26_000)])
  const scale = scaleOf(passage!)
  expect(scale.unitsPerToken).toBeCloseTo(3, 1)
  expect(scale.overhead).toBeGreaterThan(4_900)
  expect(scale.overhead).toBeLessThan(5_100)
  const picture = { type: "image", source: { type: "base64", data: "A".repeat(1_000_000) } }
  expect(unitsBefore([{ role: "user", content: [picture] }])[1]).toBe(6_000)
})
