import { historyPrompt } from "../../agents/agents.ts"
import { CtxError, EXIT, messageOf, usageError } from "../../base/errors.ts"
import { tryTo } from "../../base/files.ts"
import { resolve } from "../../base/path.ts"
import { sessionIdOf } from "../../base/session-id.ts"
import { bytes, count } from "../../base/text.ts"
import {
  forget,
  type Leaving,
  leaving,
  resumeForgetting,
  silentSince,
  tombstonesOf,
  unfinished,
} from "../../job/forget-sessions.ts"
import {
  CarriedSearch,
  findNotes,
  findText,
  keptInOneOf,
  namesOf,
  type TextFound,
  type ToldSession,
} from "../../job/forget-text.ts"
import { type LineFinder, patternFinder, textFinder } from "../../record/find-text.ts"
import { readList } from "../../vault/copy-list.ts"
import { isHistoryCopy } from "../../vault/layout.ts"
import type { Tombstone } from "../../vault/tombstone.ts"
import { listTombstones, ownerOf, removeTombstone } from "../../vault/tombstones.ts"
import { findSessionByName } from "../../views/by-name.ts"
import type { Database } from "../../views/database.ts"
import { summaryName } from "../../views/kept-summaries.ts"
import { forgetLabels, readLabels } from "../../views/labels.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { projectNamer } from "../../views/queries/projects.ts"
import { threadsOf } from "../../views/queries/scope.ts"
import {
  promptsOnlySessions,
  sessionsByEnd,
  sessionsNamed,
  sessionsOfProject,
} from "../../views/queries/sessions.ts"
import { latestSummary } from "../../views/queries/summaries.ts"
import { lineageOf, outputsOfSubagents } from "../../views/queries/transcripts.ts"
import { spoolStatus } from "../../views/spool.ts"
import { knownCopies } from "../../views/transcript-rows.ts"
import { stringArg } from "../args.ts"
import { renderTable } from "../block.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { knownProject, projectAt, projectWanted } from "../project-wanted.ts"
import { shortIds, titleOf } from "../render-session.ts"
import { ageOf, ago, type Screen, screenOf } from "../screen.ts"
import { safe } from "../style.ts"

/** ms to wait for others working on the archive, such as the background job or an import. */
const PATIENCE = 60_000

export default {
  meta: { name: "forget", description: "Remove sessions, a project, a text or what is old" },
  args: {
    what: {
      type: "positional",
      names: "session",
      description: "A session's id (at least four letters), or a project's folder: /path, ./path or .",
    },
    "older-than": option(
      "All sessions whose last turn is that old: hours, days, weeks or years",
      "90d|12w|1y",
    ),
    project: option("With --older-than: only those of the project of this name or folder", "PATH|NAME", "p"),
    "all-projects": flag("With --older-than: those of every project (the default)", "a"),
    match: option("Only this text, wherever it occurs", "TEXT"),
    regex: flag("The text is a JavaScript regular expression"),
    list: flag("Show what has been forgotten"),
    undo: option("Let this session be archived again", "SESSION"),
    "dry-run": flag("Show what would be removed; write nothing"),
    ...YES_ARG,
  },
  run(context) {
    const { args } = context
    const [what, text, undone] = [stringArg(args, "what"), stringArg(args, "match"), stringArg(args, "undo")]
    // Probably an unset variable: with --match, the text would go from all sessions instead of one.
    if (args["what"] === "") throw usageError("WHAT is empty", "leave it out to forget a text everywhere")
    const age = ageWanted(args)
    const isNamed = what !== undefined || text !== undefined
    const ways = [args["list"] === true, undone !== undefined, age !== undefined, isNamed]
    if (ways.filter((way) => way).length !== 1) {
      throw usageError(
        "what should be forgotten?",
        "one of: a session, a project's folder, --match TEXT, --older-than 90d, --list, --undo",
      )
    }
    if (age === undefined && (args["project"] !== undefined || args["all-projects"] === true))
      throw usageError(
        "--project and --all-projects go with --older-than",
        "ctxbridge forget /path/of/project forgets a whole project",
      )
    if (text === undefined && args["regex"] === true) throw usageError("--regex needs --match")
    if (args["list"] === true) return list(context)
    if (undone !== undefined) return undo(context, undone)
    finishFormer(context)
    if (context.args["dry-run"] !== true)
      context.out.resumable("Ctrl-C: the background job or the next forget ends it")
    if (age !== undefined) return forgetOld(context, age)
    return text === undefined
      ? forgetSessions(context, what!)
      : forgetText(context, what, finderOf(context, text))
  },
} satisfies Command

