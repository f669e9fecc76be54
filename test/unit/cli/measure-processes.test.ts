import { describe, expect, test } from "bun:test"
import {
  type FirstRead,
  type ReportRow,
  type Scenario,
  verdictsOn,
} from "../../../src/cli/bench/hook-tables.ts"
import {
  measureCommands,
  median,
  percentile,
  type Result,
  runOnce,
  spread,
} from "../../../src/cli/bench/hook-world.ts"

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i + 1)

describe("statistics", () => {
  test.each([
    [[], 0],
    [[4], 4],
    [[1, 9], 5],
    [[1, 2, 9], 2],
    [[1, 2, 3, 4], 2.5],
  ])("median of %p", (sorted, expected) => {
    expect(median(sorted)).toBe(expected)
  })

  test.each([
    [[], 0.95, 0],
    [[7], 0.95, 7],
    [range(20), 0.95, 19],
    [range(100), 0.95, 95],
    [range(10), 0.95, 10],
    [range(10), 0, 1],
    [range(10), 1, 10],
  ])("percentile of %p at %d", (sorted, share, expected) => {
    expect(percentile(sorted, share)).toBe(expected)
  })

  test("a spread does not need sorted samples and does not change them", () => {
    const samples = [30, 1, 20, 10]
    expect(spread(samples)).toEqual({ min: 1, median: 15, p95: 30 })
    expect(samples).toEqual([30, 1, 20, 10])
    expect(spread([])).toEqual({ min: 0, median: 0, p95: 0 })
  })
})

describe("measureCommands", () => {
  const run = (exit: number) => ({ argv: ["/bin/sh", "-c", `exit ${exit}`], env: {} })

  test("every case runs in every round; exit codes count after the warm-up", async () => {
    const prepared = { good: 0, bad: 0 }
    const results = await measureCommands(
      [
        { name: "good", ...run(0), before: () => void prepared.good++ },
        { name: "bad", ...run(3), before: () => void prepared.bad++ },
      ],
      { rounds: 3, warmup: 2, memoryRounds: 1 },
    )
    expect(prepared).toEqual({ good: 6, bad: 6 })
    expect(results.map(({ name, runs, failed }) => ({ name, runs, failed }))).toEqual([
      { name: "good", runs: 3, failed: 0 },
      { name: "bad", runs: 3, failed: 3 },
    ])
    for (const { cpuMs, wallMs, peakMB } of results) {
      for (const { min, median, p95 } of [cpuMs, wallMs, peakMB]) {
        expect(min).toBeLessThanOrEqual(median)
        expect(median).toBeLessThanOrEqual(p95)
      }
      expect(wallMs.min).toBeGreaterThan(0)
    }
  })

  test("a run gets its input and environment, and nothing else", async () => {
    const { stdout, exitCode } = await runOnce({
      name: "cat",
      argv: ["/bin/sh", "-c", 'cat; printf "%s %s" "$GIVEN" "$HOME"'],
      stdin: () => "from stdin ",
      env: { GIVEN: "yes" },
    })
    expect({ stdout, exitCode }).toEqual({ stdout: "from stdin yes ", exitCode: 0 })
  })
})

test("a process that does not read its input is not an error", async () => {
  const { exitCode } = await runOnce({
    name: "deaf",
    argv: ["/bin/sh", "-c", "exit 4"],
    stdin: "x".repeat(1 << 20),
    env: {},
  })
  expect(exitCode).toBe(4)
})

describe("judge", () => {
  const result = (cpu: number, peak = 30): Result => ({
    name: "",
    runs: 1,
    failed: 0,
    cpuMs: spread([cpu]),
    wallMs: spread([cpu]),
    peakMB: spread([peak]),
  })
  const row = (name: string, vsNode: number, vsEmpty: number, peak: number): ReportRow => ({
    name,
    hook: "stop",
    news: "nothing",
    transcriptMB: 1,
    archiveTurns: 0,
    limited: true,
    result: result(vsEmpty, peak),
    cpuVsNode: { median: vsNode, min: vsNode },
    cpuVsEmpty: { median: vsEmpty, min: vsEmpty },
  })
  const scenario = (...rows: ReportRow[]): Scenario => ({
    transcriptMB: 1,
    archiveTurns: 0,
    turns: 1,
    unread: 0,
    node: result(10),
    nodeAsSet: undefined,
    empty: result(1),
    rows,
  })

  test("the worst row decides and is named", () => {
    const verdicts = verdictsOn([scenario(row("a", 0.1, 2.6, 40), row("b", 0.2, 1.1, 51))], undefined)
    const found = Object.fromEntries(verdicts.map((one) => [one.limit, [one.met, one.where]]))
    expect(found).toMatchObject({
      cpuVsNode: [true, "b"],
      cpuVsEmpty: [false, "a"],
      peakMB: [false, "b"],
      failedRuns: [true, "a"],
    })
  })

  test("a row without limits is not judged", () => {
    const verdicts = verdictsOn(
      [scenario(row("a", 0.1, 1, 40), { ...row("b", 9, 9, 90), limited: false })],
      undefined,
    )
    expect(verdicts.every(({ met }) => met)).toBe(true)
  })

  test("a row without limits must not fail either", () => {
    const failing = { ...row("b", 9, 9, 90), limited: false, result: { ...result(9), failed: 1 } }
    const verdicts = verdictsOn([scenario(row("a", 0.1, 1, 40), failing)], undefined)
    expect(verdicts.filter(({ met }) => !met)).toMatchObject([
      { limit: "failedRuns", measured: 1, where: "b" },
    ])
  })

  test("without node, there is no verdict about it", () => {
    const alone = { ...scenario({ ...row("a", 0, 1, 1), cpuVsNode: undefined }), node: undefined }
    expect(verdictsOn([alone], undefined).map(({ limit }) => limit)).not.toContain("cpuVsNode")
  })

  test("a first read must be in time, exit with 0, commit something, and complete by itself", () => {
    const run = {
      exitCode: 0,
      wallMs: 1000,
      cpuMs: 900,
      committedMB: 80,
      vaultCompleteMs: 2000,
      indexCompleteMs: 9000,
    }
    const first = (...runs: FirstRead["runs"]) => ({ name: "first", transcriptMB: 150, runs, peakMB: 90 })
    const met = (...runs: FirstRead["runs"]) =>
      verdictsOn([], first(...runs)).map((one) => [one.limit, one.met] as const)
    expect(met(run)).toEqual([
      ["firstReadWallMs", true],
      ["firstReadIncomplete", true],
    ])
    expect(met(run, { ...run, wallMs: 1600 })[0]).toEqual(["firstReadWallMs", false])
    expect(met({ ...run, committedMB: 0 })[1]).toEqual(["firstReadIncomplete", false])
    expect(met({ ...run, exitCode: 1 })[1]).toEqual(["firstReadIncomplete", false])
    expect(met({ ...run, indexCompleteMs: undefined })[1]).toEqual(["firstReadIncomplete", false])
  })
})
