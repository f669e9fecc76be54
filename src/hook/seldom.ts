/** What few hooks need: what becomes of a compaction, its reply or a restore where it does not go as usual. */

import { parseJson } from "../base/json-files.ts"
import { bytes, count } from "../base/text.ts"
import { type Outcome, outcomeIn } from "../claude/context-arrived.ts"
import { atLeast, HEEDS_REFUSAL } from "../claude/versions.ts"
import type { HookForm, HookReply } from "../record/hook-event.ts"
import { objectOf, stringOf } from "../record/json.ts"
import type { Taken } from "../vault/capture.ts"
import { readExactly } from "../vault/copy-file.ts"
import { withSource } from "../vault/source-file.ts"
import { projectOf } from "../views/project.ts"
import type { Added, HookCall, Later } from "./call.ts"
import { noticeCompactions } from "./notice.ts"
import {
  type Delivery,
  isCleared,
  isUnanswered,
  readState,
  rememberClear,
  type SessionState,
  SILENT_CLEAR_LASTS,
  withAnswer,
  withChanges,
  withStartAnswered,
} from "./state.ts"

// `compaction.block`: whether a compaction that the user asked for is refused because not all of the session is in the
// vault yet. Once a session, so that nobody is ever stuck; automatic compactions never are, as without one a full
// window lets the user say nothing more (docs/adr/0025).

/** Bytes at the end of a transcript in which a line with a version is looked for. Most lines have one. */
const TAIL = 1 << 16

function refuse(call: HookCall): Added | undefined {
  const text = refusal(call)
  if (text === undefined) return undefined
  return { text, isRefused: true, isReplied: true, state: { ...call.before, refused: true } }
}

/** What Claude Code is to answer to `/compact`; undefined: let it compact. In doubt it is let. */
function refusal(call: HookCall): string | undefined {
  const { name, trigger, transcript } = call.event
  // Others take no refusal: their compaction comes, and is to be remembered.
  if (call.form.other !== undefined) return undefined
  if (name !== "pre-compact" || trigger !== "manual" || transcript === undefined) return undefined
  const reason = whyBehind(call)
  if (reason === undefined || !atLeast(versionOf(transcript), HEEDS_REFUSAL)) return undefined
  return JSON.stringify({ decision: "block", reason: `${reason} ${AGAIN}` })
}

const AGAIN = "Nothing was compacted. Run /compact again to compact anyway (compaction.block)."

function whyBehind({ found, isSpooled }: HookCall): string | undefined {
  if (found === undefined || isSpooled)
    return "ctxbridge could not write this session to its archive; `ctxbridge doctor` says why."
  const { state, size, archived } = found.captured
  if (state === "busy") return "ctxbridge is still archiving this session."
  if (state !== "behind") return undefined
  return `ctxbridge is still archiving this session: ${bytes(size - archived)} left.`
}

/** Of the program that wrote the transcript's last lines. */
function versionOf(transcript: string): string | undefined {
  const end = withSource(transcript, (fd, size) => {
    const from = Math.max(0, size - TAIL)
    return Buffer.from(readExactly(fd, from, size - from)).toString("utf8")
  })
  for (const line of (end ?? "").split("\n").toReversed()) {
    const version = stringOf(objectOf(parseJson(line))["version"])
    if (version !== undefined) return version
  }
  return undefined
}

/** A restore shows within this many bytes after it was given. Past them we stop looking, and do not give it again. */
const LOOKED_AT = 2 << 20

/**
 * Checks whether the last restore has reached the conversation. Claude Code writes late, so a prompt may come too early
 * to tell; then the end of its turn, or the next prompt, decides.
 *
 * If our own note of the restore is gone (it could not be written), the transcript may still show it.
 */
function noticeDelivery(call: HookCall): Added {
  const { event, state, found, now } = call
  const { delivery, ...rest } = state
  const isPrompt = event.name === "user-prompt-submit"
  const { compactAt: at = 0, compactTime: time = 0 } = state
  const missed = isPrompt && isUnanswered(state) ? { at, time } : undefined
  const outcome = outcomeOf((missed ?? delivery)!, found!)
  if (missed !== undefined) return outcome === "arrived" ? { state: withAnswer(rest, now) } : {}
  if (outcome === "arrived" || outcome === "unknown") return { state: rest }
  return { isLost: isPrompt && outcome === "lost" }
}

/**
 * Whether a restore has reached the conversation.
 *
 * @param found the session's transcript
 */
function outcomeOf({ at, time }: Delivery, { path, captured }: Taken): Outcome {
  if (captured.superseded !== undefined) return "unknown"
  const outcome = withSource(path, (fd, size) => {
    if (size < at) return "unknown"
    const seen = outcomeIn(readExactly(fd, at, Math.min(size - at, LOOKED_AT)), time)
    return seen === "open" && size - at > LOOKED_AT ? "unknown" : seen
  })
  return outcome ?? "open"
}

/** Claude Code's files may switch off its own compactions; they are read only when something is to be told. */
async function watchInFull(call: HookCall): Promise<Added> {
  const { event, settings } = call
  const { autoCompactIn } = await import("../claude/settings/read-settings.ts")
  const { claudeLimits } = await import("../config/load.ts")
  const { watchWindow } = await import("./watch-window.ts")
  const autoCompact = autoCompactIn({ ...settings.paths, cwd: event.cwd })
  return { news: undefined, ...watchWindow(call, { ...claudeLimits(), autoCompact }) }
}