/** Letters that name a session. */
const LEAST_NAME = 4

/** @throws CtxError exit 64 for what is no age, as 0 would be that of everything */
function ageWanted(args: Context["args"]): number | undefined {
  const word = args["older-than"]
  if (word === undefined) return undefined
  const age = ageOf(String(word))
  // An age of nothing would be that of everything.
  if (age !== undefined && age > 0) return age
  throw usageError(
    `--older-than needs an age, not ${JSON.stringify(word)}`,
    "such as 90d: a number and one of h, d, w, y",
  )
}

/** Finishes what a killed `forget` left. Must run first: its sessions can no longer be looked up. */
export function finishFormer({ args, env, out }: Context): void {
  const left = unfinished(env.dataHome).length
  if (args["dry-run"] === true || left === 0) return
  const done = resumeForgetting(env.dataHome, { wait: PATIENCE, onProgress: out.progress })
  if (done !== undefined) out.print(`Finished what was interrupted before: ${count(left, "session")}`)
}

function list({ env, out }: Context): void {
  const tombstones = listTombstones(env.dataHome)
  const left = unfinished(env.dataHome)
  out.print(renderTombstones(tombstones, Date.now()))
  if (left.length > 0) {
    out.print(`${count(left.length, "session")} not completely removed yet: run forget again`)
  }
  out.json({ forgotten: tombstones.map(publicOf), unfinished: left })
}

const publicOf = ({ session, whole, agents, transcripts, lines, time }: Tombstone) => ({
  session,
  whole,
  agents,
  transcripts,
  lines: Object.keys(lines).length,
  time: new Date(time).toISOString(),
})

function undo({ env, out, args }: Context, word: string): void {
  const id = sessionIdOf(word)
  const found = listTombstones(env.dataHome).filter(
    ({ session }) => session.startsWith(word) || session === id,
  )
  const [one] = found.filter(({ session }) => session === id).concat(found)
  if (one === undefined) {
    throw new CtxError("not-found", `no session ${word} has been forgotten`, {
      hint: "ctxbridge forget --list names those that were",
      exit: EXIT.notFound,
    })
  }
  if (found.length > 1 && one.session !== id) {
    throw usageError(`${word} names ${found.length} forgotten sessions`, "type more of it")
  }
  if (unfinished(env.dataHome).includes(one.session)) {
    throw new CtxError("busy", `${one.session} is still being forgotten`, {
      hint: "run ctxbridge forget on it again",
    })
  }
  const dryRun = args["dry-run"] === true
  if (!dryRun) removeTombstone(env.dataHome, one.session)
  out.print(
    `${safe(one.session)} ${dryRun ? "would be" : "is"} archived again from its next turn on; ctxbridge import archives what Claude Code still has`,
  )
  out.json({ dryRun, undone: publicOf(one) })
}

function forgetSessions(context: Context, word: string): number | undefined {
  const { cwd, dataHome } = context.env
  const wanted = asked(dataHome, (db) => {
    const named = sessionsMeant(db, cwd, word, dataHome)
    const sessions = [...new Set([...named, ...threadsOf(db, named)])]
    return { sessions, heirs: heirsOf(db, sessions), outputs: outputsOfSubagents(db, sessions) }
  })
  const list = leaving(dataHome, wanted.sessions, wanted.outputs)
  return leave(context, list, { heirs: wanted.heirs })
}

