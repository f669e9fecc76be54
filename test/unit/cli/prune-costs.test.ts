/** What each way of pruning is said to cost: sums that can be done by hand. */
import { describe, expect, test } from "bun:test"
import {
  batchedRule,
  clearedByApi,
  costOf,
  type PlayedSession,
  playedSession,
  pruneBenchReport,
  renderPruneBench,
  simulatedSession,
  slidingCut,
  unpruned,
} from "../../../src/cli/bench/prune/prune-bench.ts"
import type { SentMessage } from "../../../src/prune/savings.ts"

/** A text whose JSON has so many units. */
const text = (units: number, letter = "w") => ({ type: "text", text: letter.repeat(units - 25) })
const user = (units: number): SentMessage => ({ role: "user", content: [text(units)] })
const assistant = (units: number): SentMessage => ({ role: "assistant", content: [text(units)] })
const result = (units: number): SentMessage => ({
  role: "user",
  content: [{ type: "tool_result", tool_use_id: "t", content: "o".repeat(units) }],
})

/** One unit is a token. Each step asks 100 and is answered 50. */
const session = (count: number, ask: (n: number) => SentMessage = () => user(100)): PlayedSession => ({
  name: "known",
  unitsPerToken: 1,
  overhead: 1_000,
  steps: Array.from({ length: count }, (_, n) => ({ news: [ask(n)], answer: assistant(50), output: 50 })),
})

const NEVER = { point: Number.POSITIVE_INFINITY, summary: 7_000 }
const OPTIONS = { keep: 1, maxChars: 20, results: false, threshold: 60, step: 30 }

describe("the price of a conversation", () => {
  test("is that of what is new, of what is read again, and of answers", () => {
    const cost = costOf(session(3), unpruned, NEVER)
    expect(cost).toMatchObject({ requests: 3, compactions: 0, prefixChanges: 0, output: 150 })
    expect(cost.sent).toBe(1_100 + 1_250 + 1_400)
    expect(cost.largest).toBe(1_400)
    // Written: 1,100, then 150 each. Read: 1,100 and 1,250.
    expect(cost.cost).toBeCloseTo(1.25 * (1_100 + 150 + 150) + 0.1 * (1_100 + 1_250) + 5 * 150)
  })

  test("grows by a summary where it is compacted, unless nobody is asked for one", () => {
    const asked = costOf(session(3), unpruned, { point: 1_400, summary: 7_000 })
    const free = costOf(session(3), unpruned, { point: 1_400, summary: 0 })
    expect(asked).toMatchObject({ requests: 4, compactions: 1, output: 150 + 7_000, prefixChanges: 0 })
    expect(free).toMatchObject({ requests: 3, compactions: 1, output: 150 })
    // 1,000 + 300 + 1,500 to ask with, of which 1,250 are cached.
    expect(asked.sent - free.sent).toBe(2_800 + 0)
    expect(asked.cost - free.cost).toBeCloseTo(0.1 * 1_250 + 1.25 * 1_550 + 5 * 7_000)
  })
})

describe("the models", () => {
  const answers = (model: () => ReturnType<typeof unpruned>, of = session(12)) => costOf(of, model, NEVER)

  test("the rule sends less, and breaks the cache once for each cut", () => {
    const whole = answers(unpruned)
    const pruned = answers(() => batchedRule(OPTIONS))
    expect(pruned.sent).toBeLessThan(whole.sent)
    expect(pruned.prefixChanges).toBeGreaterThan(0)
    expect(pruned.prefixChanges).toBeLessThan(6)
  })

  test("a sliding cut breaks it with nearly each request", () => {
    const sliding = answers(() => slidingCut({ keep: 2, maxChars: 20, threshold: 0 }))
    expect(sliding.sent).toBeLessThan(answers(unpruned).sent)
    expect(sliding.prefixChanges).toBe(10)
  })

  test("results are cleared in batches, or each time, but for the latest", () => {
    const told = session(12, (n) => (n === 0 ? user(100) : result(400)))
    const clearing = { trigger: 2_000, keep: 2, atLeast: 1_000 }
    const batched = answers(() => clearedByApi(clearing, true, 1_000), told)
    const anew = answers(() => clearedByApi(clearing, false, 1_000), told)
    expect(anew.sent).toBeLessThan(batched.sent)
    expect(batched.sent).toBeLessThan(answers(unpruned, told).sent)
    expect(batched.prefixChanges).toBeLessThan(anew.prefixChanges)
    // Eleven results, of which all that are older than two are cleared from the first time on.
    expect(batched.prefixChanges).toBe(3)
    const never = answers(() => clearedByApi({ ...clearing, atLeast: 100_000 }, true, 1_000), told)
    expect(never).toEqual(answers(unpruned, told))
  })
})

test("the simulated session is the same for a seed, and another for another", () => {
  expect(simulatedSession(1, 20)).toEqual(simulatedSession(1, 20))
  expect(simulatedSession(2, 20).steps).not.toEqual(simulatedSession(1, 20).steps)
  const prompts = simulatedSession(1, 20).steps.filter(({ news }) => news[0]!.content[0]!["type"] === "text")
  expect(prompts).toHaveLength(20)
})

test("a session is played without its summaries, and with all that was said", () => {
  const counts = { input: 5_000, output: 700, cacheCreation: 0, cacheRead: 0, cacheHour: 0 }
  const usage = { messageId: "m", model: "m", ...counts }
  const summary = { type: "text", text: "This session is being continued from a previous conversation …" }
  const kept = assistant(50)
  const played = playedSession("s", [
    {
      begins: "start",
      kept: 0,
      messages: [user(100), kept],
      requests: [{ messages: 1, answer: "a", usage }],
    },
    {
      begins: "compaction",
      kept: 2,
      messages: [{ role: "user", content: [summary] }, kept, user(200), assistant(90)],
      requests: [{ messages: 3, answer: "b", usage }],
    },
  ])
  expect(played.steps).toEqual([
    { news: [user(100)], answer: kept, output: 700 },
    { news: [user(200)], answer: assistant(90), output: 700 },
  ])
})

test("the report has each way in each window, relative to no pruning, and says what is modelled", () => {
  const report = pruneBenchReport([simulatedSession(1, 5)], OPTIONS)
  expect(report.sessions.map(({ window }) => window)).toEqual([200_000, 1_000_000])
  for (const { ways } of report.sessions) {
    expect(ways[0]).toMatchObject({ way: "no pruning", relative: 1 })
    for (const { cost, relative } of ways) expect(relative).toBeCloseTo(cost / ways[0]!.cost)
  }
  const lines = renderPruneBench(report)
  expect(lines.filter((line) => line.startsWith("| no pruning "))).toHaveLength(2)
  expect(lines.join("\n")).toContain("written to the cache 1.25, read from it 0.1, answered 5")
})
