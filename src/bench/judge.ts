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

/** One verdict per limit, decided by the worst row. Ratios are of medians. Exported for tests. */
export function judge(scenarios: readonly Scenario[], firstRead: FirstRead | undefined): Verdict[] {
  const rows = scenarios.flatMap((scenario) => scenario.rows).filter((row) => row.limited)
  const figures = (value: (row: Row) => number | undefined): Figure[] =>
    rows.flatMap((row) => {
      const found = value(row)
      return found === undefined ? [] : [{ where: row.name, value: found }]
    })
  const verdicts: Verdict[] = []
  const vsNode = figures((row) => row.cpuVsNode?.median)
  if (vsNode.length > 0) verdicts.push(verdict("cpuVsNode", LIMITS.cpuVsNode, vsNode))
  if (rows.length > 0) {
    verdicts.push(
      verdict(
        "cpuVsEmpty",
        LIMITS.cpuVsEmpty,
        figures((row) => row.cpuVsEmpty.median),
      ),
    )
    verdicts.push(
      verdict(
        "peakMB",
        LIMITS.peakMB,
        figures((row) => row.result.peakMB.p95),
      ),
    )
    const unread = scenarios.map((one) => ({ where: one.rows[0]?.name ?? "", value: one.unread }))
    verdicts.push(verdict("unreadBytes", 0, unread))
    verdicts.push(
      verdict(
        "failedRuns",
        0,
        figures((row) => row.result.failed),
      ),
    )
  }
  if (firstRead !== undefined) {
    const start = Math.max(0, ...scenarios.map((scenario) => scenario.empty.wallMs.median))
    const { runs, name: where } = firstRead
    const walls = runs.map(({ wallMs }) => ({ where, value: wallMs }))
    verdicts.push(verdict("firstReadWallMs", LIMITS.firstReadWallMs + start, walls))
    const lost = runs.filter(
      (run) => run.exitCode !== 0 || run.committedMB === 0 || run.vaultCompleteMs === undefined,
    )
    verdicts.push(verdict("firstReadIncomplete", 0, [{ where, value: lost.length }]))
  }
  return verdicts
}
