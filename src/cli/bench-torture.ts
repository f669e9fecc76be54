/** `ctxbridge bench torture`: breaks things around the binary and counts what is lost. */
import { enclosure } from "../bench/torture/case-disk.ts"
import { CASES, FULL_SCALE, QUICK_SCALE, torture } from "../bench/torture/run-cases.ts"
import { type CaseResult, faultsOf, type TortureReport } from "../bench/torture/torture-report.ts"
import { childEnvironment } from "../config/load.ts"
import { EXIT, usageError } from "../util/errors.ts"
import { positive, stringArg } from "./args.ts"
import { renderTable } from "./block.ts"
import type { Context } from "./command.ts"
import { createStyle, type Style } from "./style.ts"

export async function benchTorture({ args, out, env }: Context): Promise<number> {
  const seed = positive(args, "seed") ?? 1
  const only = stringArg(args, "only")
  const cases = CASES.filter(({ name }) => only === undefined || name.includes(only))
  if (cases.length === 0) {
    throw usageError(`no such case: ${only}`, `there are: ${CASES.map(({ name }) => name).join(", ")}`)
  }
  const around = args["enclosed"] === true ? undefined : enclosure()
  if (around !== undefined) return again(around, env.exePath)
  const scale = args["quick"] === true ? QUICK_SCALE : FULL_SCALE
  const report = await torture({ exe: env.exePath, seed, scale, cases, onProgress: out.progress })
  out.print(render(report, out.columns, createStyle(out.color)))
  out.json(report)
  return report.ok ? EXIT.ok : EXIT.failed
}

/** Runs the same command where file systems can be mounted. */
async function again(around: readonly string[], exe: string): Promise<number> {
  const child = Bun.spawn([...around, exe, ...process.argv.slice(2), "--enclosed"], {
    stdio: ["inherit", "inherit", "inherit"],
    env: childEnvironment(),
  })
  return await child.exited
}

const FIGURES = ["runs", "killed", "turns", "lost", "twice", "false", "bad exits", "seconds"]

function render({ cases, ok, seed }: TortureReport, columns: number, style: Style): string[] {
  const head = [{ title: "case" }, ...FIGURES.map((title) => ({ title, align: "right" as const }))]
  return [
    ...renderTable(head, cases.map(cells), columns, style),
    ...cases.flatMap(({ name, skipped }) => (skipped === null ? [] : [`skipped: ${name}: ${skipped}`])),
    ...cases.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`)),
    "",
    ok
      ? "Nothing lost, nothing duplicated, nothing wrong."
      : `Something was lost, duplicated or wrong (--seed ${seed}).`,
  ]
}

function cells(one: CaseResult): string[] {
  if (one.skipped !== null) return [one.name, "skipped", ...FIGURES.slice(1).map(() => "")]
  const lost = one.lostLines + one.lostTurns
  const counted = [one.runs, one.killed, one.turns, lost, one.duplicates, one.falseMessages, one.badExits]
  const state = faultsOf(one) === 0 ? "ok" : "FAILED"
  return [`${state} ${one.name}`, ...counted.map(String), (one.ms / 1000).toFixed(1)]
}
