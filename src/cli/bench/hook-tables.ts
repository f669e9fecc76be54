/** The report of `bench hooks` for people. Pure. */
import { markdownTable } from "../../base/text.ts"
import type { Result, Spread } from "./hook-world.ts"

export function renderReport(report: Report): string[] {
  const { machine, versions } = report
  const lines = [
    `${versions.ctxbridge}, Bun ${versions.bun}, node ${versions.node ?? "not found"}; ${machine.os} ${machine.arch}, ` +
      `${machine.cpus} × ${machine.cpu}, ${machine.memoryGB} GB; ${report.rounds} rounds; ${report.at}`,
    "",
    ...scenarioTable(report.scenarios),
    "",
    "CPU and wall in ms, peak memory in MB: minimum / median / 95th percentile. Ratios are of CPU medians (minima).",
    `Peak memory of ${report.peakFloorMB.toFixed(0)} MB means "at most this".`,
  ]
  if (report.firstRead !== undefined) lines.push("", ...firstReadTable(report.firstRead))
  lines.push("", ...verdictTable(report.verdicts))
  for (const note of report.notes) lines.push("", `Note: ${note}.`)
  return lines
}

const spreadOf = ({ min, median, p95 }: Spread, digits = 1): string =>
  [min, median, p95].map((value) => value.toFixed(digits)).join(" / ")

const figures = (result: Result): string[] => [
  spreadOf(result.cpuMs),
  spreadOf(result.wallMs),
  spreadOf(result.peakMB, 0),
]

function scenarioTable(scenarios: readonly Scenario[]): string[] {
  const rows = scenarios.flatMap(({ transcriptMB, archiveTurns, node, nodeAsSet, empty, rows }) => {
    const place = [`${transcriptMB} MB`, archiveTurns.toLocaleString("en-US")]
    const baseline = (name: string, result: Result) => [...place, name, ...figures(result), "", ""]
    return [
      ...(node === undefined ? [] : [baseline("node -e 0", node)]),
      ...(nodeAsSet === undefined ? [] : [baseline("node -e 0, your NODE_*", nodeAsSet)]),
      baseline("empty Bun binary", empty),
      ...rows.map(({ hook, news, limited, result, cpuVsNode, cpuVsEmpty }) => [
        ...place,
        `${hook}, ${news} new${limited ? "" : " (no limit)"}${result.failed === 0 ? "" : `, ${result.failed} FAILED`}`,
        ...figures(result),
        cpuVsNode === undefined ? "" : `${cpuVsNode.median.toFixed(2)} (${cpuVsNode.min.toFixed(2)})`,
        `${cpuVsEmpty.median.toFixed(2)} (${cpuVsEmpty.min.toFixed(2)})`,
      ]),
    ]
  })
  return markdownTable(["transcript", "archive", "process", "CPU", "wall", "peak", "÷ node", "÷ empty"], rows)
}

function firstReadTable({ transcriptMB, runs, peakMB }: FirstRead): string[] {
  const seconds = (ms: number | undefined) => (ms === undefined ? "never" : `${(ms / 1000).toFixed(1)} s`)
  const rows = runs.map((run) => [
    `${transcriptMB} MB`,
    String(run.exitCode),
    run.wallMs.toFixed(0),
    run.cpuMs.toFixed(0),
    `${run.committedMB.toFixed(1)} MB`,
    seconds(run.vaultCompleteMs),
    seconds(run.indexCompleteMs),
    peakMB.toFixed(0),
  ])
  const head = [
    "first read",
    "exit",
    "wall ms",
    "CPU ms",
    "committed",
    "vault complete",
    "index complete",
    "peak MB",
  ]
  return markdownTable(head, rows)
}

function verdictTable(verdicts: readonly Verdict[]): string[] {
  const number = (value: number) => (Number.isInteger(value) ? String(value) : value.toFixed(2))
  return markdownTable(
    ["limit", "allowed", "worst", "", "where"],
    verdicts.map(({ limit, allowed, measured, met, where }) => [
      limit,
      number(allowed),
      number(measured),
      met ? "met" : "MISSED",
      where,
    ]),
  )
}

/* What `ctxbridge bench hooks` reports: the machine-readable form, and the verdicts on it. Pure. */

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

interface Verdict {
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
