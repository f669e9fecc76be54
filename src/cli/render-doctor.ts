/** Shows people what `doctor` found. Pure. */
import type { Examination } from "../doctor/examine.ts"
import type { Finding, State } from "../doctor/finding.ts"
import { count } from "../util/text.ts"
import { type Style, safe } from "./style.ts"

const NAMES = 10

export function renderExamination(
  { findings, repairs }: Examination,
  dryRun: boolean,
  style: Style,
): string[] {
  const lines = repairs.map(({ what, error }) => {
    if (error !== undefined) return style.red(safe(`not repaired: ${what}: ${error}`))
    return safe(dryRun ? `would ${what}` : `repaired: ${what}`)
  })
  if (lines.length > 0) lines.push("")
  for (const one of findings) lines.push(...findingLines(one, style))
  return [...lines, "", verdict(findings, repairs.length > 0 && !dryRun, style)]
}

function findingLines(one: Finding, style: Style): string[] {
  const { check, state, text, hint, details, repair } = one
  const lines = [`${mark(state, style)}  ${check.padEnd(NAMES)}  ${safe(text)}`]
  const indent = " ".repeat("skip".length + 2 + NAMES + 2)
  lines.push(...details.map((detail) => style.dim(`${indent}${safe(detail)}`)))
  if (hint !== undefined) lines.push(`${indent}${safe(hint)}`)
  if (repair !== undefined) lines.push(`${indent}--fix would ${safe(repair.what)}`)
  return lines
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
  return warnings === "" ? style.green("All is well.") : `Nothing failed; ${warnings}${more}`
}