/** Tells how full the window is where nothing else is given back. */
async function advise({ state, news, text, note }: HookCall): Promise<Added | undefined> {
  const { context } = state
  if (context === undefined || text + note !== "") return undefined
  const { adviceOn } = await import("../restore/window/advice.ts")
  const { zone, warning, notice } = adviceOn(news!)
  return { text: warning, note: notice, state: { ...state, context: { ...context, told: zone } } }
}

function answeredByPlugin({ state, now, compactions }: HookCall): Added {
  return { isReplied: true, state: withStartAnswered(state, now, compactions) }
}

/** A reply that is not begun, because no core was free for its hook, unless nothing else would make up for it. */
export function giveWay(call: HookCall): Added | undefined {
  if (isOnlyChance(call)) return undefined
  const { event, state, before, earlier } = call
  const late = { isReplied: true, isJobDue: true }
  const isAnswered = state.restoreTime !== undefined
  // The next prompt may ask as well.
  if (earlier !== undefined) return { ...late, state: isAnswered ? { ...state, recallDue: true } : state }
  if (event.source !== "compact") return late
  // If nobody announced it, it was passed over because this hook would answer.
  const passed = before.boundaryDue && isAnswered ? ({ ...state, boundaryDue: true } as const) : state
  const unheard = { ...call, event: { ...event, source: undefined }, state: passed }
  return { ...late, state: passed, ...noticeCompactions(unheard) }
}

/** What the hooks before have left of the session in the spool, while it cannot be written to its usual place. */
async function recollectSpooled({ event, settings }: HookCall): Promise<Added | undefined> {
  const { newerState } = await import("../views/spool.ts")
  const newer = newerState(settings.paths, event.session)
  if (newer === undefined) return undefined
  const before = newer as SessionState
  return { before, state: before, isElsewhere: true }
}

/** The state where its usual place cannot be written. */
async function spoolChanged({ event, before, isElsewhere, state, settings }: HookCall): Promise<undefined> {
  const { paths } = settings
  const { spoolState } = await import("../views/spool.ts")
  const latest = isElsewhere ? state : withChanges(before, state, readState(paths.dataHome, event.session))
  spoolState(paths, event.session, JSON.stringify(latest))
}

async function rebuild({ settings }: HookCall): Promise<undefined> {
  const { askForRebuild } = await import("../job/spawn.ts")
  askForRebuild(settings.paths.dataHome)
}

/**
 * Records that `/clear` ended the session, so that the next one of the project continues it. Other agents do not say why
 * one ends: only the next one's start does.
 */
function keepClear({ event, settings, now }: HookCall): undefined {
  const { agent, cwd, reason } = event
  if ((reason !== "clear" && agent === undefined) || cwd === undefined) return
  rememberClear(settings.paths.dataHome, projectOf(cwd), event.session, now, agent)
}

/** Nobody would know that it was refused once. */
function allow(): Added {
  return { text: "" }
}

/** Like `captureTranscript`, where the vault cannot be written. */
async function toSpool({ settings, taking, taken, path, failure }: HookCall): Promise<Added> {
  const { takeToSpool } = await import("../views/spool.ts")
  const one = takeToSpool(settings.paths, path!, taking, failure)
  return { taken: [...taken, one], unmarked: undefined, isSpooled: true }
}

async function mark({ settings, unmarked }: HookCall): Promise<undefined> {
  const { spoolMarker } = await import("../views/spool.ts")
  spoolMarker(settings.paths, unmarked!)
}

/**
 * After /clear, which some versions of Claude Code report as a new session, and for what a resumed one has forgotten.
 */
function isOnlyChance({ event, settings, now, project }: HookCall): boolean {
  const { name, source } = event
  if (name !== "session-start" || source === "compact") return false
  if (source !== "startup") return true
  return project !== undefined && isCleared(settings.paths.dataHome, project, now - SILENT_CLEAR_LASTS)
}

/** Adds to a starting session's reply, once, that a background import is done, and what was moved. */
export async function withImportTold(
  reply: HookReply,
  dataHome: string,
  { other }: HookForm,
): Promise<HookReply> {
  // Who shows no notes leaves them to the next session that does.
  if (other !== undefined && !other.showsNotes) return reply
  const { moveTold, takeImportDone } = await import("../job/import-done.ts")
  const told = takeImportDone(dataHome)
  if (told === undefined) return reply
  const { done, moves } = told
  const notes = moves.map((one) => `ctxbridge: ${moveTold(one)}`)
  if (done !== undefined)
    notes.unshift(
      `ctxbridge has imported ${count(done.transcripts, "transcript")} (${bytes(done.bytes)}). ` +
        "Try: ctxbridge search WORDS",
    )
  if (reply.note !== "") notes.unshift(reply.note)
  return { text: reply.text, note: notes.join("\n") }
}

export const SELDOM: Later = {
  spool: toSpool,
  mark,
  spooled: recollectSpooled,
  unwritten: spoolChanged,
  refuse,
  limits: watchInFull,
  delivery: noticeDelivery,
  plugin: answeredByPlugin,
  late: giveWay,
  advise,
  rebuild,
  allow,
  clear: keepClear,
}
