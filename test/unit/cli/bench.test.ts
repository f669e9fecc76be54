import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { decodeLine } from "../../../src/agents/agents.ts"
import {
  appendTranscript,
  type CorpusOptions,
  generateTranscript,
  writeTranscript,
} from "../../../src/cli/bench/corpus.ts"
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
import {
  pruneBenchReport,
  renderPruneBench,
  simulatedSession,
  slidingCut,
} from "../../../src/cli/bench/prune/prune-bench.ts"
import { Memory } from "../../../src/cli/bench/survive/needed-facts.ts"
import {
  batchedRule,
  clearedByApi,
  costOf,
  type PlayedSession,
  playedSession,
  unpruned,
} from "../../../src/prune/costs.ts"
import type { SentMessage } from "../../../src/prune/sent-passages.ts"
import { Inside, run } from "../../support/inside.ts"
import type { Machine } from "../../support/machine.ts"

describe("corpus", () => {
  const OPTIONS: CorpusOptions = {
    seed: 7,
    bytes: 1_000_000,
    sessionId: "0000be4c-0000-4000-a000-000000000007",
    cwd: "/home/dev/shop",
    version: "2.1.229",
  }

  type Json = Record<string, unknown>

  const textOf = (options: CorpusOptions): string => [...generateTranscript(options)].join("")
  const recordsOf = (options: CorpusOptions): Json[] =>
    [...generateTranscript(options)].map((line) => JSON.parse(line) as Json)
  const blocksOf = (record: Json): Json[] => {
    const content = (record["message"] as Json | undefined)?.["content"]
    return Array.isArray(content) ? (content as Json[]) : []
  }

  describe("generateTranscript", () => {
    test("the same options always give the same bytes", () => {
      const text = textOf(OPTIONS)
      expect(textOf(OPTIONS)).toBe(text)
      // Pinned: figures of two releases can be compared only over the same corpus.
      expect(new Bun.CryptoHasher("sha256").update(text).digest("hex")).toMatchInlineSnapshot(
        `"8536840bf01b46cb9860113a3c4444ce3a396b4906761048364b27ff105bdf59"`,
      )
    })

    test("another seed gives another session", () => {
      expect(textOf({ ...OPTIONS, seed: 8 }).slice(0, 5000)).not.toBe(textOf(OPTIONS).slice(0, 5000))
    })

    test.each([20_000, 100_000, 1_000_000, 5_000_000])(
      "asked for %d bytes, it gives hardly more",
      (bytes) => {
        for (const seed of [1, 2, 3]) {
          const given = Buffer.byteLength(textOf({ ...OPTIONS, seed, bytes }))
          expect(given).toBeGreaterThanOrEqual(bytes)
          expect(given).toBeLessThan(bytes + 16_384)
        }
      },
    )

    test("each line is one JSON object, with its newline and no other", () => {
      for (const line of generateTranscript(OPTIONS)) {
        expect(line.endsWith("\n")).toBe(true)
        expect(line.indexOf("\n")).toBe(line.length - 1)
        expect(JSON.parse(line)).toBeObject()
      }
    })

    test("every parent precedes its child; only the start and compactions have none", () => {
      const seen = new Set<unknown>()
      let roots = 0
      for (const record of recordsOf({ ...OPTIONS, bytes: 4_000_000 })) {
        if (record["uuid"] === undefined) continue
        if (record["parentUuid"] === null) roots++
        else expect(seen.has(record["parentUuid"])).toBe(true)
        seen.add(record["uuid"])
      }
      const boundaries = recordsOf({ ...OPTIONS, bytes: 4_000_000 }).filter(
        ({ subtype }) => subtype === "compact_boundary",
      )
      expect(boundaries.length).toBeGreaterThan(0)
      expect(roots).toBe(1 + boundaries.length)
    })

    test("one block per line, and every result answers an earlier call", () => {
      const calls = new Set<unknown>()
      const linesOfMessage = new Map<unknown, number>()
      for (const record of recordsOf(OPTIONS)) {
        const blocks = blocksOf(record)
        if (record["type"] === "assistant") {
          expect(blocks).toHaveLength(1)
          const { id } = record["message"] as Json
          linesOfMessage.set(id, (linesOfMessage.get(id) ?? 0) + 1)
        }
        for (const block of blocks) {
          if (block["type"] === "tool_use") calls.add(block["id"])
          if (block["type"] === "tool_result") expect(calls.has(block["tool_use_id"])).toBe(true)
        }
      }
      expect(calls.size).toBeGreaterThan(50)
      expect(Math.max(...linesOfMessage.values())).toBeGreaterThan(1)
    })

    test("all kinds of lines that the host writes are there", () => {
      const kinds = new Set(
        recordsOf({ ...OPTIONS, bytes: 6_000_000 }).map(({ type, subtype }) =>
          subtype === undefined ? String(type) : `${type}/${subtype}`,
        ),
      )
      for (const kind of [
        "user",
        "assistant",
        "attachment",
        "queue-operation",
        "file-history-snapshot",
        "system/compact_boundary",
        "system/turn_duration",
        "last-prompt",
      ]) {
        expect(kinds).toContain(kind)
      }
    })

    test("compresses like the real thing, whole and in small pieces", () => {
      const bytes = Buffer.from(textOf({ ...OPTIONS, bytes: 3_000_000 }))
      const whole = bytes.length / Bun.zstdCompressSync(bytes, { level: 3 }).length
      expect(whole).toBeWithin(4, 8)
      let pieces = 0
      for (let at = 0; at < bytes.length; at += 20_000) {
        pieces += Bun.zstdCompressSync(bytes.subarray(at, at + 20_000), { level: 3 }).length
      }
      expect(bytes.length / pieces).toBeWithin(2.4, 4.6)
    })

    test("tool results are usually small and occasionally large", () => {
      const sizes = recordsOf({ ...OPTIONS, bytes: 20_000_000 })
        .flatMap(blocksOf)
        .filter(({ type }) => type === "tool_result")
        .map(({ content }) => JSON.stringify(content).length)
        .sort((a, b) => a - b)
      expect(sizes[sizes.length >> 1]!).toBeWithin(100, 1_500)
      expect(sizes.at(-1)!).toBeGreaterThan(100_000)
    })

    test("no result exceeds the caller's limit", () => {
      const records = recordsOf({ ...OPTIONS, largestResult: 4_000 })
      for (const block of records.flatMap(blocksOf)) {
        // A line of context more, and what JSON needs for quotes.
        if (block["type"] === "tool_result")
          expect(JSON.stringify(block["content"]).length).toBeLessThan(6_000)
      }
    })

    test("talk: as many turns as requested, all short", () => {
      const text = textOf({ ...OPTIONS, bytes: Number.POSITIVE_INFINITY, turns: 50, style: "talk" })
      const prompts = text
        .trimEnd()
        .split("\n")
        .filter((line) => (JSON.parse(line) as Json)["type"] === "user")
      expect(prompts).toHaveLength(50)
      expect(text.length / 50).toBeLessThan(3_000)
    })
  })

  describe("writeTranscript", () => {
    test("writes what the generator yields, and can be continued", () => {
      const dir = mkdtempSync(join(tmpdir(), "corpus-"))
      try {
        const path = join(dir, "t.jsonl")
        const options = { ...OPTIONS, bytes: 300_000 }
        const written = writeTranscript(path, options)
        expect(readFileSync(path, "utf8")).toBe(textOf(options))
        expect(statSync(path).size).toBe(written.bytes)
        expect(written.turns).toBeGreaterThan(0)

        const more = appendTranscript(path, { ...OPTIONS, seed: 8, bytes: 20_000, after: written.lastUuid! })
        expect(statSync(path).size).toBe(written.bytes + more.bytes)
        const lines = readFileSync(path, "utf8").trimEnd().split("\n")
        expect(lines).toHaveLength(written.lines + more.lines)
        const first = lines
          .slice(written.lines)
          .map((line) => JSON.parse(line) as Json)
          .find(({ uuid }) => uuid !== undefined)
        expect(first?.["parentUuid"]).toBe(written.lastUuid)
      } finally {
        rmSync(dir, { recursive: true, force: true })
      }
    })
  })
})

