/**
 * What a session is given at an event, and what hooks were not told of the compaction that it is given for: a restore,
 * the instructions before one, and all that can be read where the database cannot be written.
 */

import { codeOf, isDamage } from "../base/errors.ts"
import { compactionSummaryIn } from "../claude/content.ts"
import { userTextParts } from "../claude/user-text.ts"
import type { HookEvent } from "../record/hook-event.ts"
import type { JsonObject } from "../record/json.ts"
import { linesWith } from "../record/lines-with.ts"
import { afterClear } from "../restore/after-clear.ts"
import { gather, type PendingPrompt } from "../restore/gather.ts"
import { renderInstructions } from "../restore/instructions.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import type { RestoreSource } from "../restore/render.ts"
import { learningIn, type Restore, restoreOf } from "../restore/restore.ts"
import type { Slot } from "../restore/slots.ts"
import { readPart } from "../vault/read-part.ts"
import type { Database } from "../views/database.ts"
import { open } from "../views/open.ts"
import { projectOf } from "../views/project.ts"
import { compactionBefore, type FoundCompaction, lastCompaction } from "../views/queries/boundaries.ts"
import { claimGiven, givenMarks, isGivenBetween, keepGiven, slotItems } from "../views/queries/restores.ts"
import { latestSession, spokenIn } from "../views/queries/sessions.ts"
import { firstTurnBehind } from "../views/queries/turns.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { currentTranscript } from "../views/transcript-rows.ts"
import { type Added, type HookCall, type HookStep, runSteps } from "./call.ts"
import {
  clearedSession,
  isUnanswered,
  SAME_EVENT,
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
  if (event.name === "pre-compact") return { text: instructionsFor(db, call) }
  // Only lines that are not indexed yet would show whether this prompt follows a compaction.
  if (event.name === "user-prompt-submit") return {}
  if (event.source !== "compact") return { text: begun(db, call) }
  const { text } = restored(db, call, "compact", event.session)
  const { summary: _used, focus: _told, ...rest } = state
  return { text, state: withStartAnswered(rest, call.now, call.compactions) }
}

function begun(db: Database, call: HookCall): string {
  const { event, settings, now } = call
  if (event.cwd === undefined) return ""
  const project = projectOf(event.cwd)
  const since = event.source === "clear" ? 0 : now - SILENT_CLEAR_LASTS
  const cleared = clearedSession(settings.paths.dataHome, project, since)
  const last = cleared === undefined ? latestSession(db, project, event.session) : spokenIn(db, cleared)
  if (last === undefined) return ""
  if (event.source === "clear" || cleared !== undefined) return restored(db, call, "clear", last).text
  if (event.source !== "startup" || !settings.resolved.config["restore.startup"]) return ""
  const related = settings.resolved.config["restore.related"]
  return pointerTo(db, last, { ...settings.paths, cwd: event.cwd }, { related }).text
}

/**
 * @param from the session that it is made of
 * @param missed at a prompt: the compaction that is answered now
 */
export function restored(
  db: Database,
  { event, settings, state }: HookCall,
  source: RestoreSource,
  from: string,
  missed?: FoundCompaction,
): Restore {
  const { paths, resolved } = settings
  const isPrompt = event.name === "user-prompt-submit"
  const options = {
    source,
    budget: resolved.config["restore.budget"],
    claude: { ...paths, cwd: event.cwd },
    related: resolved.config["restore.related"],
    about: isPrompt ? state.prompt : undefined,
    learning: learningIn(resolved.config),
  }
  if (source === "clear") return afterClear(db, from, resolved.config["restore.clear"], options)
  const compaction = {
    summary: summaryFor(db, event, state, missed),
    // Claude Code announces its own compactions.
    byPlugin: !isUnanswered(state),
    focus: state.focus,
    upTo: missed && lastTurnBefore(db, from, missed),
  }
  // At a missed restore, the open prompt is the one just typed, and Claude Code sends it itself.
  return restoreOf(db, from, { ...options, ...compaction }, isPrompt ? undefined : waitingPrompt(state))
}

/** What Claude Code is told to keep in the summary. */
export function instructionsFor(db: Database, { event, settings, state }: HookCall): string {
  const material = gather(db, event.session, { focus: state.focus })
  // At `/compact`, Claude Code shows them.
  const isShown = event.trigger === "manual"
  return renderInstructions(material, settings.resolved.config["instructions.budget"], isShown)
}

/** Claude Code's summary, as a hook received it or as it was written down; empty if neither. */
function summaryFor(db: Database, event: HookEvent, state: SessionState, missed?: FoundCompaction): string {
  if (missed !== undefined) return summaryBehind(event, missed) || state.summary || ""
  return state.summary ?? summaryAtStart(db, event, state) ?? ""
}

/**
 * The prompt that waits for an answer, as a restore takes it.
 *
 * @returns undefined if the last prompt was answered, or if no human wrote any of it
 */
export function waitingPrompt({ prompt, promptAt, promptOpen }: SessionState): PendingPrompt | undefined {
  if (!promptOpen) return undefined
  const said = userTextParts(prompt, "human").find((part) => part.kind === "prompt")
  return said && { text: said.text, at: promptAt }
}

