/** `bench torture` for people. Pure. */
import { type CaseResult, faultsOf, type TortureReport } from "./types.ts"

const HEAD = ["case", "runs", "killed", "turns", "lost", "twice", "false", "bad exits", "seconds"]

export function renderTorture({ cases, ok, seed }: TortureReport): string[] {
  const rows = cases.map(cells)
  const widths = HEAD.map((title, n) => Math.max(title.length, ...rows.map((row) => row[n]?.length ?? 0)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, n) => (n === 0 ? cell.padEnd(widths[n]!) : cell.padStart(widths[n]!)))
      .join("  ")
      .trimEnd()
  const lines = [line(HEAD), ...rows.map(line)]
  for (const { name, skipped } of cases) if (skipped !== null) lines.push(`skipped: ${name}: ${skipped}`)
  for (const { name, problems } of cases) for (const problem of problems) lines.push(`${name}: ${problem}`)
  return [
    ...lines,
    "",
    ok
      ? "Nothing lost, nothing twice, nothing false."
      : `Something was lost, repeated or false (--seed ${seed}).`,
  ]
}

function cells(one: CaseResult): string[] {
  if (one.skipped !== null) return [one.name, "skipped"]
  const lost = one.lostLines + one.lostTurns
  const counted = [one.runs, one.killed, one.turns, lost, one.duplicates, one.falseMessages, one.badExits]
  return [
    `${faultsOf(one) === 0 ? "ok" : "FAILED"} ${one.name}`,
    ...counted.map(String),
    (one.ms / 1000).toFixed(1),
  ]
}
