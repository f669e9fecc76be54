/**
 * What a session is given at an event, and what hooks were not told of the compaction that it is given for: a restore,
 * the instructions before one, and all that can be read where the database cannot be written.
 */

import { codeOf, isDamage } from "../base/errors.ts"
import { compactionSummaryIn } from "../claude/content.ts"
import { userTextParts } from "../claude/user-text.ts"
import { answersLate, type HookEvent } from "../record/hook-event.ts"
import type { JsonObject } from "../record/json.ts"
import { linesWith } from "../record/lines-with.ts"
import { withoutHandoff } from "../record/our-marks.ts"
import { afterClear } from "../restore/after-clear.ts"
import { gather, type PendingPrompt } from "../restore/gather.ts"
import { judgedAll } from "../restore/ground.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { type RestoreSource, renderInstructions } from "../restore/render.ts"
import { type Restore, restoreOf } from "../restore/restore.ts"
import type { Taken } from "../vault/capture.ts"
import { readPart, readSmall } from "../vault/source-file.ts"
import type { Database } from "../views/database.ts"
import type { PassedOver } from "../views/indexing.ts"
import { readLabels } from "../views/labels.ts"
import { open } from "../views/open.ts"
import { type FoundCompaction, lastCompaction } from "../views/queries/boundaries.ts"
import { keepGiven } from "../views/queries/restores.ts"
import { latestSession, onlySessionSince, spokenIn } from "../views/queries/sessions.ts"
import { firstTurnBehind } from "../views/queries/turns.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { currentTranscript } from "../views/transcript-rows.ts"
import { type Added, type HookCall, type HookStep, runSteps } from "./call.ts"
import {
  CLEAR_LASTS,
  clearedSession,
  isCleared,
  isUnanswered,
  type SessionState,
  SILENT_CLEAR_LASTS,
  withStartAnswered,
} from "./state.ts"

/** Where the views could not be written, or not be read whole. */
const REST: readonly HookStep[] = [
  { name: "damage", due: isDamaged, run: giveUp },
  { name: "unusable", due: ({ failure }) => codeOf(failure) === "SQLITE_ERROR", run: noticeUnusable },
  {
    name: "rest",
    due: ({ isReplied }) => !isReplied,
    run: readOnlyReply,
    instead: [{ name: "damage", due: isDamaged, run: giveUp }],
  },
]

/** What can be said all the same. */
export async function replyFromRest(call: HookCall): Promise<undefined> {
  await runSteps(REST, call)
}

function isDamaged({ failure }: HookCall): boolean {
  return isDamage(failure)
}

function giveUp(): Added {
  return { areViewsLost: true, isReplied: true }
}

/** If tables are missing, the rest of the views may still answer. */
function noticeUnusable({ settings, failure }: HookCall): Added {
  return { areViewsLost: isUnusable(settings.paths.dataHome, failure) }
}

/**
 * The reply when the database cannot be written: locked throughout, on a full or read-only disk, or of a later schema.
 * Uses what can be read. Indexes and records nothing, so the hooks of several settings files may each answer.
 */
function readOnlyReply(call: HookCall): Added {
  const { event, state, settings } = call
  const { dataHome } = settings.paths
  // Left open, since the process ends anyway.
  const db = open(dataHome, "read-only-hook")
  if (event.name === "pre-compact") return instructed(db, call)
  // Only lines that are not indexed yet would show whether this prompt follows a compaction.
  if (answersLate(event)) return {}
  if (event.source !== "compact") return { text: begun(db, call) }
  const last = lastCompaction(db, event.session, state.compactAt)
  const { text } = restored(db, call, "compact", event.session, last)
  const { summary: _used, focus: _told, printed: _shown, ...rest } = state
  return { text, state: withStartAnswered(rest, call.now, call.compactions) }
}

