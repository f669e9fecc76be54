/** The reply for events that give the model something: one connection, one transaction. */

import { captureTranscript, type Taken } from "../archive/capture-transcript.ts"
import { type Database, databasePath } from "../archive/database.ts"
import { isExcluded } from "../archive/excluded.ts"
import { open } from "../archive/open.ts"
import { listPending, type Pending } from "../archive/pending.ts"
import { writePointer } from "../archive/pointers.ts"
import { projectOf } from "../archive/project.ts"
import { type FoundCompaction, lastCompaction } from "../archive/queries/boundaries.ts"
import { addGivenAgain, givenToOldHost, lastGiven } from "../archive/queries/restores.ts"
import { latestSession, spokenIn } from "../archive/queries/sessions.ts"
import { addClear, isAfterClear } from "../archive/queries/transcripts.ts"
import { additionalContext } from "../claude/hooks.ts"
import type { Settings } from "../config/load.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { receiptLine } from "../restore/receipt-line.ts"
import { type RestoreSource, withoutPending } from "../restore/render.ts"
import type { HookEvent } from "../transcript/hook-event.ts"
import { compileLate } from "../util/compiling.ts"
import { statSync } from "../util/fs.ts"
import { dirname } from "../util/path.ts"
import { knownOf } from "../vault/known-values.ts"
import type { AskedForEarlier } from "./asks-for-earlier.ts"
import { claimAnswer, rememberGiven } from "./claim-answer.ts"
import { CLEAR_LASTS, claimClear, isCleared, SILENT_CLEAR_LASTS } from "./cleared-sessions.ts"
import { instructionsFor, restored } from "./event-restore.ts"
import { Indexer } from "./indexer.ts"
import { missedCompaction } from "./missed-compactions.ts"
import { answeredAt, compactionUnanswered, type SessionState } from "./state.ts"

export interface ReplyRequest {
  readonly event: HookEvent
  readonly settings: Settings
  readonly state: SessionState
  /** As the last hook left it. */
  readonly before: SessionState
  readonly taken: readonly Taken[]
  /** What was taken of the session's own transcript, if it has a copy. */
  readonly own: Taken | undefined
  /** What the prompt asks for of what came before the compaction. */
  readonly earlier?: AskedForEarlier | undefined
  /** ms since the epoch. */
  readonly now: number
  /** ms of performance.now(). */
  readonly deadline: number
}

export interface Reply {
  /** For stdout. */
  readonly text: string
  readonly state: SessionState
  /** The views were missing, so the background job must rebuild them from the whole vault. */
  readonly lost?: boolean
  /** Whether it was too late to begin one. */
  readonly late?: boolean
}

/** Shares of the remaining time: for indexing, and for waiting for another writer. */
const VIEWS_SHARE = 0.6
const WAIT_SHARE = 0.5
/** ms for the transcripts of other sessions. */
const OTHERS_TIME = 200

export async function reply(request: ReplyRequest): Promise<Reply> {
  compileLate()
  const { settings, taken, deadline } = request
  const { dataHome } = settings.paths
  const start = performance.now()
  const left = deadline - start
  // Most sessions start with nothing left to index, and then the decoder is not even loaded.
  const index = needsIndexing(request) ? (await import("../archive/indexing.ts")).index : undefined
  const { earlier } = request
  const recall = earlier && (await import("./recall.ts")).recalled
  const lost = statSync(databasePath(dataHome), { throwIfNoEntry: false }) === undefined
  const db = open(dataHome, "hook", left * WAIT_SHARE)
  const indexer = new Indexer(db, dataHome, index)
  // Never closed: closing the last connection would copy the log into the database and wait for the disk.
  const answering = db.transaction(() => {
    for (const one of taken) indexer.indexOwn(one, start + left * VIEWS_SHARE)
    if (earlier !== undefined && recall !== undefined && !compactionUnanswered(request.state)) {
      return { text: additionalContext(request.event, recall(db, request, earlier)), state: request.state }
    }
    return answer(db, indexer, request)
  })
  let answered: Reply
  try {
    answered = answering.immediate()
  } catch (error) {
    // But then a second one is opened for reading, and whoever waits to replace the views would wait for this one.
    db.close()
    throw error
  }
  indexer.settle()
  return { ...answered, lost }
}

/** Whether there may be something to index, from this session or others of the folder, taken now or earlier. */
function needsIndexing({ event, settings, taken, now }: ReplyRequest): boolean {
  const { dataHome } = settings.paths
  if (taken.some(({ captured }) => captured.taken > 0) || event.source === "clear") return true
  const folder = event.transcript === undefined ? undefined : dirname(event.transcript)
  const waits = ({ path, session }: Pending): boolean =>
    session === event.session || (folder !== undefined && path.startsWith(`${folder}/`))
  if (listPending(dataHome).some(waits)) return true
  return event.cwd !== undefined && isCleared(dataHome, projectOf(event.cwd), now - SILENT_CLEAR_LASTS)
}

function answer(db: Database, indexer: Indexer, request: ReplyRequest): Reply {
  const { event, state } = request
  if (event.name === "pre-compact") return { text: instructionsFor(db, request), state }
  const isPrompt = event.name === "user-prompt-submit"
  if (isPrompt && !compactionUnanswered(state)) {
    const { delivery: _lost, ...rest } = state
    return { text: additionalContext(event, again(db, request)), state: rest }
  }
  const missed = isPrompt ? missedCompaction(db, event.session, state) : undefined
  if (isPrompt && missed === undefined) {
    const { compactTime: _time, compactAt: _at, unannounced: _noted, ...rest } = state
    return { text: "", state: rest }
  }
  if (isPrompt || event.source === "compact") {
    const given = restore(db, request, "compact", event.session, missed)
    if (given === NOTHING && !isPrompt) return { text: "", state }
    const { summary: _used, focus: _told, delivery: _former, unannounced: _noted, ...rest } = state
    const restoreTime = answeredAt(rest, request.now)
    const next = { ...rest, restoreTime, ...(isPrompt ? {} : deliveryOf(request, given)) }
    return { text: additionalContext(event, given.text, given.note), state: next }
  }
  const given = begin(db, indexer, request)
  if (given === NOTHING) return { text: "", state }
  return {
    text: additionalContext(event, given.text, given.note),
    state: { ...state, ...(given.isRestore ? deliveryOf(request, given) : {}) },
  }
}