/** Forgets sessions that have been silent for so many ms, of every project unless one is named. */
function forgetOld(context: Context, age: number): number | undefined {
  const { dataHome } = context.env
  const isOfOne = stringArg(context.args, "project") !== undefined
  const wanted = isOfOne ? projectWanted(context) : undefined
  const { ended, promptsOnly, known, project, within } = asked(dataHome, (db) => {
    const project = isOfOne ? knownProject(db, context, wanted) : undefined
    const within = project === undefined ? undefined : new Set(sessionsOfProject(db, project, project))
    return {
      ...{ ended: endsOf(db), promptsOnly: promptsOnlySessions(db), known: knownCopies(db) },
      ...{ project, within },
    }
  })
  const old = silentSince(dataHome, Date.now() - age, ended, promptsOnly, known)
  const meant = old.filter((session) => within?.has(session.split("/", 1)[0]!) ?? true)
  const place = project === undefined ? "every project" : folderOf(project)
  return leave(context, leaving(dataHome, meant), { heirs: [], place })
}

/** When each session ended, in ms since the epoch. */
function endsOf(db: Database): Map<string, number> {
  const dated = sessionsByEnd(db).map(({ id, ended }) => [id, Date.parse(ended ?? "")] as const)
  return new Map(dated.filter(([, time]) => !Number.isNaN(time)))
}

interface Meant {
  /** Sessions forked from those that leave. */
  readonly heirs: readonly string[]
  /** Whose sessions they are, if that is to be said. */
  readonly place?: string | undefined
}

/** The common part, once the sessions are known. */
function leave(context: Context, list: readonly Leaving[], { heirs, place }: Meant): number | undefined {
  const { args, out } = context
  const { dataHome } = context.env
  const dryRun = args["dry-run"] === true
  const search = carriedSearch(dataHome, list)
  const isKeptThere = asked(dataHome, (db) => keptInOneOf(db, sessionsIn(list)))
  const notes = findNotes(dataHome, isKeptThere, Date.now(), tombstonesOf(dataHome, list, Date.now())).places
  const { told, failed: unsearched } = search.find(Date.now())
  const failed = [...unsearched]
  const found = { dryRun, sessions: list, forkedFrom: heirs, notes, told, failed }
  const rows = rowsOf(dataHome, list)
  const around = { heirs, place, rows, notes, told, failed }
  const screen = screenOf(out)
  if (!dryRun && list.length > 0) {
    const question = renderLeaving(list, { ...around, dryRun: true }, screen).join("\n")
    if (!confirmed(context, `${question}\nForget ${whichOf(rows, place)} for good?`)) return EXIT.failed
    const tombstonesNow = (): Tombstone[] => {
      const whole = tombstonesOf(dataHome, list, Date.now())
      const { tombstones } = search.find(Date.now(), whole)
      const some = merged(whole, tombstones)
      return merged(some, findNotes(dataHome, isKeptThere, Date.now(), some).tombstones)
    }
    const done = forget(dataHome, tombstonesNow, {
      wait: PATIENCE,
      onProgress: out.progress,
      more: () => search.find(Date.now()).tombstones,
    })
    failed.push(...done.failed.filter(({ copy }) => failed.every((one) => one.copy !== copy)))
    out.json({ ...found, deleted: done.deleted, views: done.views })
  } else out.json({ ...found, deleted: [], views: null })
  out.print(renderLeaving(list, { ...around, dryRun }, screen))
  return failed.length === 0 ? undefined : EXIT.failed
}

/** A session that leaves, as far as the views know it. */
interface LeavingRow {
  readonly session: string
  readonly bytes: number
  readonly ended: string | null
  /** What it is called. */
  readonly project: string
  readonly title: string
  readonly isPinned: boolean
}

/** The newest last, so that it stays on the screen. */
function rowsOf(dataHome: string, list: readonly Leaving[]): LeavingRow[] {
  const about = asked(dataHome, (db) => {
    const nameOf = projectNamer(db)
    const known = sessionsNamed(db, sessionsIn(list))
    return new Map(
      known.map((one) => [one.id, { ...one, name: one.project === null ? "" : nameOf(one.project) }]),
    )
  })
  const labels = readLabels(dataHome)
  const pinned = new Set(labels.all.flatMap((label) => (label.pinned ? label.session : [])))
  return list
    .map(({ session, bytes }) => {
      const one = about.get(session)
      const label = labels.on(session)
      return {
        ...{ session, bytes, ended: one?.ended ?? null, project: one?.name ?? "" },
        title: one === undefined ? "" : titleOf({ ...one, ...(label && { label }) }),
        isPinned: pinned.has(session),
      }
    })
    .sort((a, b) => ((a.ended ?? "") < (b.ended ?? "") ? -1 : 1))
}

