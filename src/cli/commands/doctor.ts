/** `ctxbridge doctor`: finds what keeps ctxbridge from working here, and what can be done about it. */
import { version } from "../../../package.json"
import { EXIT } from "../../base/errors.ts"
import { count } from "../../base/text.ts"
import { variablesSet } from "../../config/load.ts"
import { spoolStatus } from "../../views/spool.ts"
import { type Command, type Environment, flag } from "../command.ts"
import { type Examination, examine } from "../doctor/examine.ts"
import type { Finding, SpoolCount, State } from "../doctor/finding.ts"
import { wrapped } from "../screen.ts"
import { createStyle, type Style, safe } from "../style.ts"

export default {
  meta: {
    name: "doctor",
    description: "Find problems; --fix repairs what is safe",
    badOptions: "own",
  },
  args: {
    fix: flag("Repair what can be repaired without asking"),
    "dry-run": flag("With --fix: show what would be repaired"),
    deep: flag("Check every byte of the vault and the database"),
  },
  async run({ args, env, out }) {
    const dryRun = args["dry-run"] === true
    const patient = {
      ...env,
      version,
      variables: variablesSet(),
      now: Date.now(),
      deep: args["deep"] === true,
      spool: spoolCount(env),
      progress: out.progress,
    }
    const examination = await examine(patient, { fix: args["fix"] === true, dryRun })
    out.print(
      renderExamination(examination, dryRun, createStyle(out.color), out.terminal ? out.columns : WIDE),
    )
    const { ok, findings, repairs } = examination
    out.json({
      ok,
      dryRun,
      findings: findings.map((one) => ({ ...one, repair: one.repair?.what ?? null })),
      repairs,
    })
    return ok ? EXIT.ok : EXIT.failed
  },
} satisfies Command

function spoolCount(env: Environment): SpoolCount {
  const places = spoolStatus(env)
  return {
    files: places.reduce((sum, { transcripts }) => sum + transcripts, 0),
    bytes: places.reduce((sum, place) => sum + place.bytes, 0),
  }
}

const NAMES = 10
/** Columns of words beside the names, however narrow the terminal is. */
const LEAST = 16
/** Whoever reads it from a pipe looks for whole lines. */
const WIDE = Number.POSITIVE_INFINITY

function renderExamination(
  { findings, repairs }: Examination,
  dryRun: boolean,
  style: Style,
  columns: number,
): string[] {
  const lines = repairs.flatMap(({ what, error }) => {
    if (error !== undefined) return folded(style.red(safe(`not repaired: ${what}: ${error}`)), columns)
    return folded(safe(dryRun ? `would ${what}` : `repaired: ${what}`), columns)
  })
  if (lines.length > 0) lines.push("")
  for (const one of findings) lines.push(...findingLines(one, style, columns))
  return [...lines, "", ...folded(verdict(findings, repairs.length > 0 && !dryRun, style), columns)]
}

const folded = (text: string, columns: number): string[] =>
  columns === WIDE ? [text] : wrapped(text, columns)

function findingLines(one: Finding, style: Style, columns: number): string[] {
  const { check, state, text, hint, details, repair } = one
  const indent = " ".repeat("skip".length + 2 + NAMES + 2)
  const beside = (words: string): string[] => folded(safe(words), Math.max(LEAST, columns - indent.length))
  const [first, ...rest] = beside(text)
  const below = [
    ...rest,
    ...details.flatMap((detail) => beside(detail).map(style.dim)),
    ...(hint === undefined ? [] : beside(hint)),
    ...(repair === undefined ? [] : beside(`--fix would ${repair.what}`)),
  ]
  return [`${mark(state, style)}  ${check.padEnd(NAMES)}  ${first}`, ...below.map((line) => indent + line)]
}

function mark(state: State, style: Style): string {
  switch (state) {
    case "ok":
      return style.green("ok  ")
    case "warn":
      return style.bold("warn")
    case "fail":
      return style.red("fail")
    case "skipped":
      return style.dim("skip")
  }
}

function verdict(findings: readonly Finding[], repaired: boolean, style: Style): string {
  const n = (state: State): number => findings.filter((one) => one.state === state).length
  const fixable = findings.some(({ repair }) => repair !== undefined)
  const more = fixable && !repaired ? "; --fix repairs what can be repaired" : ""
  const warnings = n("warn") > 0 ? count(n("warn"), "warning") : ""
  if (n("fail") > 0) {
    return style.red([`${n("fail")} failed`, warnings].filter((text) => text !== "").join(", ") + more)
  }
  return warnings === "" ? style.green("All good.") : `Nothing failed; ${warnings}${more}`
}
