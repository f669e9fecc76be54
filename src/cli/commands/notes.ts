/** `ctxbridge notes`: what the model kept with `remember`, when and in which session, and how to take it back. */

import { CtxError, EXIT, usageError } from "../../base/errors.ts"
import { count, oneLine } from "../../base/text.ts"
import { forget } from "../../job/forget-sessions.ts"
import { findNotes } from "../../job/forget-text.ts"
import { startRenewing } from "../../job/spawn.ts"
import { HANDLE_PREFIX } from "../../record/our-marks.ts"
import { openCurrent } from "../../views/open-current.ts"
import { folderOf } from "../../views/project.ts"
import { notesOfProject, type ProjectNote } from "../../views/queries/sessions.ts"
import { positive, unknownWord, words } from "../args.ts"
import { type Command, type Context, flag, option } from "../command.ts"
import { confirmed, YES_ARG } from "../confirm.ts"
import { AGENT_ARG, agentWanted, knownProject, PROJECT_ARGS, projectWanted } from "../project-wanted.ts"
import { ago, screenOf, timeArg } from "../screen.ts"
import { dotted, safe } from "../style.ts"

const LIMIT = 50
/** ms to wait for others working on the archive. */
const PATIENCE = 60_000
/** Letters of a handle without its prefix that are enough to name a note. */
const LEAST = 4

export default {
  meta: { name: "notes", description: "Show or forget what Claude kept with `remember`" },
  args: {
    action: {
      type: "positional",
      rest: true,
      description: "What to do (default: list); forget takes handles of notes",
      valueHint: "list|forget",
    },
    ...PROJECT_ARGS,
    agent: AGENT_ARG,
    since: option("From this date or age on (2026-03-02, 7d)", "WHEN"),
    limit: option(`At most this many, the latest (${LIMIT})`, "N", "n"),
    "dry-run": flag("Show what would be forgotten; write nothing"),
    ...YES_ARG,
  },
  rows: { list: "notes", columns: ["handle", "time", "keptIn", "project", "text"], others: ["session"] },
  run(context) {
    const [action = "list", ...handles] = words(context.args)
    if (action === "forget") return takeBack(context, handles)
    if (action !== "list") throw unknownWord("action", action, ["list", "forget"])
    if (handles.length > 0)
      throw usageError(`unexpected argument: ${handles[0]}`, "ctxbridge notes forget HANDLE…")
    return list(context)
  },
} satisfies Command

/** Newest first. */
function notesMeant(context: Context): {
  readonly notes: ProjectNote[]
  readonly project: string | undefined
} {
  const wanted = projectWanted(context)
  using db = openCurrent(context.env.dataHome, "command", startRenewing)
  const project = knownProject(db, context, wanted)
  return { notes: notesOfProject(db, { project, program: agentWanted(context.args) }), project }
}

function list(context: Context): void {
  const { args, out } = context
  const limit = positive(args, "limit") ?? LIMIT
  const since = timeArg(args, "since", Date.now())
  const { notes: all, project } = notesMeant(context)
  const notes = since === undefined ? all : all.filter(({ time }) => (time ?? "") >= since)
  const shown = notes.slice(0, limit)
  out.json({ more: notes.length > limit, notes: shown.map(publicOf) })
  if (shown.length === 0) {
    const where = project === undefined ? "any project" : folderOf(project)
    out.print(`Claude has kept no notes for ${where}.`)
    return
  }
  const { style, now } = screenOf(out)
  out.print(
    shown.flatMap((note) => [
      `${style.bold(HANDLE_PREFIX + note.handle)}  ${style.dim(aboutNote(note, now, project === undefined))}`,
      `  ${safe(oneLine(note.text))}`,
    ]),
  )
  if (notes.length > limit) out.print(`And ${notes.length - limit} more: --limit ${notes.length}.`)
}

const publicOf = ({ handle, text, time, keptIn, session, project }: ProjectNote) => ({
  handle: HANDLE_PREFIX + handle,
  text,
  by: "assistant",
  time,
  keptIn,
  session,
  project,
})

const aboutNote = ({ time, keptIn, project }: ProjectNote, now: number, everywhere: boolean): string =>
  safe(
    dotted(
      ago(time, now),
      keptIn === null ? "session unknown" : `in session ${keptIn.slice(0, 8)}`,
      everywhere && folderOf(project),
    ),
  )

function takeBack(context: Context, handles: readonly string[]): number {
  const { args, env, out } = context
  if (handles.length === 0)
    throw usageError("which notes?", "ctxbridge notes forget HANDLE…; ctxbridge notes lists them")
  // A handle names one note, whichever project it is of.
  const { notes } = notesMeant({
    ...context,
    args: { ...args, project: undefined, agent: undefined, "all-projects": true },
  })
  const meant = [...new Set(handles.map((word) => noteNamed(notes, word)))]
  const dryRun = args["dry-run"] === true
  const told = meant.map(({ handle, text }) => `  ${HANDLE_PREFIX}${handle}  ${safe(oneLine(text))}`)
  const ending = ["What was said in the sessions themselves stays; ctxbridge forget SESSION removes it."]
  if (!dryRun) {
    const question = [`Would forget ${count(meant.length, "note")}:`, ...told, ...ending].join("\n")
    if (!confirmed(context, `${question}\nForget for good?`)) return EXIT.failed
    const isMeant = (line: { session: string; text: string; time: string | undefined }): boolean =>
      meant.some(
        ({ session, text, time }) =>
          line.session === session &&
          line.time === (time ?? undefined) &&
          line.text.startsWith(withoutMark(text)),
      )
    const look = () => findNotes(env.dataHome, isMeant, Date.now()).tombstones
    const { failed } = forget(env.dataHome, look, {
      wait: PATIENCE,
      matches: () => false,
      more: look,
      onProgress: out.progress,
    })
    if (failed.length > 0)
      throw new CtxError("not-forgotten", `${failed[0]!.copy}: ${failed[0]!.error}`, {
        hint: "ctxbridge verify says what is wrong",
      })
  }
  out.json({ dryRun, forgotten: meant.map(publicOf) })
  out.print([`${dryRun ? "Would forget" : "Forgot"} ${count(meant.length, "note")}:`, ...told, ...ending])
  return EXIT.ok
}

/** The views shorten a very long one. */
const withoutMark = (text: string): string => (text.endsWith("…") ? text.slice(0, -1) : text)

function noteNamed(notes: readonly ProjectNote[], word: string): ProjectNote {
  const start = word.startsWith(HANDLE_PREFIX) ? word.slice(HANDLE_PREFIX.length) : word
  const found = start.length < LEAST ? [] : notes.filter(({ handle }) => handle.startsWith(start))
  const one = found.find(({ handle }) => handle === start) ?? found[0]
  if (one === undefined)
    throw new CtxError("not-found", `no note ${word}`, {
      hint: "ctxbridge notes --all-projects lists them",
      exit: EXIT.notFound,
    })
  if (found.length > 1 && one.handle !== start)
    throw usageError(`${word} names ${found.length} notes`, "type more of it")
  return one
}