/** Of a session in both, the latter holds what the former does. */
function merged(before: readonly Tombstone[], after: readonly Tombstone[]): Tombstone[] {
  const sessions = new Set(after.map(({ session }) => session))
  return [...before.filter(({ session }) => !sessions.has(session)), ...after]
}

/** Looks in all other sessions for what ctxbridge has told them about these. */
const carriedSearch = (dataHome: string, list: readonly Leaving[]): CarriedSearch =>
  new CarriedSearch(
    dataHome,
    asked(dataHome, (db) => namesOf(db, sessionsIn(list))),
    new Set(list.flatMap(({ copies }) => copies)),
  )

const sessionsIn = (list: readonly Leaving[]): string[] => list.map(({ session }) => session)

/** Closes the views before anything is removed from them. */
function asked<T>(dataHome: string, read: (db: Database) => T): T {
  using db = openCurrent(dataHome, "command")
  return read(db)
}

/** Session ids; a subagent's, or what a model wrote about a session, only if it was named itself. */
function sessionsMeant(db: Database, cwd: string, word: string, dataHome: string): string[] {
  if (/^[^./].*\/summary$/.test(word)) {
    const { id } = findSessionByName(db, word.slice(0, -"/summary".length))
    if (latestSummary(db, id) !== undefined) return [summaryName(id)]
    throw new CtxError("not-found", `session ${id} has no summary by a model`, { exit: EXIT.notFound })
  }
  if (!/^(\.{0,2}\/|\.{1,2}$)/.test(word)) {
    const forgotten = listTombstones(dataHome).find(
      ({ session, whole }) => whole && session === sessionIdOf(word),
    )
    return [forgotten?.session ?? listedOnly(db, dataHome, word) ?? findSessionByName(db, word).id]
  }
  const folder = resolve(cwd, word)
  const project = projectAt(folder)
  // If the repository is gone, its git dir can no longer be determined from its folder.
  const ids = sessionsOfProject(db, project, `${folder}/.git`)
  if (ids.length > 0) return ids
  throw new CtxError("no-sessions", `no session of ${folderOf(project)} is archived`, {
    hint: "ctxbridge sessions --all-projects lists the sessions; a session is named by its id, without a slash before it",
    exit: EXIT.notFound,
  })
}

/** A session of which only the vault's list knows: its copies are lost, and the views were made without them. */
function listedOnly(db: Database, dataHome: string, word: string): string | undefined {
  if (tryTo(() => findSessionByName(db, word)) !== undefined || word.length < LEAST_NAME) return undefined
  const owners = [...readList(dataHome).copies.values()].map(({ session, path }) => ownerOf(session, path))
  const [session, ...others] = new Set(owners.filter((one) => one.startsWith(word)))
  return others.length > 0 ? undefined : session
}

/** Sessions that begin with the same messages and are kept. */
function heirsOf(db: Database, sessions: readonly string[]): string[] {
  const children = sessions.flatMap((session) =>
    lineageOf(db, session)
      .children.filter(({ kind }) => kind === "fork")
      .map(({ session: child }) => child),
  )
  return [...new Set(children)].filter((child) => !sessions.includes(child))
}

/** In the list of all prompts, only the lines of these sessions. */
const ofSessions =
  (sessions: ReadonlySet<string>, finder: LineFinder): LineFinder =>
  (line) =>
    sessions.has(historyPrompt(Buffer.from(line).toString("utf8"))?.session ?? "") ? finder(line) : []

function finderOf({ args }: Context, text: string): LineFinder {
  if (args["regex"] !== true) return textFinder(text)
  let pattern: RegExp
  try {
    pattern = new RegExp(text, "u")
  } catch (error) {
    throw usageError(`not a regular expression: ${messageOf(error)}`)
  }
  if (pattern.test(""))
    throw usageError(
      "the regular expression also matches the empty text",
      "make it match only what is to be removed",
    )
  return patternFinder(pattern)
}

