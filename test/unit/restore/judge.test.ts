/** Windows, compaction points, zones, trend, report. */
import { describe, expect, test } from "bun:test"
import { hostLimits } from "../../../src/config/load.ts"
import { adviceOn, report, stateDocument } from "../../../src/restore/window/advice.ts"
import { NEW_CONTEXT } from "../../../src/restore/window/context-state.ts"
import { type Judgement, judge, withPrompt } from "../../../src/restore/window/track-context.ts"
import { compactionPoint, windowOf } from "../../../src/restore/window/window.ts"
import {
  formatTokens,
  isNews,
  runwayOf,
  shortTokens,
  trendOf,
  zoneOf,
} from "../../../src/restore/window/zone.ts"

const thresholds = { warn: 0.7, critical: 0.85 }
const window = (model: string | undefined, more: object = {}) =>
  windowOf({ model, option: 0, seen: 0, limits: {}, ...more })
const point = (more: object) =>
  compactionPoint({ window: 200_000, version: "2.1.112", points: [], tokens: 0, limits: {}, ...more })

test("windows", () => {
  for (const model of [
    "claude-sonnet-4-5-20250929",
    "claude-sonnet-4-6",
    "claude-3-5-haiku-20241022",
    "other",
    undefined,
  ]) {
    expect([model, window(model)]).toEqual([model, 200_000])
  }
  for (const model of ["claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-5", "claude-sonnet-4-6[1m]"]) {
    expect([model, window(model)]).toEqual([model, 1_000_000])
  }
  expect(window("claude-sonnet-4-6", { seen: 470_600 })).toBe(1_000_000)
  expect(window("claude-opus-5-5", { limits: { no1M: true } })).toBe(200_000)
  expect(window("claude-opus-5-5", { told: 200_000 })).toBe(200_000)
  expect(window("claude-opus-5-5", { told: 200_000, option: 150_000 })).toBe(150_000)
  // An option that the reading disproves.
  expect(window("claude-opus-5-5", { option: 200_000, seen: 203_000 })).toBe(200_000)
  expect(window("claude-opus-5-5", { option: 200_000, seen: 470_600 })).toBe(1_000_000)
  expect(window("claude-opus-5-5", { told: 500_000, option: 200_000, seen: 470_600 })).toBe(500_000)
})

test("the window that the user gives for a model that the host does not know", () => {
  const limits = hostLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "262144" })
  expect(window("qwen3.8-27b", { limits })).toBe(262_144)
  expect(window("claude-sonnet-4-6", { limits })).toBe(200_000)
  expect(window("us.anthropic.claude-sonnet-4-6-v1:0", { limits })).toBe(200_000)
  expect(window(undefined, { limits })).toBe(200_000)
  expect(window("qwen3.8-27b", { limits, told: 131_072 })).toBe(131_072)
  expect(window("qwen3.8-27b", { limits, option: 100_000 })).toBe(100_000)
  // A reading disproves it.
  expect(window("qwen3.8-27b", { limits, seen: 300_000 })).toBe(1_000_000)
  // Of any model, where nothing is compacted.
  expect(window("claude-sonnet-4-6", { limits: { ...limits, off: "all" } })).toBe(262_144)
  expect(hostLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "many" })).toEqual({})
  expect(hostLimits({ CLAUDE_CODE_MAX_CONTEXT_TOKENS: "-1" })).toEqual({})
})

