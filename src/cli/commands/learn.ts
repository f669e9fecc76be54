/** `ctxbridge learn`: what is learnt from what is used of restores, how well it serves, and how to begin anew. */
import { usageError } from "../../base/errors.ts"
import { count, percent } from "../../base/text.ts"
import { type Trial, trialsOf } from "../../restore/learning/note-uses.ts"
import { SLOT_KINDS, type SlotKind } from "../../restore/slots.ts"
import type { Database } from "../../views/database.ts"
import { open } from "../../views/open.ts"
import { openCurrent } from "../../views/open-current.ts"
import {
  hasDisplays,
  type LearnedRow,
  learnedRows,
  resetLearning,
  sessionsToFollow,
  triedRestores,
  useCounts,
} from "../../views/queries/fact-uses.ts"
import { projectId } from "../../views/queries/projects.ts"
import { words } from "../args.ts"
import { renderTable } from "../block.ts"
import type { Command, Context } from "../command.ts"
import { knownProject, OF_PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { type Screen, screenOf } from "../screen.ts"
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

/* What is used of what restores show, for people. Pure. */

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

/* How often what restores show is used, and what showing it is worth. */

export interface LearningReport {
  /** Those that arrived and were followed by work. */
  readonly restores: number
  readonly sessions: number
  /** Of what was shown, without what the context had anyway. */
  readonly kinds: Readonly<Record<SlotKind, Share>>
  readonly all: Share
  /** Null if nothing was ever left out by chance. */
  readonly lift: Lift | null
  /** Evidence for turns, from restores and answers: by kind, how often. */
  readonly uses: Readonly<Record<string, number>>
  /** Sessions that the background job has still to look at. */
  readonly waiting: number
}

/** @param project undefined: all projects */
export function learningReport(db: Database, project: number | undefined): LearningReport {
  const tried = triedRestores(db, project)
  const restores = tried.map((one) => trialsOf(one))
  const shown = restores.flat().filter((trial) => trial.shown)
  const kinds = SLOT_KINDS.map((kind) => [kind, shareIn(shown.filter((trial) => trial.kind === kind))])
  const waiting = sessionsToFollow(db).filter(
    (one) => (project === undefined || one.project === project) && hasDisplays(db, one.session),
  )
  return {
    restores: tried.length,
    sessions: new Set(tried.map(({ session }) => session)).size,
    kinds: Object.fromEntries(kinds) as LearningReport["kinds"],
    all: shareIn(shown),
    lift: liftOf(restores) ?? null,
    uses: useCounts(db, project),
    waiting: waiting.length,
  }
}

/*
 * What showing something is worth: how much more often what was shown is used than what was left out by chance. Pure.
 *
 * Both are counted alike: used before anything else had shown it. Chance decides within each restore, so whatever else
 * sets sessions apart does so on both sides. The interval is Newcombe's hybrid score interval for the difference of two
 * shares (1998, method 10), made of Wilson's intervals of both. It takes slots as independent; where some restores are
 * used more than others, on both sides alike, it is wider than it need be.
 */

interface Share {
  readonly n: number
  /** Of these. */
  readonly used: number
  /** Of the others, how many the model used after it had found them elsewhere. */
  readonly found: number
}

export interface Lift {
  readonly shown: Share
  readonly leftOut: Share
  /** Difference of the shares used, from -1 to 1. */
  readonly lift: number
  /** In 95 of 100 such experiments, the interval holds the true difference. */
  readonly interval: readonly [least: number, most: number]
  /** Whether there is enough to say so. */
  readonly isTelling: boolean
}

/** Fewer slots left out, or in fewer restores, tell nothing. */
export const LEAST_LEFT_OUT = 20
export const LEAST_RESTORES = 5

const Z95 = 1.959964

const shareIn = (trials: readonly Trial[]): Share => ({
  n: trials.length,
  used: trials.filter(({ used }) => used).length,
  found: trials.filter(({ found }) => found).length,
})

/**
 * @param restores the trials of each; those in which nothing was left out do not count
 * @returns undefined if nothing was left out
 */
export function liftOf(restores: readonly (readonly Trial[])[]): Lift | undefined {
  const tried = restores.filter((trials) => trials.some(({ shown }) => !shown))
  const all = tried.flat()
  const shown = shareIn(all.filter((trial) => trial.shown))
  const leftOut = shareIn(all.filter((trial) => !trial.shown))
  if (shown.n === 0 || leftOut.n === 0) return undefined
  return {
    shown,
    leftOut,
    lift: shown.used / shown.n - leftOut.used / leftOut.n,
    interval: newcombe(shown, leftOut),
    isTelling: leftOut.n >= LEAST_LEFT_OUT && tried.length >= LEAST_RESTORES,
  }
}

type Counted = Pick<Share, "n" | "used">

function newcombe(a: Counted, b: Counted): [number, number] {
  const [p, q] = [a.used / a.n, b.used / b.n]
  const [[pLeast, pMost], [qLeast, qMost]] = [wilson(a), wilson(b)]
  return [p - q - Math.hypot(p - pLeast, qMost - q), p - q + Math.hypot(pMost - p, q - qLeast)]
}

/** Wilson's score interval of a share. */
export function wilson({ n, used }: Counted): [least: number, most: number] {
  const p = used / n
  const z2 = Z95 ** 2
  const middle = (p + z2 / (2 * n)) / (1 + z2 / n)
  const half = (Z95 / (1 + z2 / n)) * Math.sqrt((p * (1 - p)) / n + z2 / (4 * n * n))
  return [Math.max(0, middle - half), Math.min(1, middle + half)]
}
