/** The reply for events that give the model something: one connection, one transaction. */

import { codeOf } from "../base/errors.ts"
import { statSync } from "../base/fs.ts"
import { compileLate } from "../base/own-program.ts"
import { dirname } from "../base/path.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { receiptLine } from "../restore/receipt-line.ts"
import { type RestoreSource, withoutPending } from "../restore/render.ts"
import { knownOf } from "../vault/known-values.ts"
import type { Stretch } from "../vault/reader.ts"
import { captureTranscript, type Taken } from "../views/capture-transcript.ts"
import { type Database, databasePath } from "../views/database.ts"
import { isExcluded } from "../views/excluded.ts"
import { open } from "../views/open.ts"
import { listPending, type Pending, settlePending } from "../views/pending.ts"
import { writePointer } from "../views/pointers.ts"
import { projectOf } from "../views/project.ts"
import { type FoundCompaction, lastCompaction } from "../views/queries/boundaries.ts"
import { addGivenAgain, givenToOldVersion, lastGiven } from "../views/queries/restores.ts"
import { latestSession, spokenIn } from "../views/queries/sessions.ts"
import { addClear, isAfterClear, isCopyIndexed } from "../views/queries/transcripts.ts"
import type { Added, HookCall } from "./call.ts"
import { claimAnswer, instructionsFor, missedCompaction, rememberGiven, restored } from "./given.ts"
import {
  CLEAR_LASTS,
  claimClear,
  isCleared,
  isUnanswered,
  type SessionState,
  SILENT_CLEAR_LASTS,
  withAnswer,
  withStartAnswered,
} from "./state.ts"

/** Shares of the remaining time: for indexing, and for waiting for another writer. */
const VIEWS_SHARE = 0.6
const WAIT_SHARE = 0.5
/** ms for the transcripts of other sessions. */
const OTHERS_TIME = 200

export async function replied(call: HookCall): Promise<Added> {
  compileLate()
  const { settings, taken, deadline, earlier, state } = call
  const { dataHome } = settings.paths
  const start = performance.now()
  const left = deadline - start
  // Most sessions start with nothing left to index, and then the decoder is not even loaded.
  const index = needsIndexing(call) ? (await import("../views/indexing.ts")).index : undefined
  const recall = earlier && !isUnanswered(state) ? (await import("./recall.ts")).recalled : undefined
  const areViewsLost = statSync(databasePath(dataHome), { throwIfNoEntry: false }) === undefined
  const db = open(dataHome, "hook", left * WAIT_SHARE)
  const indexer = new Indexer(db, dataHome, index)
  // Never closed: closing the last connection would copy the log into the database and wait for the disk.
  const answering = db.transaction((): Added => {
    for (const one of taken) indexer.indexOwn(one, start + left * VIEWS_SHARE)
    return recall === undefined ? answer(db, indexer, call) : { text: recall(db, call, earlier!) }
  })
  const close = (error: unknown): never => {
    // But then a second one is opened for reading, and whoever waits to replace the views would wait for this one.
    db.close()
    throw error
  }
  const answered = await Promise.try(() => answering.immediate()).catch(close)
  indexer.settle()
  return { ...answered, areViewsLost }
}

/** Whether there may be something to index, from this session or others of the folder, taken now or earlier. */
function needsIndexing({ event, settings, taken, now }: HookCall): boolean {
  const { dataHome } = settings.paths
  if (taken.some(({ captured }) => captured.taken > 0) || event.source === "clear") return true
  const folder = event.transcript === undefined ? undefined : dirname(event.transcript)
  const waits = ({ path, session }: Pending): boolean =>
    session === event.session || (folder !== undefined && path.startsWith(`${folder}/`))
  if (listPending(dataHome).some(waits)) return true
  return event.cwd !== undefined && isCleared(dataHome, projectOf(event.cwd), now - SILENT_CLEAR_LASTS)
}

