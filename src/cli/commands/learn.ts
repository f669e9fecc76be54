/** `ctxbridge learn`: what is learnt from what is used of restores, how well it serves, and how to begin anew. */
import type { Database } from "../../archive/database.ts"
import { open } from "../../archive/open.ts"
import { openCurrent } from "../../archive/open-current.ts"
import { type LearnedRow, learnedRows, resetLearning } from "../../archive/queries/fact-uses.ts"
import { projectId } from "../../archive/queries/projects.ts"
import { learningReport } from "../../learn/learning-report.ts"
import { usageError } from "../../util/errors.ts"
import { count } from "../../util/text.ts"
import { words } from "../args.ts"
import { renderTable } from "../block.ts"
import type { Command, Context } from "../command.ts"
import { knownProject, OF_PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { renderLearning } from "../render-learning.ts"
import { screenOf } from "../screen.ts"
import { safe } from "../style.ts"

const ROWS_SHOWN = 40

export default {
  meta: { name: "learn", description: "Show what restores learn from use, or start over" },
  args: {
    action: {
      type: "positional",
      description: "What to show or do (default: weights)",
      valueHint: "weights|report|reset",
    },
    ...OF_PROJECT_ARGS,
  },
  run(context) {
    const [action = "weights", surplus] = words(context.args)
    if (surplus !== undefined) throw usageError(`unexpected argument: ${surplus}`, "ctxbridge learn --help")
    if (action === "weights") return weights(context)
    if (action === "report") return report(context)
    if (action === "reset") return reset(context)
    throw usageError(`unknown action: ${action}`, "one of weights, report, reset")
  },
} satisfies Command

/** Id of the project that is meant: undefined for all, -1 for one of which nothing is archived. */
function projectMeant(db: Database, context: Context): number | undefined {
  const path = knownProject(db, context, projectWanted(context))
  return path === undefined ? undefined : (projectId(db, path) ?? -1)
}

function weights(context: Context): void {
  const { args, env, out } = context
  if (args["all-projects"] === true)
    throw usageError("weights are learnt by project", "name one with --project")
  using db = openCurrent(env.dataHome, "command")
  const rows = learnedRows(db, projectMeant(db, context) ?? -1)
  out.json({ enabled: env.config["learn.enabled"], weights: rows })
  if (!env.config["learn.enabled"]) out.print("Off (learn.enabled): restores ignore what was learnt.")
  if (rows.length === 0) {
    out.print("Nothing learnt in this project yet: that takes restores, and work after them.")
    return
  }
  const { style, columns } = screenOf(out)
  const head = [
    { title: "kind" },
    { title: "what", flexible: true },
    ...["shown", "used", "weight"].map((title) => ({ title, align: "right" as const })),
  ]
  const told = (row: LearnedRow): string[] => [
    row.kind,
    row.item === "" ? `all that are: ${row.cell}` : safe(row.item),
    String(row.shown),
    String(row.used),
    `×${row.weight.toFixed(2)}`,
  ]
  const byEvidence = rows.toSorted((a, b) => b.shown - a.shown)
  out.print(renderTable(head, byEvidence.slice(0, ROWS_SHOWN).map(told), columns, style))
  if (rows.length > ROWS_SHOWN) out.print(`and ${rows.length - ROWS_SHOWN} more with --json`)
}

function report(context: Context): void {
  const { env, out } = context
  using db = openCurrent(env.dataHome, "command")
  const found = learningReport(db, projectMeant(db, context))
  const holdOut = env.config["learn.holdout"]
  const enabled = env.config["learn.enabled"]
  out.json({ enabled, holdOut, ...found })
  out.print(renderLearning(found, { enabled, holdOut }, screenOf(out)))
}

function reset(context: Context): void {
  const { env, out } = context
  const reading = openCurrent(env.dataHome, "command")
  const project = projectMeant(reading, context)
  reading.close()
  using db = open(env.dataHome, "write")
  const restores = resetLearning(db, project)
  out.json({ restores })
  out.print(
    restores === 0
      ? "There was nothing to forget"
      : `Forgotten: what ${count(restores, "restore")} had shown`,
  )
}