describe("measure processes", () => {
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
})

describe("needed facts", () => {
  test("the command of a call is found whichever field comes first", () => {
    const input = { description: "Check the retry of uploads", command: "npm run check -- retry" }
    const content = [{ type: "tool_use", id: "t1", name: "Bash", input }]
    const memory = new Memory(true)
    memory.take(decodeLine(JSON.stringify({ type: "assistant", message: { role: "assistant", content } })))
    expect([...memory.seen.command.keys()]).toEqual(["npm run check -- retry"])
  })
})

/** What each way of pruning is said to cost: sums that can be done by hand. */
describe("prune costs", () => {
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
    hour: 0,
    steps: Array.from({ length: count }, (_, n) => ({
      news: [ask(n)],
      answer: assistant(50),
      output: 50,
      model: "m",
      isCold: false,
      isLate: false,
    })),
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

    test("is all written again where the cache has expired, dearer if it is kept for an hour", () => {
      const { steps, ...rest } = session(3)
      const paused = { ...rest, steps: steps.map((step, n) => ({ ...step, isCold: n === 2 })) }
      const cost = costOf(paused, unpruned, NEVER)
      expect(cost).toMatchObject({ prefixChanges: 0, broken: 0 })
      expect(cost.cost).toBeCloseTo(1.25 * (1_100 + 150 + 1_400) + 0.1 * 1_100 + 5 * 150)
      const hourly = costOf({ ...paused, hour: 1 }, unpruned, NEVER)
      expect(hourly.cost).toBeCloseTo(2 * (1_100 + 150 + 1_400) + 0.1 * 1_100 + 5 * 150)
    })

    test("tells what was in the cache and had to be written again", () => {
      const other = () => ({
        sent: (all: readonly SentMessage[]) => [user(100 + all.length), ...all.slice(1)],
      })
      const { broken, prefixChanges } = costOf(session(2), other, NEVER)
      // The second request has 103 in place of the 101 that the first began with.
      expect(prefixChanges).toBe(1)
      expect(broken).toBeCloseTo((1.25 - 0.1) * 103)
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
    const prompts = simulatedSession(1, 20).steps.filter(
      ({ news }) => news[0]!.content[0]!["type"] === "text",
    )
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
        requests: [{ messages: 1, answer: "a", usage, at: 0 }],
      },
      {
        begins: "compaction",
        kept: 2,
        messages: [{ role: "user", content: [summary] }, kept, user(200), assistant(90)],
        requests: [{ messages: 3, answer: "b", usage, at: 300_000 }],
      },
    ])
    expect(played.steps).toEqual([
      { news: [user(100)], answer: kept, output: 700, model: "m", isCold: false, isLate: false },
      { news: [user(200)], answer: assistant(90), output: 700, model: "m", isCold: true, isLate: true },
    ])
  })

  test("the report has each way in each window, relative to no pruning, and says what is modelled", () => {
    const report = pruneBenchReport([simulatedSession(1, 5)], OPTIONS, OPTIONS)
    expect(report.sessions.map(({ window }) => window)).toEqual([200_000, 1_000_000])
    for (const { ways } of report.sessions) {
      expect(ways[0]).toMatchObject({ way: "no pruning", relative: 1 })
      for (const { cost, relative } of ways) expect(relative).toBeCloseTo(cost / ways[0]!.cost)
    }
    const lines = renderPruneBench(report)
    expect(lines.filter((line) => line.startsWith("| no pruning "))).toHaveLength(2)
    expect(lines.join("\n")).toContain("written to the cache 1.25, read from it 0.1, answered 5")
  })
})