function answer(db: Database, indexer: Indexer, call: HookCall): Added {
  const { event, state, now } = call
  if (event.name === "pre-compact") return { text: instructionsFor(db, call) }
  const isPrompt = event.name === "user-prompt-submit"
  if (isPrompt && !isUnanswered(state)) {
    const { delivery: _lost, ...rest } = state
    return { text: again(db, call), state: rest }
  }
  const missed = isPrompt ? missedCompaction(db, event.session, state) : undefined
  if (isPrompt && missed === undefined) {
    const { compactTime: _time, compactAt: _at, unannounced: _noted, ...rest } = state
    return { state: rest }
  }
  if (!isPrompt && event.source !== "compact") {
    const given = begin(db, indexer, call)
    if (given === NOTHING) return {}
    return { text: given.text, note: given.note ?? "", state: { ...state, ...deliveryOf(call, given) } }
  }
  const given = restore(db, call, "compact", event.session, missed)
  if (given === NOTHING && !isPrompt) return {}
  const { summary: _used, focus: _told, delivery: _former, ...rest } = state
  const next = isPrompt
    ? withAnswer(rest, now)
    : withStartAnswered({ ...rest, ...deliveryOf(call, given) }, now, call.compactions)
  return { text: given.text, note: given.note ?? "", state: next }
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
const deliveryOf = ({ found, now }: HookCall, { text, isRestore }: Given): Pick<SessionState, "delivery"> =>
  text === "" || !isRestore ? {} : { delivery: { at: found?.captured.size ?? 0, time: now } }

/** Repeats the last restore, which Claude Code has dropped. Never a second time. */
function again(db: Database, { event, state, before, now }: HookCall): string {
  const last = lastGiven(db, event.session)
  if (last === null) return ""
  // Versions of Claude Code up to 2.1.112 do not tell when a subagent's compaction is meant; the conversation has then
  // lost nothing.
  if (last.source === "compact" && lastCompaction(db, event.session, state.compactAt) === undefined) return ""
  // Its prompt was still without a complete answer.
  const text = before.promptOpen ? last.text : withoutPending(last.text)
  return addGivenAgain(db, event.session, { ...last, time: now, text }) ? text : ""
}

/** A starting session: continued from another, resumed, or new. */
function begin(db: Database, indexer: Indexer, call: HookCall): Given {
  const { event, settings, now } = call
  const { dataHome } = settings.paths
  const { session, source, cwd } = event
  if (source === "resume") {
    const text = lostOnResume(db, session, call.state)
    return text !== "" && claimAnswer(db, call, "resume") ? { text } : NOTHING
  }
  // Another settings file's hook may have answered the same event.
  if (cwd === undefined || isAfterClear(db, session)) return NOTHING
  const project = projectOf(cwd)
  if (event.transcript !== undefined) {
    indexer.indexFolder(dirname(event.transcript), performance.now() + OTHERS_TIME)
  }
  if (source === "clear") {
    const parent = claimClear(dataHome, project, now - CLEAR_LASTS) ?? latestSession(db, project, session)
    return parent === undefined ? NOTHING : continueFrom(db, indexer, call, parent)
  }
  if (source !== "startup") return NOTHING
  const parent = claimClear(dataHome, project, now - SILENT_CLEAR_LASTS)
  if (parent !== undefined) return continueFrom(db, indexer, call, parent)
  return settings.resolved.config["restore.startup"] ? { text: pointer(db, call, project) } : NOTHING
}

function continueFrom(db: Database, indexer: Indexer, call: HookCall, parent: string): Given {
  const { event } = call
  if (event.transcript !== undefined) indexSession(indexer, call, parent)
  addClear(db, event.session, parent)
  return restore(db, call, "clear", spokenIn(db, parent))
}

/** Indexes a session that has just ended, as the views may not have followed yet. */
function indexSession(indexer: Indexer, { event, settings, now, deadline }: HookCall, id: string): void {
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
  call: HookCall,
  source: RestoreSource,
  from: string,
  missed?: FoundCompaction,
): Given {
  if (!claimAnswer(db, call, source)) return NOTHING
  const { event, settings } = call
  const { text, facts, slots } = restored(db, call, source, from, missed)
  const wanted = event.name === "session-start" && settings.resolved.config["restore.receipt"]
  const note = wanted && facts !== undefined ? receiptLine(text, facts) : ""
  return { text: rememberGiven(db, event.session, text, slots), note, isRestore: true }
}

function pointer(db: Database, call: HookCall, project: string): string {
  const { session } = call.event
  const { paths, resolved } = call.settings
  const { dataHome } = paths
  const related = resolved.config["restore.related"]
  const last = latestSession(db, project, session)
  if (last === undefined) {
    if (latestSession(db, project, "") === undefined)
      writePointer(dataHome, project, { session: "", text: "", related })
    return ""
  }
  if (!claimAnswer(db, call, "startup")) return ""
  const { text } = pointerTo(db, last, { ...paths, cwd: call.event.cwd }, { related })
  writePointer(dataHome, project, { session: last, text, related })
  return rememberGiven(db, session, text)
}

/**
 * Versions of Claude Code up to 2.0 forget hook context when resuming a session; later ones replay it. Ignores
 * subagents' compactions.
 */
function lostOnResume(db: Database, session: string, { promptOpen }: SessionState): string {
  const text = givenToOldVersion(db, session) ?? ""
  return promptOpen ? text : withoutPending(text)
}

type Index = typeof import("../views/indexing.ts").index

/** Indexes what a reply needs before it reads the views, within its transaction. */
class Indexer {
  readonly #db: Database
  readonly #dataHome: string
  readonly #index: Index | undefined
  readonly #copies: string[] = []

  /** @param index undefined if there is nothing to index */
  constructor(db: Database, dataHome: string, index: Index | undefined) {
    this.#db = db
    this.#dataHome = dataHome
    this.#index = index
  }

  /** @param end ms of performance.now() at which to stop */
  index(pending: Pending, end: number, fresh: readonly Stretch[] = []): void {
    if (this.#index === undefined) return
    this.#index(this.#db, this.#dataHome, pending, () => performance.now() >= end, fresh)
    this.#copies.push(pending.copy)
  }

  /**
   * Indexes what the hook has taken of its own session. The session may be a fork, and the lines it shares with its
   * origin belong to whichever is indexed first. So before a session that is new to the views, everything that has
   * waited longer is indexed, even if that leaves no time for the session itself.
   */
  indexOwn(taken: Taken, end: number): void {
    if (taken.captured.archived > 0 && !isCopyIndexed(this.#db, taken.copy))
      this.indexFolder(dirname(taken.path), end, taken)
    this.index(taken, end, taken.fresh)
  }

  /**
   * Indexes what other sessions of the folder have left, oldest first.
   *
   * @param end ms of performance.now() at which to stop
   * @param before the copy at which to stop
   */
  indexFolder(folder: string, end: number, before?: Pending): void {
    if (this.#index === undefined) return
    for (const one of listPending(this.#dataHome)) {
      if (performance.now() >= end || one.copy === before?.copy) return
      if (!one.path.startsWith(`${folder}/`) || this.#copies.includes(one.copy)) continue
      try {
        // Nested in the reply's transaction: a copy that cannot be read to its end leaves nothing behind.
        this.#db.transaction(() => this.index(one, end))()
      } catch (error) {
        if (codeOf(error).startsWith("SQLITE_")) throw error
        // A copy that is damaged or was just replaced keeps its marker, and must not hold up the reply.
      }
    }
  }

  /** Call after the commit. */
  settle(): void {
    for (const copy of this.#copies) settlePending(this.#dataHome, copy)
  }
}
