/**
 * Measures dist/ctxbridge and keeps the figures: `npm run bench -- [--quick] [--rounds N] [--label NAME] [--exe PATH]`.
 * Writes bench/runs/<date>-<label>/report.json and README.md.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { parseArgs } from "node:util"
import { benchHooks, FULL_PLAN, QUICK_PLAN } from "../src/cli/bench/bench-hooks.ts"
import { renderReport } from "../src/cli/bench/hook-tables.ts"

const root = join(import.meta.dir, "..")

async function main(): Promise<number> {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: {
      quick: { type: "boolean", default: false },
      rounds: { type: "string" },
      label: { type: "string" },
      exe: { type: "string", default: join(root, "dist", "ctxbridge") },
    },
  })
  const exe = resolve(values.exe)
  if (!existsSync(exe)) {
    console.error(`no such file: ${exe}; npm run build makes it`)
    return 1
  }
  const plan = values.quick ? QUICK_PLAN : FULL_PLAN
  const rounds = Number(values.rounds ?? plan.rounds)
  const report = await benchHooks({
    ...plan,
    rounds,
    exe,
    environment: process.env,
    onProgress: (step, done) => {
      if (done === 0) console.error(step)
    },
  })
  const lines = renderReport(report)
  console.log(lines.join("\n"))

  const label = values.label ?? (values.quick ? "quick" : "full")
  const folder = join(root, "bench", "runs", `${report.at.slice(0, 10)}-${label}`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "report.json"), `${JSON.stringify(report, null, 2)}\n`)
  writeFileSync(join(folder, "README.md"), [`# ${label}`, "", ...lines, ""].join("\n"))
  return report.verdicts.every(({ met }) => met) ? 0 : 1
}

process.exitCode = await main()