/** Runs of a command, as `how` and `fix` count them. */
describe("runs", () => {
  async function foundIn(machine: Machine, ...words: string[]): Promise<Record<string, unknown>[]> {
    const { code, stdout, stderr } = await run([...words, "--json"], machine)
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
    return JSON.parse(stdout).found
  }

  /** Of a command that was run 400 times, `how` counted the 300 runs that it had looked at. */
  test("all runs in the project count, and none of another's", async () => {
    using machine = new Inside()
    const bash = (command: string, isError: boolean) => ({
      tool: "Bash",
      input: { command },
      output: isError ? "Exit code 1\nfailed" : "passed",
      isError,
    })
    const session = machine.session()
    for (let n = 0; n < 100; n++)
      session.turn(
        `test ${n}`,
        [0, 1, 2, 3].map((k) => bash("npm test", n < 50 && k < 3)),
      )
    const other = machine.session({ cwd: join(machine.root, "other") }).turn("test", [bash("npm test", true)])
    const paths = [session, other].map((one) => one.flush().path)
    expect(await run(["import", ...paths], machine)).toMatchObject({ code: 0, stderr: "" })
    const how = (...words: string[]) => foundIn(machine, "how", "npm", "test", ...words)
    expect(await how()).toMatchObject([{ command: "npm test", runs: 400, failures: 150, failed: false }])
    expect(await how("--all-projects")).toMatchObject([{ command: "npm test", runs: 401, failures: 151 }])
  })

  /**
   * `how` and `fix` took commands for one whose first 300 characters are the same: runs and failures were added up, and one's
   * success solved the other's error. And no command of PowerShell was found.
   */
  describe("commands that begin alike", () => {
    const script = (between: string, last: string): string => `cat <<'EOF' | node -\n${between}\n${last}\nEOF`
    /** Long lines, and lines so deeply indented that little is left of the first ones. */
    const LONG = "// one line of the walrusscript\n".repeat(12)
    const DEEP = `// ermine\n${`${" ".repeat(600)}step()\n`.repeat(3)}`

    const bash = (command: string, isError = false) => ({
      tool: "Bash",
      input: { command },
      output: isError ? "Exit code 1\nTypeError: the walrus is asleep" : "fine",
      isError,
    })
    const remote = (last: string, isError = false) => ({
      tool: "mcp__remote__run",
      input: { script: LONG + last },
      output: isError ? "RangeError: the narwhal is away" : "fine",
      isError,
    })

    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const session = machine.session()
      session.turn("Try", [
        bash(script(LONG, "first()"), true),
        bash(script(LONG, "second()")),
        bash(script(DEEP, "third()"), true),
        bash(script(DEEP, "fourth()")),
        remote("first()", true),
        remote("second()"),
        { tool: "PowerShell", input: { command: "Get-Narwhal -All" }, output: "1" },
      ])
      session.turn("Again", [bash(script(LONG, "first()")), remote("first()")])
      await machine.hook("stop", session.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    const found = (...words: string[]) => foundIn(machine, ...words)

    test.each([
      ["walrusscript", LONG, "first()", { runs: 2, failures: 1, failed: false }],
      ["walrusscript", LONG, "second()", { runs: 1, failures: 0, failed: false }],
      ["ermine", DEEP, "third()", { runs: 1, failures: 1, failed: true }],
      ["ermine", DEEP, "fourth()", { runs: 1, failures: 0, failed: false }],
    ])("how %s: each by itself", async (word, between, last, ended) => {
      const all = await found("how", word)
      expect(all).toHaveLength(2)
      expect(all).toContainEqual(expect.objectContaining({ command: script(between, last), ...ended }))
    })

    test("how: commands of PowerShell", async () => {
      expect(await found("how", "narwhal")).toMatchObject([{ command: "Get-Narwhal -All", runs: 1 }])
    })

    test("fix: what solved an error is the same command", async () => {
      const fixes = await found("fix", "walrus is asleep")
      const [first, third] = ["first()", "third()"].map((name) =>
        fixes.find(({ target }) => String(target).includes(name)),
      )
      expect(first).toMatchObject({ solvedIn: expect.stringMatching(/^ctx:/), steps: { length: 6 } })
      expect(first!["solvedIn"]).not.toBe(first!["handle"])
      expect(third).toMatchObject({ solvedIn: null })
      const [away] = await found("fix", "narwhal is away")
      expect(away!["solvedIn"]).not.toBe(away!["handle"])
      expect(away!["solvedIn"]).toMatch(/^ctx:/)
    })
  })

  /** Of 2,500 commands in real sessions a third ended in a filter, and each counted as a command of its own. */
  describe("commands that differ only in their filters and redirections", () => {
    const FAILED = "--- FAIL: TestWalrus (0.00s)\nFAIL\texample.com/shop\t0.1s\nFAIL"
    const PASSED = "ok  \texample.com/shop\t0.1s"
    const bash = (command: string, output: string) => ({ tool: "Bash", input: { command }, output })

    let machine: Machine

    beforeAll(async () => {
      machine = new Inside()
      const session = machine.session()
      session.turn("Test it", [
        bash("tail -5 go-test.log # of go test", "FAIL"),
        bash("go test ./... 2>&1 | tail -20", FAILED),
        bash("ls shop", "basket.go"),
        bash("go test ./... 2>&1 | grep -E 'ok|FAIL'", PASSED),
        bash("go test ./... > out.log 2>&1 || true", ""),
        bash("go vet ./... && go test -race ./... | head", PASSED),
      ])
      await machine.hook("stop", session.flush())
    })

    afterAll(() => machine[Symbol.dispose]())

    const found = (...words: string[]) => foundIn(machine, ...words)

    test("how: runs of one command, and those that begin as asked come first", async () => {
      const all = await found("how", "go test")
      expect(all).toMatchObject([
        { command: "go test ./... > out.log 2>&1 || true", runs: 3, failures: 1, failed: false },
        { command: "go vet ./... && go test -race ./... | head", runs: 1, failures: 0 },
      ])
    })

    test("fix: a run with another filter solved it", async () => {
      const [fix] = await found("fix", "TestWalrus")
      expect(fix).toMatchObject({
        target: "go test ./... 2>&1 | tail -20",
        solvedIn: expect.stringMatching(/^ctx:/),
        steps: [{ target: "ls shop", failed: false }],
      })
    })

    test("search --error finds what the pipe hid", async () => {
      const { code, stdout } = await run(["search", "TestWalrus", "--error", "--json"], machine)
      expect([code, JSON.parse(stdout).hits.length]).toEqual([0, 1])
    })
  })
})
