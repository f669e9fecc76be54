/** What is used of what restores show, for people. Pure. */
import type { LearningReport } from "../learn/learning-report.ts"
import { LEAST_LEFT_OUT, LEAST_RESTORES, type Lift, type Share } from "../learn/learning-report.ts"
import { SLOT_KINDS } from "../restore/slots.ts"
import { count, percent } from "../util/text.ts"
import { renderTable } from "./block.ts"
import type { Screen } from "./screen.ts"

interface LearningOptions {
  readonly enabled: boolean
  readonly holdOut: number
}

export function renderLearning(report: LearningReport, options: LearningOptions, screen: Screen): string[] {
  const { restores, sessions, kinds, all, waiting } = report
  const off = options.enabled ? [] : ["Off (learn.enabled): nothing new is noted."]
  const rest = waiting === 0 ? [] : [`The background job has still to look at ${count(waiting, "session")}.`]
  if (restores === 0) return [...off, "No restore was followed by work yet.", ...rest]
  const rows = [...SLOT_KINDS.map((kind) => [`${kind}s`, kinds[kind]] as const), ["together", all] as const]
  const head = ["", "shown", "used", "found elsewhere"].map((title, n) =>
    n === 0 ? { title } : { title, align: "right" as const },
  )
  return [
    ...off,
    `${count(restores, "restore")} in ${count(sessions, "session")}, and what became of what they showed within three turns:`,
    ...renderTable(
      head,
      rows.map(([name, share]) => [name, String(share.n), part(share, "used"), part(share, "found")]),
      screen.columns,
      screen.style,
    ),
    "",
    ...liftLines(report.lift, options),
    ...rest,
  ]
}

const part = (share: Share, what: "used" | "found"): string =>
  share.n === 0 ? "" : `${share[what]} (${percent(share[what] / share.n, 1)})`

const signed = (share: number): string => `${share < 0 ? "−" : "+"}${(100 * Math.abs(share)).toFixed(1)}`

const points = (lift: number): string =>
  `${(100 * Math.abs(lift)).toFixed(1)} points ${lift < 0 ? "less" : "more"}`

function liftLines(lift: Lift | null, { holdOut }: LearningOptions): string[] {
  const how =
    holdOut > 0
      ? `learn.holdout leaves out ${percent(holdOut, 1)}`
      : "learn.holdout = 0.1 would leave out a tenth by chance"
  if (lift === null) return [`Nothing was left out by chance, so what showing is worth is unknown; ${how}.`]
  const { shown, leftOut, interval, isTelling } = lift
  const counted = `Left out by chance: ${leftOut.n}, of which ${part(leftOut, "used")} were used nevertheless and ${part(leftOut, "found")} found elsewhere. Of ${shown.n} shown beside them, ${part(shown, "used")} were used.`
  if (!isTelling)
    return [
      counted,
      `Too little to say what showing is worth: that takes ${LEAST_LEFT_OUT} left out in ${LEAST_RESTORES} restores.`,
    ]
  const [least, most] = interval
  const verdict =
    least > 0
      ? "Showing it helps."
      : most < 0
        ? "Showing it does harm."
        : "That may be chance: the interval contains 0."
  return [
    counted,
    `What is shown is used ${points(lift.lift)} often (95% interval ${signed(least)} to ${signed(most)}, Newcombe's hybrid score). ${verdict}`,
  ]
}