describe("the compaction point", () => {
  test("follows the formula, as observed with real clients", () => {
    expect(point({}).at).toBe(167_000)
    expect(point({ version: "2.0.76" }).at).toBe(155_000)
    expect(point({ window: 1_000_000 }).at).toBe(967_000)
    const limited = (env: Record<string, string>, more: object = {}) =>
      point({ limits: hostLimits(env), ...more }).at
    expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" }, { version: "2.0.76" })).toBe(84_000)
    expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" })).toBe(90_000)
    expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "50" }, { window: 1_000_000 })).toBe(490_000)
    expect(limited({ CLAUDE_CODE_AUTO_COMPACT_WINDOW: "100000" })).toBe(67_000)
    expect(limited({ CLAUDE_CODE_AUTO_COMPACT_WINDOW: "200000" }, { window: 1_000_000 })).toBe(167_000)
    // Where it may not compact, it goes on to just before the reserve. Hosts up to 2.0 know only one of the variables.
    for (const value of ["1", " Yes ", "on", "TRUE"]) {
      expect([value, limited({ DISABLE_AUTO_COMPACT: value })]).toEqual([value, 177_000])
      expect([value, limited({ DISABLE_COMPACT: value })]).toEqual([value, 177_000])
    }
    expect(limited({ DISABLE_COMPACT: "0", DISABLE_AUTO_COMPACT: "false" })).toBe(167_000)
    expect(limited({ DISABLE_AUTO_COMPACT: "1" }, { version: "2.0.76" })).toBe(155_000)
    expect(limited({ DISABLE_COMPACT: "1" }, { version: "2.0.76" })).toBe(168_000)
    expect(limited({ DISABLE_COMPACT: "1" }, { points: [90_300] })).toBe(177_000)
    expect(limited({ CLAUDE_AUTOCOMPACT_PCT_OVERRIDE: "nonsense" })).toBe(167_000)
  })

  test("where the host's files switch off its own compactions, as far as its version heeds them", () => {
    const said = (version: string, autoCompact: object, more: object = {}) =>
      point({ version, limits: { autoCompact }, ...more }).at
    // All versions heed their state file.
    expect(said("2.0.76", { state: false })).toBe(168_000)
    expect(said("2.1.112", { state: false })).toBe(177_000)
    expect(said("2.1.329", { state: false })).toBe(177_000)
    // Settings came later, and count before the state file.
    expect(said("2.1.112", { settings: false })).toBe(167_000)
    expect(said("2.1.329", { settings: false })).toBe(177_000)
    expect(said("2.1.329", { settings: true, state: false })).toBe(167_000)
    expect(said("2.1.112", { settings: true, state: false })).toBe(177_000)
    expect(said("2.1.329", { settings: true, state: true })).toBe(167_000)
    // What was learnt while it compacted by itself says nothing of where it ends.
    expect(said("2.1.329", { settings: false }, { points: [90_300] })).toBe(177_000)
  })

  test("is learnt to within 3 % of the window after two compactions", () => {
    for (const threshold of [60_000, 84_000, 120_000, 155_000, 167_000, 185_000]) {
      for (const [first, second] of [
        [400, 3_000],
        [9_000, 1_500],
        [5_500, 5_900],
      ] as const) {
        const { at, learnt } = point({ points: [threshold + first, threshold + second] })
        expect({ threshold, learnt, near: Math.abs(at - threshold) / 200_000 <= 0.03 }).toEqual({
          threshold,
          learnt: true,
          near: true,
        })
      }
    }
  })

  test("is the formula's if the observed ones confirm it, or else the lowest of the last three", () => {
    expect(point({ points: [170_900, 167_009, 185_970] })).toEqual({ at: 167_000, learnt: true })
    expect(point({ points: [179_926, 185_970] })).toEqual({ at: 179_926, learnt: true })
    expect(point({ points: [60_000, 120_100, 120_900, 120_300] }).at).toBe(120_100)
    // Grown past it without a compaction: the user has changed something.
    expect(point({ points: [60_000], tokens: 100_000 })).toEqual({ at: 167_000, learnt: false })
  })
})

test("zones, trend and runway", () => {
  expect([0.1, 0.699, 0.7, 0.849, 0.85, 2].map((pressure) => zoneOf(pressure, thresholds))).toEqual([
    "ok",
    "ok",
    "warning",
    "warning",
    "critical",
    "critical",
  ])
  expect(trendOf([])).toBeUndefined()
  expect(trendOf([10_000])).toBeUndefined()
  expect(trendOf([30_000, 20_000])).toBeUndefined()
  expect(trendOf([1, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000])).toBe(10_000)
  expect(runwayOf(60_000, 141_950, 10_000)).toBe(8)
  expect(runwayOf(150_000, 141_950, 10_000)).toBe(0)
  expect(runwayOf(60_000, 141_950, undefined)).toBeUndefined()
})

