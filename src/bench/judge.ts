/** Turns figures into verdicts. Pure. */
import type { FirstRead, Row, Scenario, Verdict } from "./report.ts"

const LIMITS = {
  /** CPU time of a hook with little or nothing new to read, relative to `node -e 0`. */
  cpuVsNode: 0.25,
  /** The same relative to an empty compiled Bun program. */
  cpuVsEmpty: 2.5,
  /** In megabytes of 2^20 bytes. */
  peakMB: 50,
  /** The hook's own deadline in ms; the measured time that a process takes to start is added. */
  firstReadWallMs: 1500,
} as const

interface Figure {
  readonly where: string
  readonly value: number
}

function verdict(limit: string, allowed: number, figures: readonly Figure[]): Verdict {
  const worst = figures.reduce((a, b) => (b.value > a.value ? b : a))
  return { limit, allowed, measured: worst.value, met: worst.value <= allowed, where: worst.where }
}

/** One verdict per limit, decided by the worst row. Ratios are of medians. */
export function judge(scenarios: readonly Scenario[], firstRead: FirstRead | undefined): Verdict[] {
  const rows = scenarios.flatMap((scenario) => scenario.rows)
  const limited = rows.filter((row) => row.limited)
  const figures = (of: readonly Row[], value: (row: Row) => number | undefined): Figure[] =>
    of.flatMap((row) => {
      const found = value(row)
      return found === undefined ? [] : [{ where: row.name, value: found }]
    })
  const unread = scenarios.flatMap(({ rows: [first], unread: value }) =>
    first === undefined ? [] : [{ where: first.name, value }],
  )
  const judged: readonly (readonly [limit: string, allowed: number, figures: readonly Figure[]])[] = [
    ["cpuVsNode", LIMITS.cpuVsNode, figures(limited, (row) => row.cpuVsNode?.median)],
    ["cpuVsEmpty", LIMITS.cpuVsEmpty, figures(limited, (row) => row.cpuVsEmpty.median)],
    ["peakMB", LIMITS.peakMB, figures(limited, (row) => row.result.peakMB.p95)],
    ["unreadBytes", 0, unread],
    ["failedRuns", 0, figures(rows, (row) => row.result.failed)],
    ...(firstRead === undefined ? [] : ofFirstRead(firstRead, scenarios)),
  ]
  return judged
    .filter(([, , found]) => found.length > 0)
    .map(([limit, allowed, found]) => verdict(limit, allowed, found))
}

function ofFirstRead({ runs, name: where }: FirstRead, scenarios: readonly Scenario[]) {
  const start = Math.max(0, ...scenarios.map((scenario) => scenario.empty.wallMs.median))
  const walls = runs.map(({ wallMs }) => ({ where, value: wallMs }))
  const incomplete = runs.filter(
    ({ exitCode, committedMB, vaultCompleteMs, indexCompleteMs }) =>
      exitCode !== 0 || committedMB === 0 || vaultCompleteMs === undefined || indexCompleteMs === undefined,
  )
  return [
    ["firstReadWallMs", LIMITS.firstReadWallMs + start, walls],
    ["firstReadIncomplete", 0, [{ where, value: incomplete.length }]],
  ] as const
}