function forgetText(context: Context, what: string | undefined, finder: LineFinder): number | undefined {
  const { args, env, out } = context
  const { dataHome } = env
  const dryRun = args["dry-run"] === true
  const within =
    what === undefined
      ? undefined
      : asked(
          dataHome,
          (db) => new Set(sessionsMeant(db, env.cwd, what, dataHome).map((id) => id.split("/", 1)[0]!)),
        )
  const look = (): TextFound =>
    findText(dataHome, ({ copy }) => (within && isHistoryCopy(copy) ? ofSessions(within, finder) : finder), {
      now: Date.now(),
      onProgress: (done, total) => out.progress("looking", done, total),
      wanted: ({ session, path, copy }) =>
        isHistoryCopy(copy) || (within?.has(ownerOf(session, path)) ?? true),
    })
  const tombstonesNow = (): TextFound["tombstones"] => look().tombstones
  const found = look()
  // What could not be moved into the vault can be neither searched nor changed.
  const spooled = spoolStatus(env).map(({ folder }) => ({ copy: folder, error: "waits for the vault" }))
  const leaves = { matches: (bytes: Uint8Array) => finder(bytes).length > 0, within }
  const labelled = forgetLabels(dataHome, leaves, true)
  let { labels } = labelled
  let failed = [...found.failed, ...spooled]
  if (!dryRun) {
    if (!confirmed(context, `${renderFound({ ...found, labels }, true).join("\n")}\nReplace it for good?`))
      return EXIT.failed
    // Needed even if the vault has no match, because hooks may remember a prompt that Claude Code has not written yet.
    const done = forget(dataHome, tombstonesNow, {
      wait: PATIENCE,
      ...leaves,
      more: tombstonesNow,
      onProgress: out.progress,
    })
    labels = done.labels
    failed = [...failed, ...done.failed]
  } else failed = [...failed, ...labelled.failed]
  out.print(renderFound({ ...found, failed, labels }, dryRun))
  const { copies, places, lines, onDisk } = found
  out.json({ ok: failed.length === 0, dryRun, places, lines, onDisk, copies, labels, failed })
  return failed.length === 0 ? EXIT.ok : EXIT.failed
}

/* Shows people what was or would be forgotten. Pure. */

const MOST = 20

const some = (lines: readonly string[]): string[] =>
  lines.length <= MOST
    ? [...lines]
    : [...lines.slice(0, MOST), `  and ${lines.length - MOST} more; --json lists all`]

interface Around extends Meant {
  readonly dryRun: boolean
  readonly rows: readonly LeavingRow[]
  /** How many notes the model kept in them. */
  readonly notes: number
  /** Sessions that ctxbridge has told about them. */
  readonly told: readonly ToldSession[]
  readonly failed: TextFound["failed"]
}

/** `26 sessions of every project (2 of them pinned)` */
function whichOf(rows: readonly LeavingRow[], place: string | undefined): string {
  const pinned = rows.filter(({ isPinned }) => isPinned).length
  const of = place === undefined ? "" : ` of ${safe(place)}`
  const isOne = rows.length === 1
  const mark = pinned === 0 ? "" : isOne ? ", which is pinned" : ` (${pinned} of them pinned)`
  return `${count(rows.length, "session")}${of}${mark}`
}

/** Of many, the newest, and each that is pinned: nobody should lose one without having seen it. */
function renderRows(all: readonly LeavingRow[], { columns, style, now }: Screen): string[] {
  const rows = all.filter(({ isPinned }, n) => isPinned || n >= all.length - MOST)
  const names = shortIds(rows.map(({ session }) => session))
  const left = all.length - rows.length
  return [
    ...renderTable(
      [
        { title: "session" },
        { title: "last active" },
        { title: "project", below: true },
        { title: "size", align: "right", optional: true },
        { title: "title", flexible: true, below: true },
      ],
      rows.map((row, n) => [
        `${row.isPinned ? "★ " : ""}${safe(names[n]!)}`,
        row.ended === null ? "" : ago(row.ended, now),
        safe(row.project),
        bytes(row.bytes),
        row.title,
      ]),
      columns,
      style,
    ),
    ...(left > 0 ? [`and ${left} older; --json lists all`] : []),
  ]
}