const judged = (tokens: number): Judgement =>
  judge({ tokens, model: "claude-sonnet-4-6", version: "2.1.112" }, { option: 0, limits: {}, thresholds })!

test("the report has the format of the design documents", () => {
  const facts = { turns: 53, compactions: 0, runway: 4 }
  expect(report({ ...facts, judgement: judged(86_736) })).toBe(
    "[ContextAutopilot] [=========-----------] 43.4% context used (~86.7K/200.0K tokens, 53 turns) " +
      "Status: OK | Optimizations: 0 prune cycles | ~4 turns until optimization needed",
  )
  expect(report({ turns: 1, compactions: 1, runway: undefined, judgement: judged(120_000) })).toBe(
    "[ContextAutopilot] [############--------] 60.0% context used (~120.0K/200.0K tokens, 1 turn) " +
      "Status: WARNING | Optimizations: 1 prune cycle",
  )
  expect(report({ turns: 9, compactions: 2, runway: 0, judgement: judged(176_000) })).toBe(
    "[ContextAutopilot] [!!!!!!!!!!!!!!!!!!--] 88.0% context used (~176.0K/200.0K tokens, 9 turns) " +
      "Status: OPTIMIZING | Optimizations: 2 prune cycles | ~0 turns until optimization needed",
  )
})

test("the user is told of both zones, the model only of the second, each in one line", () => {
  expect(adviceOn(judged(120_000))).toEqual({
    zone: "warning",
    warning: "",
    notice:
      "ctxbridge: context at 72% of the point where it is compacted (120.0K of 167.0K tokens). " +
      "/clear is safe at any time: everything is archived.",
  })
  expect(adviceOn(judged(145_290))).toEqual({
    zone: "critical",
    warning:
      "[ContextAutopilot] Context at 87.0% of the point where it is compacted (~145.3K of 167.0K tokens). " +
      "Keep responses concise to extend session.",
    notice:
      "ctxbridge: context at 87% of the point where it is compacted (145.3K of 167.0K tokens), so compaction is near. " +
      "/clear is safe at any time: everything is archived.",
  })
  const limits = hostLimits({ DISABLE_COMPACT: "1" })
  const off = judge({ tokens: 170_000, version: "2.1.112" }, { option: 0, limits, thresholds })!
  expect(adviceOn(off).notice).toStartWith(
    "ctxbridge: context at 96% of what Claude Code takes (170.0K of 177.0K tokens). /clear",
  )
})

test("a zone is news on the way up, once", () => {
  const told = [undefined, "warning", "critical"] as const
  expect(told.map((before) => isNews("ok", before))).toEqual([false, false, false])
  expect(told.map((before) => isNews("warning", before))).toEqual([true, false, false])
  expect(told.map((before) => isNews("critical", before))).toEqual([true, true, false])
})

test("the state document has the format of the design documents and at most 50 entries", () => {
  let context = { ...NEW_CONTEXT, tokens: 90_000 }
  for (let n = 1; n <= 60; n++) context = { ...withPrompt(context, 0.45, 2000 + n), tokens: 90_000 }
  const { history, ...rest } = JSON.parse(stateDocument("s", context, judged(90_000), 2060))
  expect(rest).toEqual({
    sessionId: "s",
    lastTokenEstimate: 90_000,
    lastPercentage: 0.45,
    pruneCount: 0,
    warningIssued: false,
    lastCheck: 2060,
  })
  expect(history).toHaveLength(50)
  expect(history.at(-1)).toEqual({ ts: 2060, tokens: 90_000, pct: 0.45, turns: 60 })
})

test("tokens for people", () => {
  expect([0, 999, 1000, 86_736, 200_000, 999_949, 1_000_000].map(formatTokens)).toEqual([
    "0",
    "999",
    "1.0K",
    "86.7K",
    "200.0K",
    "999.9K",
    "1.00M",
  ])
  expect(
    [999, 86_736, 99_949, 99_950, 144_000, 999_499, 999_500, 1_250_000, 120_000_000].map(shortTokens),
  ).toEqual(["999", "86.7K", "99.9K", "100K", "144K", "999K", "1.0M", "1.3M", "120M"])
})
