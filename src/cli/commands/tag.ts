/** `ctxbridge tag`: labels of one's own on sessions and turns: tags, pins, and decisions that do not hold. */
import { isatty } from "node:tty"
import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { count, oneLine } from "../../base/text.ts"
import { STDIN } from "../../base/write-output.ts"
import { terminalTraits } from "../../config/load.ts"
import { startRenewing } from "../../job/spawn.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import { filterText } from "../../secrets/filter.ts"
import { withoutKnown } from "../../secrets/known.ts"
import { knownOf } from "../../vault/known-values.ts"
import { findByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import {
  changeLabels,
  type Label,
  type LabelShown,
  Labels,
  labelWords,
  readLabels,
  withLabel,
} from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { sessionsNamed } from "../../views/queries/sessions.ts"
import { turnByHandle } from "../../views/queries/turns.ts"
import { dropPrepared } from "../../views/reminders.ts"
import { positive, stringArg, words } from "../args.ts"
import { renderTable } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { AGENT_ARG, agentWanted, knownProject, PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { shortIds } from "../render-session.ts"
import { ago, screenOf, timeArg, wrapped } from "../screen.ts"
import { dotted, safe } from "../style.ts"

const LIMIT = 50
/** UTF-16 units of why something does not hold, and characters of a tag. */
const LONGEST_NOTE = 500
const LONGEST_TAG = 40
const MOST_TAGS = 20

export default {
  meta: { name: "tag", description: "Tag or pin sessions and turns; say which decisions do not hold" },
  args: {
    what: {
      type: "positional",
      names: "turn",
      description: "A session's id or a turn's handle (ctx:ab12cd); without it, all labels are listed",
    },
    tags: { type: "positional", rest: true, names: "tag", description: "Tags to put on it" },
    pin: flag("Keep it on top of lists; without a session or turn: list what is pinned"),
    unpin: flag("Take the pin off"),
    rejected: option("What was decided in this turn does not hold: why", "WHY"),
    superseded: option("Something else holds instead: the turn that says so, or what", "HANDLE|WHY"),
    holds: flag("It holds after all: undoes --rejected and --superseded"),
    remove: flag("Take these tags off; without tags, all of them"),
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("Labelled from this date or age on (2026-03-02, 7d)", "WHEN"),
    limit: option(`List at most this many, the latest (${LIMIT})`, "N", "n"),
    "dry-run": flag("Show what the labels would be; write nothing"),
  },
  rows: {
    list: "labels",
    columns: ["handle", "session", "tags", "pinned", "verdict", "note", "time", "title"],
    others: ["by", "judged", "byUser", "project", "program"],
  },
  run(context) {
    const [what, ...tags] = words(context.args)
    using db = openCurrent(context.env.dataHome, "command", startRenewing)
    const change = changeWanted(context, db, tags)
    if (what !== undefined) return label(context, db, what, change)
    if (change !== undefined && context.args["pin"] !== true)
      throw usageError("which session or turn?", "ctxbridge tag SESSION TAG…; ctxbridge sessions lists them")
    return list(context, db)
  },
} satisfies Command

/* What is to become of a label, from the words that were typed. */

interface Change {
  /** Whether it gives a verdict, which only turns have. */
  readonly isVerdict: boolean
  /** Handle of the turn that is to hold instead. */
  readonly by: string | null
  readonly on: (label: LabelShown, clean: (text: string) => string) => LabelShown
}

/** Pairs of options of which only one can be meant. */
const EITHER = [
  ["pin", "unpin"],
  ["rejected", "superseded"],
  ["rejected", "holds"],
  ["superseded", "holds"],
] as const

/** @returns undefined if nothing is to be changed */
function changeWanted({ args }: Context, db: Database, typed: readonly string[]): Change | undefined {
  for (const [one, other] of EITHER)
    if (args[one] && args[other]) throw usageError(`--${one} and --${other} cannot be used together`)
  const [rejected, superseded] = [stringArg(args, "rejected"), stringArg(args, "superseded")]
  const [pin, unpin, holds, remove] = ["pin", "unpin", "holds", "remove"].map((name) => args[name] === true)
  const verdict: LabelShown["verdict"] =
    rejected !== undefined ? "rejected" : superseded !== undefined ? "superseded" : null
  if (verdict === null && typed.length === 0 && !(pin || unpin || holds || remove)) return undefined
  const tags = [...new Set(typed.map(tagNamed))]
  const by = superseded?.startsWith(HANDLE_PREFIX) ? turnNamed(db, superseded) : null
  const note = by === null ? (rejected ?? superseded ?? null) : null
  if (note !== null && note.length > LONGEST_NOTE)
    throw usageError(`a note has at most ${LONGEST_NOTE} characters`, `this one has ${note.length}`)
  const now = new Date().toISOString()
  return {
    isVerdict: verdict !== null || holds === true,
    by,
    on(label, clean) {
      const kept = remove
        ? label.tags.filter((tag) => tags.length > 0 && !tags.includes(tag))
        : [...new Set([...label.tags, ...tags])]
      if (kept.length > MOST_TAGS) throw usageError(`at most ${MOST_TAGS} tags fit on one`)
      const judged = verdict && {
        verdict,
        by,
        note: note && clean(oneLine(note)),
        judged: now,
        byUser: isByUser(),
      }
      const none = holds && { verdict: null, by: null, note: null, judged: null, byUser: false }
      return { ...label, tags: kept, pinned: pin || (label.pinned && !unpin), ...judged, ...none }
    },
  }
}

/** Whether a person types it, and no agent: only then is it said to be the user's will. */
const isByUser = (): boolean => isatty(STDIN) && !terminalTraits().isInAgent

const TAG = new RegExp(`^[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}._/+-]{0,${LONGEST_TAG - 1}}$`, "u")

function tagNamed(word: string): string {
  const tag = word.replace(/^#/, "").normalize("NFC").toLowerCase()
  if (!TAG.test(tag))
    throw usageError(
      `${JSON.stringify(word)} is no tag`,
      `letters, digits and . _ / + -, at most ${LONGEST_TAG}; a reason follows --rejected or --superseded`,
    )
  return tag
}

/** Its handle in full, with its prefix. */
function turnNamed(db: Database, word: string): string {
  const found = findByName(db, word)
  if (found.kind === "turn") return found.turn.handle
  throw usageError(`${word} is a session, not a turn`, "ctxbridge show SESSION lists its turns")
}

function label(context: Context, db: Database, word: string, change: Change | undefined): void {
  const { args, env, out } = context
  const found = findByName(db, word)
  const subject =
    found.kind === "turn"
      ? { session: found.turn.session, handle: found.turn.handle }
      : { session: found.session.id, handle: null }
  const name = subject.handle ?? subject.session
  const dryRun = args["dry-run"] === true
  if (change?.isVerdict && subject.handle === null)
    throw usageError(
      "a decision is a turn's, not a session's",
      `ctxbridge show ${name.slice(0, 8)} lists its turns`,
    )
  let isFilled = false
  const { known } = knownOf(env, subject.session, subject.session)
  const clean = (text: string): string => {
    const filtered = withoutKnown(filterText(text, env.secrets), known)
    isFilled ||= filtered !== text
    return filtered
  }
  const changed = (labels: readonly Label[]): readonly Label[] => {
    if (change === undefined) return labels
    if (change.by !== null) refuseCircle(new Labels(labels), name, change.by)
    const after = withLabel(labels, subject, (one) => change.on(one, clean), new Date().toISOString())
    const secret = after.at(-1)!.tags.find((tag) => clean(tag) !== tag)
    if (secret !== undefined)
      throw usageError("a tag may not be a secret", "what looks like one is never written")
    return after
  }
  const before = readLabels(env.dataHome).on(name)
  const labels = dryRun
    ? new Labels(changed(readLabels(env.dataHome).all))
    : change === undefined
      ? readLabels(env.dataHome)
      : changeLabels(env.dataHome, changed)
  // It quotes turns, and names what helped.
  if (!dryRun && change !== undefined) dropPrepared(env.dataHome)
  const now = labels.on(name)
  out.json({ dryRun, labels: now === undefined ? [] : rowsOf(db, [now]), more: false })
  const said = labelWords(now)
  const told = said.length === 0 ? "no labels" : dotted(...said)
  const which = subject.handle ?? `session ${shortIds([name])[0]}`
  out.print(wrapped(safe(`${which}${dryRun ? " would have" : ""}: ${told}`), out.columns))
  const missing = args["remove"] === true ? lacking(words(args).slice(1), before) : []
  if (missing.length > 0)
    out.print(
      wrapped(safe(`It had no ${missing.length === 1 ? "tag" : "tags"} ${missing.join(", ")}.`), out.columns),
    )
  const option =
    args["remove"] === true
      ? undefined
      : words(args)
          .slice(1)
          .find((tag) => OPTIONS.has(tag))
  if (option !== undefined)
    out.print(wrapped(safe(`"${option}" is only a tag; ${OPTIONS.get(option)}.`), out.columns))
  if (isFilled) out.print("What looks like a secret in it was replaced with asterisks.")
}

/** Tags that were probably meant as options. */
const OPTIONS: ReadonlyMap<string, string> = new Map([
  ["pin", "--pin keeps it on top of lists"],
  ["pinned", "--pin keeps it on top of lists"],
  ["rejected", "--rejected WHY says that what was decided does not hold"],
  ["superseded", "--superseded HANDLE says which turn holds instead"],
])

/** Which of these tags were not there to be taken off. */
const lacking = (typed: readonly string[], label: LabelShown | undefined): string[] =>
  typed.map(tagNamed).filter((tag) => !label?.tags.includes(tag))

/** @throws CtxError exit 64 if what is to hold instead is itself said to be superseded by this */
function refuseCircle(labels: Labels, handle: string, by: string): void {
  const seen = new Set<string>()
  for (let at: string | null | undefined = by; at && !seen.has(at); at = labels.verdictOn(at)?.by) {
    if (at === handle)
      throw usageError(
        by === handle ? "a turn cannot supersede itself" : `${by} is itself superseded by ${handle}`,
        by === handle
          ? "name the turn that holds instead, or say why"
          : `ctxbridge tag ${by} --holds undoes that`,
      )
    seen.add(at)
  }
}

/* The list of all labels. */

interface LabelRow extends Label {
  readonly project: string | null
  readonly program: string | null
  /** Of a turn, what was asked. */
  readonly title: string | null
}

/** Turns are told of the session that the views have them in. */
function rowsOf(db: Database, labels: readonly Label[]): LabelRow[] {
  const turns = labels.map(({ handle }) => (handle === null ? null : turnByHandle(db, handle)))
  const ids = labels.map(({ session }, n) => turns[n]?.session ?? session)
  const sessions = new Map(sessionsNamed(db, [...new Set(ids)]).map((one) => [one.id, one]))
  return labels.map((label, n) => {
    const session = sessions.get(ids[n]!)
    const title = turns[n] ? turns[n].prompt : (session?.title ?? session?.firstPrompt ?? null)
    return {
      ...label,
      session: ids[n]!,
      project: session?.project ?? null,
      program: session?.program ?? null,
      title: title === null ? null : oneLine(title),
    }
  })
}

function list(context: Context, db: Database): number {
  const { args, env, out } = context
  const limit = positive(args, "limit") ?? LIMIT
  const since = timeArg(args, "since", Date.now())
  const project = knownProject(db, context, projectWanted(context))
  const program = agentWanted(args)
  const all = rowsOf(db, readLabels(env.dataHome).all).sort(
    (a, b) => Number(b.pinned) - Number(a.pinned) || (a.time < b.time ? 1 : -1),
  )
  const rows = all.filter(
    (row) =>
      (project === undefined || row.project === project) &&
      (program === undefined || row.program === program) &&
      (since === undefined || row.time >= since) &&
      (args["pin"] !== true || row.pinned),
  )
  const shown = rows.slice(0, limit)
  out.json({ dryRun: false, labels: shown, more: rows.length > limit })
  if (shown.length === 0) {
    const where = project === undefined ? "" : ` of ${folderOf(project)}`
    const others =
      all.length === 0 ? "ctxbridge tag SESSION TAG… puts one on" : `ctxbridge tag -a lists ${all.length}`
    throw new CtxError("no-labels", `nothing${where} is ${args["pin"] === true ? "pinned" : "labelled"}`, {
      hint: others,
      exit: EXIT.notFound,
    })
  }
  const screen = screenOf(out)
  const isMixed = project === undefined
  const nameOf = projectNamer(db)
  const names = shortIds(shown.map(({ session }) => session))
  out.print(
    renderTable(
      [
        { title: "what" },
        { title: "labelled", optional: true },
        ...(isMixed ? [{ title: "project", optional: true }] : []),
        { title: "labels", flexible: true },
        { title: "title", below: true },
      ],
      shown.map((row, n) => [
        row.handle ?? safe(names[n]!),
        ago(row.time, screen.now),
        ...(isMixed ? [row.project === null ? "" : safe(nameOf(row.project))] : []),
        safe(dotted(...labelWords(row))),
        row.title ?? "",
      ]),
      screen.columns,
      screen.style,
    ),
  )
  if (rows.length > limit)
    out.print(`And ${count(rows.length - limit, "more label", "more labels")}: --limit ${rows.length}.`)
  return EXIT.ok
}
