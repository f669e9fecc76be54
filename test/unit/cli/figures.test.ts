/** What is summed up, and that nothing is summed up twice. */
import { describe, expect, test } from "bun:test"
import { priceList } from "../../../src/cli/stats/prices.ts"
import { gatherStats, PERIODS, type Period, type Stats } from "../../../src/cli/stats/stats.ts"
import { useOfProject } from "../../../src/views/queries/token-use.ts"
import { Archive } from "../../support/archive.ts"
import type { Transcript } from "../../support/transcript.ts"

interface Wanted {
  readonly by?: Period
  readonly project?: string
  readonly since?: string
}

const statsOf = (archive: Archive, { by = "day", project, since }: Wanted = {}): Stats =>
  gatherStats(
    archive.db,
    archive.dataHome,
    { project, since, by, prices: priceList([]), most: 10 },
    () => undefined,
  )

const usage = (output: number, more: Record<string, unknown> = {}) => ({
  input_tokens: 10,
  output_tokens: output,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  ...more,
})

/** An answer of the model at a time of its own. */
function answer(
  transcript: Transcript,
  id: string,
  time: string,
  counts: unknown,
  model = "claude-opus-4-5",
): void {
  transcript.block({ type: "text", text: `answer ${id}` }, { timestamp: time }, { id, model, usage: counts })
}

describe("tokens", () => {
  test("of a message that is written on several lines and in several transcripts count once", () => {
    using archive = new Archive()
    const origin = archive.session("s1").user("Begin", { uuid: "u1" })
    answer(origin, "msg_1", "2026-03-02T08:00:00Z", usage(100))
    answer(origin, "msg_1", "2026-03-02T08:00:01Z", usage(100))
    archive.follow(origin.flush())
    // A copy that nothing joins with its origin, made before the answer was whole.
    const copy = archive.session("s2").user("Begin elsewhere")
    answer(copy, "msg_1", "2026-03-02T08:00:00Z", usage(1))
    answer(copy, "msg_2", "2026-03-02T09:00:00Z", usage(5))
    archive.follow(copy.flush())
    expect(statsOf(archive).total).toMatchObject({ requests: 2, tokens: { input: 20, output: 105 } })
  })

  test("belong to the local day on which the answer began, turns to that of their prompt", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("Late", { timestamp: "2026-03-02T23:59:00Z" })
    answer(session, "msg_1", "2026-03-02T23:59:30Z", usage(1))
    answer(session, "msg_2", "2026-03-03T00:00:30Z", usage(2))
    archive.follow(session.flush())
    const { rows, days, hours } = statsOf(archive)
    expect(rows.map(({ key, turns, tokens }) => [key, turns, tokens.output])).toEqual([
      ["2026-03-03", 0, 2],
      ["2026-03-02", 1, 1],
    ])
    expect(days).toEqual([{ day: "2026-03-02", turns: 1 }])
    expect(hours.map((n, hour) => [hour, n]).filter(([, n]) => n! > 0)).toEqual([[23, 1]])
  })

  test("kept for an hour in the cache cost more than those kept for five minutes", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("Begin")
    const cached = (hour: number) =>
      usage(0, {
        input_tokens: 0,
        cache_creation_input_tokens: 1_000_000,
        cache_creation: { ephemeral_5m_input_tokens: 1_000_000 - hour, ephemeral_1h_input_tokens: hour },
      })
    answer(session, "msg_1", "2026-03-02T08:00:00Z", cached(0))
    answer(session, "msg_2", "2026-03-03T08:00:00Z", cached(1_000_000))
    archive.follow(session.flush())
    expect(statsOf(archive).rows.map(({ key, cost }) => [key, cost])).toEqual([
      ["2026-03-03", 10],
      ["2026-03-02", 6.25],
    ])
  })

  test("of models without a price are counted and named, and cost nothing", () => {
    using archive = new Archive()
    const session = archive.session("s1").user("Begin")
    answer(session, "msg_1", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
    answer(session, "msg_2", "2026-03-02T08:01:00Z", usage(90), "claude-unheard-9-20300101")
    archive.follow(session.flush())
    const { total, unpriced } = statsOf(archive)
    expect(total).toMatchObject({ cost: 25, unpriced: 100, tokens: { output: 1_000_090 } })
    expect(unpriced).toEqual([{ model: "claude-unheard-9", tokens: 100 }])
  })
})