function begun(db: Database, call: HookCall): string {
  const { event, form, settings, now, project } = call
  if (project === undefined) return ""
  const isClear = event.source === "clear"
  const isClaudes = form.other === undefined
  const since = isClear ? 0 : now - SILENT_CLEAR_LASTS
  const { dataHome } = settings.paths
  const cleared = isClear || isClaudes ? clearedSession(dataHome, project, since, event.agent) : undefined
  const parent = cleared ?? (isClear ? mostProbable(db, call) : undefined)
  if (parent !== undefined) return restored(db, call, "clear", spokenIn(db, parent)).text
  const last = isPointed(call) ? latestSession(db, project, event.session, "any") : undefined
  if (last === undefined) return ""
  const related = settings.resolved.config["restore.related"]
  return pointerTo(db, last, placesFor(call), { related, reader: event.agent }).text
}

/** Whether a session that goes on from no other is told where the project was left. */
export function isPointed({ event, form, settings }: HookCall): boolean {
  const { config } = settings.resolved
  if (event.source === "startup") return config["restore.startup"]
  // Which session `/clear` has ended is not always known of others, and a guess would be remembered.
  return event.source === "clear" && form.other !== undefined && config["restore.clear"] !== "off"
}

/** ms within which a second session may be the one that was cleared. */
const OPEN_LASTS = 3_600_000

/** The session that was cleared, if nobody has told which: of an agent that does not, the only one there may be. */
export function mostProbable(db: Database, call: HookCall): string | undefined {
  const { event, settings, project, now } = call
  if (project === undefined) return undefined
  const { agent, session } = event
  if (agent === undefined) return latestSession(db, project, session)
  const since = new Date(now - OPEN_LASTS).toISOString()
  // It may be one that another process has ended.
  if (isCleared(settings.paths.dataHome, project, now - CLEAR_LASTS, agent)) return undefined
  return onlySessionSince(db, project, { besides: session, agent, since })
}

/** Share of what is left when a restore is begun, after which no file is compared any more. */
const COMPARING_SHARE = 0.5

/**
 * @param from the session that it is made of
 * @param last of this session's compactions; at a prompt, the one that is answered now
 * @param passed what was passed over, where the views are as they are only for now
 */
export function restored(
  db: Database,
  call: HookCall,
  source: RestoreSource,
  from: string,
  last?: FoundCompaction,
  passed?: PassedOver,
): Restore {
  const { event, form, settings, deadline, state, found } = call
  const { resolved } = settings
  const isPrompt = answersLate(event)
  const now = performance.now()
  const options = {
    source,
    budget: resolved.config["restore.budget"],
    claude: placesFor(call),
    related: resolved.config["restore.related"],
    about: isPrompt ? state.prompt : undefined,
    until: now + (deadline - now) * COMPARING_SHARE,
    passed,
    ...(from === event.session && found !== undefined && missingOf(db, event, found)),
  }
  if (source === "clear") return afterClear(db, from, resolved.config["restore.clear"], options)
  const compaction = {
    summary: summaryFor(call, last),
    // Claude Code announces its own compactions.
    byPlugin: !isUnanswered(state),
    focus: state.focus,
    printed: state.printed,
    upTo: isPrompt && last !== undefined ? lastTurnBefore(db, from, last) : undefined,
  }
  // At a missed restore, the open prompt is the one just typed, and Claude Code sends it itself. Most others always do.
  const isSent = isPrompt || (form.other !== undefined && form.other.dropsPrompt !== true)
  return restoreOf(db, from, { ...options, ...compaction }, isSent ? undefined : waitingPrompt(state))
}

/** Where Claude Code keeps what it adds to a context; of others, whether they start our server. */
export function placesFor({ event, form, settings }: HookCall) {
  const { paths } = settings
  const { other } = form
  const read = (file: string): string | undefined => readSmall(file, SERVER_LIST)
  return {
    ...paths,
    cwd: event.cwd,
    other: other && { hasServer: other.startsServer(paths, read) },
  }
}

/** Maximum bytes of a file that lists servers. */
const SERVER_LIST = 1 << 20