/**
 * Claude Code calls the hooks of several settings files for one event, and only the first may answer. Two calls are
 * about the same event when the transcript has the same length. That alone is not enough: a session is resumed or begun
 * without new bytes, and after a compaction Claude Code may write some between the two calls. In these cases, calls
 * less than half a second apart also count as one event, unless another compaction has been announced since.
 */
export function claimAnswer(
  db: Database,
  { event, state, now }: HookCall,
  source: RestoreSource | "startup" | "resume",
): boolean {
  const transcript = currentTranscript(db, event.session, event.transcript)
  const size = source === "resume" ? 0 : (transcript?.archived ?? 0)
  const announced = event.source === "compact" ? state.compactTime : undefined
  const time = Math.max(now, announced ?? 0)
  const since = Math.max(now - SAME_EVENT, announced ?? 0)
  // Answers dated later were given before the clock was set back, and do not count.
  const isAnswered = (): boolean => isGivenBetween(db, event.session, source, since, time + SAME_EVENT)
  if ((size === 0 || announced !== undefined) && isAnswered()) return false
  const place = event.name === "user-prompt-submit" ? "late" : "at"
  const mark = size > 0 ? `${place} ${size}` : `near ${now}`
  return claimGiven(db, event.session, { source, mark, time })
}

/** Stores the text given with the answer claimed last, and returns it. */
export function rememberGiven(
  db: Database,
  session: string,
  text: string,
  slots: readonly Slot[] = [],
): string {
  keepGiven(db, session, text, slotItems(db, slots))
  return text
}

/** A compaction's summary lies within this many bytes after it. */
const SUMMARY_WITHIN = 1 << 20
/** And the model's first words after it mostly within this many. */
const ANSWER_WITHIN = 1 << 16
/** ms by which a restore at a session's start may precede the time that Claude Code gives the compaction. */
const HOOKS_LAST = 10 * 60_000

/** The compaction recorded as unanswered in the state; undefined if there was none, or if the views show an answer. */
export function missedCompaction(
  db: Database,
  session: string,
  { compactAt, unannounced }: SessionState,
): FoundCompaction | undefined {
  const last = lastCompaction(db, session, compactAt)
  if (last === undefined) return undefined
  // Hooks saw every announced compaction. For others the hooks' notes may be lost, and the views may know more.
  return unannounced && isAnswered(db, session, last) ? undefined : last
}

/** Id of the last turn before the compaction; undefined if none has begun since. Later ones are in the context. */
function lastTurnBefore(
  db: Database,
  session: string,
  { transcript, offset }: FoundCompaction,
): number | undefined {
  const id = firstTurnBehind(db, session, transcript, offset)
  return id === undefined ? undefined : id - 1
}

/** Whether the views hold an answer to the compaction; in doubt, yes. */
function isAnswered(db: Database, session: string, { offset, time }: FoundCompaction): boolean {
  const former = compactionBefore(db, session, offset) ?? -1
  // Without a time, any restore counts.
  const since = (Date.parse(time ?? "") || 0) - HOOKS_LAST
  return givenMarks(db, session).some((given) => {
    const [place, bytes] = given.mark.split(" ")
    if (place !== "near" && Number(bytes) > offset) return true
    // Restores at a start come before Claude Code writes the compaction down; those at a prompt answer an earlier one.
    if (place === "late" || given.time < since) return false
    return place === "near" || Number(bytes) > former
  })
}

/** Claude Code's summary, read from the transcript when no hook received it. */
function summaryBehind(event: HookEvent, compaction: FoundCompaction): string | undefined {
  const content = writtenSince(event, compaction)
  return content && compactionSummaryIn(content)
}

/**
 * The summary of the compaction after which a session starts, where Claude Code has written it down before calling
 * hooks. Known clients do so afterwards; a recorded session that is replayed has it already.
 */
function summaryAtStart(db: Database, event: HookEvent, { compactAt }: SessionState): string | undefined {
  const last = lastCompaction(db, event.session, compactAt)
  if (last === undefined) return undefined
  const isOver = (content: Buffer): boolean => linesWith(content, ANSWER).some(({ line }) => isAnswer(line))
  // The model has spoken since, mostly soon: this was an earlier compaction.
  const near = writtenSince(event, last, ANSWER_WITHIN)
  if (near === undefined || isOver(near)) return undefined
  const content = writtenSince(event, last)
  return content === undefined || isOver(content) ? undefined : compactionSummaryIn(content)
}

const ANSWER = '"assistant"'
const isAnswer = (line: JsonObject): boolean => line["type"] === "assistant" && line["isSidechain"] !== true

/** The beginning of what stands behind a compaction; undefined if there is no transcript. */
export const writtenSince = (
  { transcript }: HookEvent,
  { offset }: FoundCompaction,
  within = SUMMARY_WITHIN,
): Buffer | undefined => (transcript === undefined ? undefined : readPart(transcript, offset, within))