describe("a few projects, subagents and a fork", () => {
  const made = (): Archive => {
    const archive = new Archive()
    const origin = archive
      .session("s1")
      .turn("One", [{ tool: "Bash", input: { command: "ls" }, output: "a" }])
    const lines = origin.text
    archive.follow(origin.flush())
    // The fork copies its origin's lines under its own name.
    const fork = archive.session("s2")
    for (const line of lines.trimEnd().split("\n")) {
      fork.raw(JSON.stringify({ ...JSON.parse(line), sessionId: "s2", forkedFrom: { sessionId: "s1" } }))
    }
    archive.follow(fork.turn("Two").flush())
    archive.follow(
      archive
        .session("agent-c0ffee", { agent: "c0ffee" })
        .user("A brief", { sessionId: "s1" })
        .say("Seen.")
        .flush(),
    )
    archive.follow(archive.session("s3", { cwd: "/elsewhere" }).turn("Three").flush())
    return archive
  }

  test("every way of parting them has the same total", () => {
    using archive = made()
    const { total, turns } = statsOf(archive)
    for (const by of PERIODS) {
      const { rows } = statsOf(archive, { by })
      const sum = (of: (row: (typeof rows)[number]) => number): number =>
        rows.reduce((n, row) => n + of(row), 0)
      expect([by, sum(({ requests }) => requests)]).toEqual([by, total.requests])
      expect([by, sum(({ tokens }) => tokens.cacheRead)]).toEqual([by, total.tokens.cacheRead])
      expect(sum(({ cost }) => cost)).toBeCloseTo(total.cost)
      expect([by, sum((row) => row.turns ?? 0)]).toEqual([by, by === "model" ? 0 : turns])
    }
  })

  test("a project's tokens are those that `status` tells", () => {
    using archive = made()
    const paths = archive.db.query<{ path: string }, []>("SELECT path FROM projects ORDER BY path").all()
    expect(paths).toHaveLength(2)
    for (const { path } of paths)
      expect(statsOf(archive, { project: path }).total.tokens).toEqual(useOfProject(archive.db, path).tokens)
    expect(statsOf(archive, { project: "/nowhere" })).toMatchObject({ sessions: 0, turns: 0, rows: [] })
  })

  test("`since` leaves out what was before", () => {
    using archive = made()
    const { rows } = statsOf(archive)
    expect(rows.map(({ key }) => key)).toEqual(["2026-03-02"])
    expect(statsOf(archive, { since: "2026-03-03T00:00:00.000Z" })).toMatchObject({
      sessions: 0,
      turns: 0,
      rows: [],
    })
    expect(statsOf(archive, { since: "2026-03-02T00:00:00.000Z" }).rows).toEqual(rows)
  })
})

test("what Claude Code itself says of cost stands beside our own reckoning of the same sessions", () => {
  using archive = new Archive()
  const told = archive.session("s1", { version: "2.1.329" }).user("Begin")
  answer(told, "msg_1", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
  told.raw(JSON.stringify({ type: "cost-state", sessionId: "s1", startTime: 1, totalCostUSD: 24.5 }))
  archive.follow(told.flush())
  const silent = archive.session("s2").user("Begin")
  answer(silent, "msg_2", "2026-03-02T08:00:00Z", usage(1_000_000, { input_tokens: 0 }))
  archive.follow(silent.flush())
  const stats = statsOf(archive)
  expect(stats.total.cost).toBe(50)
  expect(stats.told).toEqual({ cost: 24.5, sessions: 1, estimated: 25 })
  expect(statsOf(archive, { since: "2026-03-01" }).told).toBeNull()
})

test("friction: errors that recur and whether they were solved, tools that fail, files edited again", () => {
  using archive = new Archive()
  const fails = {
    tool: "Bash",
    input: { command: "make" },
    output: "Exit code 2\nmake: *** [all] Error 2",
    isError: true,
  }
  const edit = {
    tool: "Edit",
    input: { file_path: "/p/a.ts", old_string: "1", new_string: "2" },
    output: "ok",
  }
  const session = archive.session("s1")
  session.turn("Build", [fails, edit, fails])
  session.turn("Again", [edit, { ...fails, output: "built", isError: false }])
  archive.follow(session.flush())
  const { friction } = statsOf(archive)
  expect(friction.errors).toMatchObject([
    { error: "make: *** [all] Error 2", times: 2, turns: 1, tool: "Bash" },
  ])
  expect(friction.errors[0]!.solvedIn).toMatch(/^ctx:/)
  expect(friction.errors[0]!.solvedIn).not.toBe(friction.errors[0]!.handle)
  expect(friction.tools).toEqual([
    { name: "Bash", calls: 3, failed: 2 },
    { name: "Edit", calls: 2, failed: 0 },
  ])
  expect(friction.files).toMatchObject([{ path: "/p/a.ts", edits: 2, turns: 2, failed: 0 }])
  expect(friction.failuresByHour[8]).toBe(2)
})