function renderLeaving(
  list: readonly Leaving[],
  { dryRun, heirs, place, rows, notes, told, failed }: Around,
  screen: Screen,
): string[] {
  if (list.length === 0) return ["Nothing to forget"]
  const sum = (of: (one: Leaving) => number): number => list.reduce((total, one) => total + of(one), 0)
  const copies = count(
    sum((one) => one.copies.length),
    "copy",
    "copies",
  )
  const prompts = sum((one) => one.prompts)
  const lines = [
    ...renderRows(rows, screen),
    `${dryRun ? "Would forget" : "Forgot"} ${whichOf(rows, place)}: ${copies}, ${bytes(sum((one) => one.bytes))} of the vault${prompts > 0 ? `, ${count(prompts, "line")} of the list of prompts` : ""}`,
  ]
  const onDisk = sum((one) => one.onDisk)
  const them = list.length === 1 ? "it" : "them"
  if (onDisk > 0) {
    lines.push(
      `Claude Code itself still has ${count(onDisk, "transcript")} of ${them}; ${onDisk === 1 ? "it" : "they"} will not be archived again`,
    )
  }
  if (notes > 0)
    lines.push(`${dryRun ? "Would forget" : "Forgot"} ${count(notes, "note")} that Claude kept in ${them}`)
  if (heirs.length > 0) {
    lines.push(
      `${count(heirs.length, "session")} forked from ${them} ${heirs.length === 1 ? "begins" : "begin"} with the same messages:`,
      ...some(heirs.map((one) => `  ${safe(one)}`)),
    )
  }
  if (told.length > 0) {
    const places = told.reduce((sum, one) => sum + one.places, 0)
    const kept = told.reduce((sum, one) => sum + one.onDisk, 0)
    lines.push(
      `${dryRun ? "Would replace" : "Replaced"} what ctxbridge had restored from ${them} into ${count(told.length, "other session")}: ${count(places, "place")}. What you or the model said about it there since stays:`,
      ...some(told.map((one) => `  ${safe(one.session)}  ${count(one.places, "place")}`)),
    )
    if (kept > 0) lines.push(`Claude Code itself still has ${count(kept, "transcript")} of these, unchanged`)
  }
  return [...lines, ...unread(failed)]
}

const unread = (failed: TextFound["failed"]): string[] =>
  failed.map(({ copy, error }) => `not read: ${safe(copy)}: ${safe(error)}`)

function renderFound(
  { places, lines, copies, onDisk, failed, labels }: TextFound & { readonly labels: number },
  dryRun: boolean,
): string[] {
  const out =
    places === 0
      ? ["Not found in the vault"]
      : [
          `${dryRun ? "Would replace" : "Replaced"} ${count(places, "place")} in ${count(lines, "line")} of ${count(copies.length, "copy", "copies")}`,
          ...some(copies.map((one) => `  ${safe(one.session)}  ${count(one.places, "place")}`)),
        ]
  if (labels > 0) out.push(`${dryRun ? "Would take" : "Took"} it out of ${count(labels, "label")}`)
  if (onDisk > 0) out.push(`Claude Code itself still has ${onDisk} of these transcripts, unchanged`)
  return [...out, ...unread(failed)]
}

function renderTombstones(list: readonly Tombstone[], now: number): string[] {
  if (list.length === 0) return ["Nothing has been forgotten"]
  return list.map(({ session, whole, agents, lines, time }) => {
    const parts = [
      ...(whole ? ["the whole session"] : agents.map((agent) => `its subagent ${agent}`)),
      ...(Object.keys(lines).length > 0 ? [`text in ${count(Object.keys(lines).length, "line")}`] : []),
    ]
    return `${safe(session)}  ${safe(parts.join(", "))}, ${ago(new Date(time).toISOString(), now)}`
  })
}