/** Bytes of the transcript that there was no time to archive, and those archived that nobody could tell the views of. */
function missingOf(
  db: Database,
  { session, transcript }: HookEvent,
  { captured: { state, size, archived } }: Taken,
): { unarchived: number; unnoted: number } {
  const noted = currentTranscript(db, session, transcript)?.archived ?? 0
  return {
    unarchived: state === "behind" ? Math.max(0, size - archived) : 0,
    unnoted: Math.max(0, archived - noted),
  }
}

/**
 * Claude Code's summary: at a session's start, as a hook has received it, or else as Claude Code has written it down
 * before calling hooks (known clients do so afterwards; a recorded session that is replayed has it already); at a
 * prompt, the other way round. Empty if there is none.
 */
function summaryFor(call: HookCall, compaction?: FoundCompaction): string {
  const { event, state } = call
  const { summary } = state
  const { other } = call.form
  const isPrompt = answersLate(event)
  // Before it is written down.
  const handed = isPrompt ? undefined : event.lastMessage
  if (handed !== undefined) return handed
  const told = summary ?? ""
  if (compaction === undefined || (!isPrompt && summary !== undefined)) return told
  // The model has spoken since, mostly soon: this was an earlier compaction.
  const isOver = (content: Buffer): boolean =>
    !isPrompt && (other?.hasAnswer(content) ?? linesWith(content, ANSWER).some(({ line }) => isAnswer(line)))
  const near = isPrompt ? undefined : writtenSince(call, compaction, ANSWER_WITHIN)
  if (!isPrompt && (near === undefined || isOver(near))) return told
  const content = writtenSince(call, compaction)
  return content === undefined || isOver(content)
    ? told
    : (other?.summaryIn ?? compactionSummaryIn)(content) || told
}

/**
 * What Claude Code is told to keep in the summary. At `/compact` it also adds that to the new context, so that the
 * restore need not say it again.
 */
export function instructed(db: Database, call: HookCall, passed?: PassedOver): Added {
  const { event, form, settings, state } = call
  if (form.other !== undefined) return {}
  const gathered = gather(db, event.session, { focus: state.focus, passed })
  const material = judgedAll(gathered, readLabels(settings.paths.dataHome))
  const text = renderInstructions(material, settings.resolved.config["instructions.budget"])
  return event.trigger === "manual" && text !== "" ? { text, state: { ...state, printed: text } } : { text }
}

/**
 * The prompt that waits for an answer, as a restore takes it.
 *
 * @returns undefined if the last prompt was answered, or if no human wrote any of it
 */
export function waitingPrompt({ prompt, promptAt, promptOpen }: SessionState): PendingPrompt | undefined {
  if (!promptOpen) return undefined
  const said = userTextParts(prompt, "human").find((part) => part.kind === "prompt")
  return said && { text: withoutHandoff(said.text), at: promptAt }
}

/** Stores the text given with the answer claimed last, and returns it. */
export function rememberGiven(db: Database, session: string, text: string): string {
  keepGiven(db, session, text)
  return text
}

/** A compaction's summary lies within this many bytes after it. */
const SUMMARY_WITHIN = 1 << 20
/** And the model's first words after it mostly within this many. */
const ANSWER_WITHIN = 1 << 16
/** Id of the last turn before the compaction; undefined if none has begun since. Later ones are in the context. */
function lastTurnBefore(
  db: Database,
  session: string,
  { transcript, offset }: FoundCompaction,
): number | undefined {
  const id = firstTurnBehind(db, session, transcript, offset)
  return id === undefined ? undefined : id - 1
}

const ANSWER = '"assistant"'
const isAnswer = (line: JsonObject): boolean => line["type"] === "assistant" && line["isSidechain"] !== true

/** The beginning of what stands behind a compaction; undefined if there is no transcript. */
export const writtenSince = (
  { event: { transcript }, made }: HookCall,
  { offset }: FoundCompaction,
  within = SUMMARY_WITHIN,
): Buffer | undefined =>
  made !== undefined
    ? made(offset, within)
    : transcript === undefined
      ? undefined
      : readPart(transcript, offset, within)
