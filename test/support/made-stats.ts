/** Figures with one of everything that `stats` shows, always the same. */

import type { Stats } from "../../src/cli/stats/stats.ts"
import { HELD_KINDS } from "../../src/restore/receipt.ts"

/** The moment at which they are looked at. */
export const MADE_NOW = Date.UTC(2026, 2, 14, 12)
export const MADE_TODAY = "2026-03-14"

const day = (n: number): string => new Date(Date.UTC(2025, 10, 3 + n)).toISOString().slice(0, 10)

/** A block that is live at that moment, one that has ended, and one of another agent. */
export function madeBlocks() {
  const tokens = { input: 1200, output: 84_000, cacheCreation: 310_000, cacheRead: 9_400_000 }
  const block = (program: string, start: string, end: string, minutesLeft: number | null, cost: number) => ({
    ...{ program, start, end, last: start, minutesLeft, tokens, requests: 120 },
    ...{ cost, unpriced: cost === 0 ? 1200 : 0 },
  })
  return [
    block("claude", "2026-03-14T09:00:00.000Z", "2026-03-14T14:00:00.000Z", 120, 12.5),
    block("codex", "2026-03-13T22:00:00.000Z", "2026-03-14T03:00:00.000Z", null, 0),
    block("claude", "2026-03-13T09:00:00.000Z", "2026-03-13T14:00:00.000Z", null, 8),
  ]
}

/** @param hostile put where the archive's own words are */
export function madeStats(hostile = ""): Stats {
  const days = Array.from({ length: 130 }, (_, n) => ({ day: day(n), turns: (n * n * 7) % 23 })).filter(
    ({ turns }) => turns > 4,
  )
  const rows = days.reverse().map(({ day: key, turns }, n) => ({
    key,
    turns,
    tokens: {
      input: 900 * turns,
      output: 3100 * turns,
      cacheCreation: 40_000 * turns,
      cacheRead: 700_000 * turns,
    },
    requests: turns * 5,
    cost: n === 2 ? 0 : turns * 0.61,
    unpriced: n === 2 ? 1200 : 0,
  }))
  const counts = (before: number, kept: number, given: number) => ({
    before,
    kept,
    given,
    lost: before - kept - given,
  })
  return {
    sessions: 41,
    turns: 1203,
    first: days.at(-1)!.day,
    last: days[0]!.day,
    total: {
      tokens: { input: 1_080_000, output: 3_720_000, cacheCreation: 48_000_000, cacheRead: 842_000_000 },
      requests: 6015,
      cost: 1234.5,
      unpriced: 1200,
    },
    unpriced: [{ model: `local-model${hostile}`, tokens: 1200 }],
    told: { cost: 310.2, sessions: 9, estimated: 312.75 },
    by: "day",
    rows,
    agents: [],
    days: days.reverse(),
    hours: Array.from({ length: 24 }, (_, hour) => (hour < 7 ? 0 : (hour * 37) % 90)),
    friction: {
      interrupted: 12,
      takenBack: 1,
      failuresByHour: Array.from({ length: 24 }, (_, hour) => (hour * 5) % 11),
      tools: [
        { name: "Bash", calls: 2210, failed: 190 },
        { name: "Edit", calls: 800, failed: 21 },
        { name: "Read", calls: 790, failed: 2 },
        { name: `mcp__kiln${hostile}__fire`, calls: 12, failed: 0 },
      ],
      files: [
        {
          path: `/home/dev/pottery/src/kiln${hostile}.ts`,
          edits: 44,
          failed: 3,
          turns: 9,
          handle: "ctx:ab12cd",
        },
        {
          path: `/home/dev/pottery/${"deep/".repeat(20)}glaze.ts`,
          edits: 5,
          failed: 0,
          turns: 2,
          handle: "ctx:ab12ce",
        },
      ],
      errors: [
        {
          error: `error: kiln ${hostile} is too hot: 1400 degrees, and at most 1250 are allowed in this room`,
          ...{
            tool: "Bash",
            times: 17,
            turns: 8,
            first: "2026-01-02T08:00:00Z",
            last: "2026-03-12T08:00:00Z",
          },
          ...{ handle: "ctx:cd34ef", solvedIn: "ctx:cd34eg" },
        },
        {
          error: "File has not been read yet.",
          ...{
            tool: "Edit",
            times: 3,
            turns: 2,
            first: "2026-01-02T08:00:00Z",
            last: "2026-01-04T08:00:00Z",
          },
          ...{ handle: "ctx:ee11aa", solvedIn: null },
        },
      ],
    },
    compactions: {
      examined: 20,
      more: true,
      early: 0,
      kinds: Object.fromEntries(
        HELD_KINDS.map((kind, n) => [kind, counts(100 * n, 3 * n, 30 * n)]),
      ) as Stats["compactions"]["kinds"],
    },
  }
}