/** What a session is given. */
interface Given {
  readonly text: string
  /** Shown to the user. */
  readonly note?: string
  /** Whether it matters that the text arrives. */
  readonly isRestore?: boolean
}

/** Another settings file's hook answers this event; its notes must stay, so the state is not written either. */
const NOTHING: Given = { text: "" }

/** Where to start looking for the restore in the transcript. */
function deliveryOf({ event, taken, now }: ReplyRequest, { text }: Given): Pick<SessionState, "delivery"> {
  if (text === "") return {}
  const own = taken.find(({ path }) => path === event.transcript)
  return { delivery: { at: own?.captured.size ?? 0, time: now } }
}

/** Repeats the last restore, which the host has dropped. Never a second time. */
function again(db: Database, { event, state, before, now }: ReplyRequest): string {
  const last = lastGiven(db, event.session)
  if (last === null) return ""
  // Hosts up to 2.1.112 do not tell when a subagent's compaction is meant; the conversation has then lost nothing.
  if (last.source === "compact" && lastCompaction(db, event.session, state.compactAt) === undefined) return ""
  // Its prompt was still without a complete answer.
  const text = before.promptOpen ? last.text : withoutPending(last.text)
  return addGivenAgain(db, event.session, { ...last, time: now, text }) ? text : ""
}

/** A starting session: continued from another, resumed, or new. */
function begin(db: Database, indexer: Indexer, request: ReplyRequest): Given {
  const { event, settings, now } = request
  const { dataHome } = settings.paths
  const { session, source, cwd } = event
  if (source === "resume") {
    const text = lostOnResume(db, session, request.state)
    return text !== "" && claimAnswer(db, request, "resume") ? { text } : NOTHING
  }
  // Another settings file's hook may have answered the same event.
  if (cwd === undefined || isAfterClear(db, session)) return NOTHING
  const project = projectOf(cwd)
  if (event.transcript !== undefined) {
    indexer.indexFolder(dirname(event.transcript), performance.now() + OTHERS_TIME)
  }
  if (source === "clear") {
    const parent = claimClear(dataHome, project, now - CLEAR_LASTS) ?? latestSession(db, project, session)
    return parent === undefined ? NOTHING : continueFrom(db, indexer, request, parent)
  }
  if (source !== "startup") return NOTHING
  const parent = claimClear(dataHome, project, now - SILENT_CLEAR_LASTS)
  if (parent !== undefined) return continueFrom(db, indexer, request, parent)
  return settings.resolved.config["restore.startup"] ? { text: pointer(db, request, project) } : NOTHING
}

function continueFrom(db: Database, indexer: Indexer, request: ReplyRequest, parent: string): Given {
  const { event } = request
  if (event.transcript !== undefined) indexSession(indexer, request, parent)
  addClear(db, event.session, parent)
  return restore(db, request, "clear", spokenIn(db, parent))
}

/** Indexes a session that has just ended, as the views may not have followed yet. */
function indexSession(indexer: Indexer, { event, settings, now, deadline }: ReplyRequest, id: string): void {
  const path = `${dirname(event.transcript!)}/${id}.jsonl`
  if (isExcluded(settings.paths, path)) return
  const until = performance.now() + OTHERS_TIME
  const options = { now, deadline: until, hurried: true, lastLine: "whole", known: knownOf } as const
  const taken = captureTranscript(settings.paths, path, options)
  indexer.index(taken, deadline - OTHERS_TIME, taken.fresh)
}

/** @param missed at a prompt: the compaction that is answered now */
function restore(
  db: Database,
  request: ReplyRequest,
  source: RestoreSource,
  from: string,
  missed?: FoundCompaction,
): Given {
  if (!claimAnswer(db, request, source)) return NOTHING
  const { event, settings } = request
  const { text, facts, slots } = restored(db, request, source, from, missed)
  const wanted = event.name === "session-start" && settings.resolved.config["restore.receipt"]
  const note = wanted && facts !== undefined ? receiptLine(text, facts) : ""
  return { text: rememberGiven(db, event.session, text, slots), note, isRestore: true }
}

function pointer(db: Database, request: ReplyRequest, project: string): string {
  const { session } = request.event
  const { paths, resolved } = request.settings
  const { dataHome } = paths
  const related = resolved.config["restore.related"]
  const last = latestSession(db, project, session)
  if (last === undefined) {
    if (latestSession(db, project, "") === undefined)
      writePointer(dataHome, project, { session: "", text: "", related })
    return ""
  }
  if (!claimAnswer(db, request, "startup")) return ""
  const { text } = pointerTo(db, last, { ...paths, cwd: request.event.cwd }, { related })
  writePointer(dataHome, project, { session: last, text, related })
  return rememberGiven(db, session, text)
}

/**
 * Hosts up to 2.0 forget hook context when resuming a session; later ones replay it. Ignores subagents' compactions.
 */
function lostOnResume(db: Database, session: string, { promptOpen }: SessionState): string {
  const text = givenToOldHost(db, session) ?? ""
  return promptOpen ? text : withoutPending(text)
}
