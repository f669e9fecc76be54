/** What `ctxbridge bench hooks` reports: the machine-readable form, and the verdicts on it. Pure. */
import type { Result } from "./measure-processes.ts"

export interface ReportRow {
  /** Stable across implementations: `hook/user-prompt-submit/nothing-new/15MB/100000-turns`. */
  readonly name: string
  /** The event, and for the start of a session also its source. */
  readonly hook: string
  readonly news: "nothing" | "little"
  readonly transcriptMB: number
  /** Turns in the archive besides those of the transcript. */
  readonly archiveTurns: number
  /** Whether the limits apply. */
  readonly limited: boolean
  readonly result: Result
  /** Ratios of medians and of minima; undefined when there is no such baseline. */
  readonly cpuVsNode: Ratio | undefined
  readonly cpuVsEmpty: Ratio
}

export interface Ratio {
  readonly median: number
  readonly min: number
}

export interface Scenario {
  readonly transcriptMB: number
  readonly archiveTurns: number
  /** All turns in the archive when measuring began. */
  readonly turns: number
  /** Bytes of the transcripts that were not archived at the end: a hook that fails silently is fast. */
  readonly unread: number
  readonly node: Result | undefined
  /** The same with the user's NODE_OPTIONS and NODE_EXTRA_CA_CERTS, if set. */
  readonly nodeAsSet: Result | undefined
  readonly empty: Result
  readonly rows: readonly ReportRow[]
}

export interface FirstRead {
  readonly name: string
  readonly transcriptMB: number
  /** One element per run, each with its own archive. */
  readonly runs: readonly {
    readonly exitCode: number
    readonly wallMs: number
    readonly cpuMs: number
    /** MB (10^6 bytes) of the transcript in the vault when the hook returned. */
    readonly committedMB: number
    /** ms from the hook's start until the vault held all of it; undefined if it never did. */
    readonly vaultCompleteMs: number | undefined
    /** The same for the views. */
    readonly indexCompleteMs: number | undefined
  }[]
  /** Measured in one more run. */
  readonly peakMB: number
}

export interface Verdict {
  readonly limit: string
  readonly allowed: number
  /** The worst value measured. */
  readonly measured: number
  readonly met: boolean
  /** Name of the row in which it was measured. */
  readonly where: string
}

export interface Report {
  readonly suite: "hooks"
  /** ISO 8601. */
  readonly at: string
  readonly machine: { os: string; arch: string; cpu: string; cpus: number; memoryGB: number }
  readonly versions: { bun: string; node: string | undefined; ctxbridge: string }
  readonly rounds: number
  /** Peak memory below this cannot be distinguished; see `peakFloor`. */
  readonly peakFloorMB: number
  readonly scenarios: readonly Scenario[]
  readonly firstRead: FirstRead | undefined
  readonly verdicts: readonly Verdict[]
  readonly notes: readonly string[]
}

const LIMITS = {
  /** CPU time of a hook with little or nothing new to read, relative to `node -e 0` in an empty environment. */
  cpuVsNode: 0.5,
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
export function verdictsOn(scenarios: readonly Scenario[], firstRead: FirstRead | undefined): Verdict[] {
  const rows = scenarios.flatMap((scenario) => scenario.rows)
  const limited = rows.filter((row) => row.limited)
  const figures = (of: readonly ReportRow[], value: (row: ReportRow) => number | undefined): Figure[] =>
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
