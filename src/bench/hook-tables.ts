/** The report of `bench hooks` for people. Pure. */
import { markdownTable } from "../util/markdown-table.ts"
import type { FirstRead, Report, Scenario, Verdict } from "./hook-report.ts"
import type { Result, Spread } from "./measure-processes.ts"

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
