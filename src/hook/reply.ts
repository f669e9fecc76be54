/** The reply for events that give the model something: one connection, one transaction. */

import { codeOf } from "../base/errors.ts"
import { statSync } from "../base/fs.ts"
import { compileLate } from "../base/own-program.ts"
import { dirname } from "../base/path.ts"
import { answersLate } from "../record/hook-event.ts"
import { receiptLine } from "../restore/explain.ts"
import { pointerTo } from "../restore/pointer-to.ts"
import { type RestoreSource, withoutPending } from "../restore/render.ts"
import type { Restore } from "../restore/restore.ts"
import { captureTranscript, type Taken } from "../vault/capture.ts"
import { knownOf } from "../vault/known-values.ts"
import { listPending, type Pending, settlePending } from "../vault/pending.ts"
import type { Stretch } from "../vault/reader.ts"
import { type Database, databasePath } from "../views/database.ts"
import { isExcluded } from "../views/excluded.ts"
import type { PassedOver } from "../views/indexing.ts"
import { open } from "../views/open.ts"
import { writePointer } from "../views/pointers.ts"
import { compactionBefore, type FoundCompaction, lastCompaction } from "../views/queries/boundaries.ts"
import {
  addGivenAgain,
  claimGiven,
  givenMarks,
  givenToOldVersion,
  isGivenBetween,
  lastGiven,
} from "../views/queries/restores.ts"
import { latestSession, spokenIn } from "../views/queries/sessions.ts"
import { addClear, isAfterClear, isCopyIndexed } from "../views/queries/transcripts.ts"
import { currentTranscript } from "../views/transcript-rows.ts"
import type { Added, HookCall } from "./call.ts"
import { instructed, isPointed, mostProbable, placesFor, rememberGiven, restored } from "./given.ts"
import {
  CLEAR_LASTS,
  claimClear,
  isCleared,
  isUnanswered,
  SAME_EVENT,
  type SessionState,
  SILENT_CLEAR_LASTS,
  withAnswer,
  withStartAnswered,
} from "./state.ts"

/** Shares of the remaining time: for indexing, and for waiting for another writer. */
const VIEWS_SHARE = 0.6
const WAIT_SHARE = 0.5
/** ms for the transcripts of other sessions, at least. */
const OTHERS_TIME = 200
/** Of that for indexing, the share for a session's end, once it is plain that there is not time for all of it. */
const END_RESERVED = 0.5
/**
 * It is plain when the rest would take this many times as long as there is. The engine gets faster as it goes: half-way
 * through a session, the rest seems to take 2.3 times as long as it does (median; docs/measurements/restore.md).
 */
const LEEWAY = 3
/** Of the time left for the reply, the share for a session's end, at least; and its bytes, at least. */
const END_SHARE = 0.3
const LEAST_END = 64 << 10
/** Bytes indexed in a ms, where there was no time to measure it. */
const USUAL_RATE = 3000
/** How much faster the end is indexed, at least: without words to search by. */
const END_FASTER = 1.5

export async function replied(call: HookCall): Promise<Added> {
  compileLate()
  const { settings, taken, deadline, earlier, state } = call
  const { dataHome } = settings.paths
  const start = performance.now()
  const left = deadline - start
  // Most sessions start with nothing left to index, and then the decoder is not even loaded.
  const indexing = needsIndexing(call) ? await import("../views/indexing.ts") : undefined
  const recall = earlier && !isUnanswered(state) ? (await import("./recall.ts")).recalled : undefined
  const areViewsLost = statSync(databasePath(dataHome), { throwIfNoEntry: false }) === undefined
  const db = open(dataHome, "hook", left * WAIT_SHARE)
  const indexer = new Indexer(db, dataHome, indexing, { end: start + left * VIEWS_SHARE, deadline })
  const answering = (): Added => {
    const reserved = recall === undefined ? endReserved(call) : undefined
    for (const one of taken) indexer.indexOwn(one, one.session === call.event.session ? reserved : undefined)
    return recall === undefined ? answer(db, indexer, call) : { text: recall(db, call, earlier!) }
  }
  // Never closed: closing the last connection would copy the log into the database and wait for the disk.
  const close = (error: unknown): never => {
    // But then a second one is opened for reading, and whoever waits to replace the views would wait for this one.
    db.close()
    throw error
  }
  const answered = await Promise.try(() => immediately(db, start + left * WAIT_SHARE, answering)).catch(close)
  indexer.settle()
  // What failed before the compaction is in the context no more, and may be a reminder now.
  const isJobDue = call.event.source === "compact" && settings.resolved.config["recall.actions"]
  return { ...answered, areViewsLost, ...(isJobDue && { isJobDue }) }
}

/** ms between two looks whether another writer has done. */
const LOOK = 2

/**
 * Does `work` in an immediate transaction.
 *
 * @param end ms of performance.now() until which to wait for another writer: SQLite would look ever more seldom, and
 *   the job, which writes for long, lets others in only for moments
 */
function immediately<T>(db: Database, end: number, work: () => T): T {
  db.run("PRAGMA busy_timeout = 0")
  for (;;) {
    try {
      db.run("BEGIN IMMEDIATE")
      break
    } catch (error) {
      if (!codeOf(error).startsWith("SQLITE_BUSY") || performance.now() >= end) throw error
      Bun.sleepSync(LOOK)
    }
  }
  try {
    const done = work()
    db.run("COMMIT")
    return done
  } catch (error) {
    if (db.inTransaction) db.run("ROLLBACK")
    throw error
  }
}

/** Whether there may be something to index, from this session or others of the folder, taken now or earlier. */
function needsIndexing({ event, form, settings, taken, now, project }: HookCall): boolean {
  const { dataHome } = settings.paths
  if (taken.some(({ captured }) => captured.taken > 0) || event.source === "clear") return true
  const { folder } = event
  const waits = ({ path, session }: Pending): boolean =>
    session === event.session ||
    (folder !== undefined && path.startsWith(`${folder}/`)) ||
    (form.other !== undefined && event.name === "session-start")
  if (listPending(dataHome).some(waits)) return true
  return project !== undefined && isCleared(dataHome, project, now - SILENT_CLEAR_LASTS)
}

interface RestoreDue {
  readonly source: RestoreSource
  readonly from: string
}

/** What a starting session, or one that was compacted, is to be given. */
type Due =
  | RestoreDue
  | { readonly source: "startup"; readonly from: string; readonly project: string }
  | { readonly source: "resume"; readonly text: string }

/** What is reserved for the end of the session, if that is what the reply is made of. */
function endReserved({ event, state }: HookCall): number | undefined {
  // The restore that is to follow needs all that can be done by then.
  if (event.name === "pre-compact") return 0
  const isDue = event.name === "session-start" ? event.source === "compact" : isUnanswered(state)
  return isDue ? END_RESERVED : undefined
}

/** First what there is to give, then whether this hook is the one to give it, and only then what it says. */
function answer(db: Database, indexer: Indexer, call: HookCall): Added {
  const { event, state, now } = call
  const { session } = event
  if (event.name === "pre-compact") return indexer.withEnd(session, (passed) => instructed(db, call, passed))
  const isPrompt = answersLate(event)
  const isCompacted = isPrompt || event.source === "compact"
  if (isPrompt && !isUnanswered(state)) {
    const { delivery: _lost, ...rest } = state
    return { text: again(db, call, lastOf(db, call)), state: rest }
  }
  // What came after it may not be archived yet; then the next prompt decides.
  if (isPrompt && call.found?.captured.state === "behind") return {}
  const missed = isPrompt
    ? indexer.withEnd(session, (passed) => {
        const last = lastOf(db, call)
        if (!isMissed(db, call, last)) return undefined
        // The end is indexed only once, whoever will have the answer.
        return {
          last,
          early: passed === undefined ? undefined : restored(db, call, "compact", session, last, passed),
        }
      })
    : undefined
  if (isPrompt && missed === undefined) {
    // What was said and printed for a compaction that never came belongs to none after it.
    const { compactTime: _time, compactAt: _at, unannounced: _noted, ...others } = state
    const { focus: _told, printed: _shown, ...rest } = others
    return { state: rest }
  }
  const due: Due | undefined = isCompacted ? { source: "compact", from: session } : begun(db, indexer, call)
  const isOurs = due !== undefined && claimAnswer(db, call, due.source)
  // Another settings file's hook answers this event; its notes must stay, so the state is not written either.
  if (!isOurs && !isPrompt) return {}
  const restoring = (one: RestoreDue): Restore =>
    missed?.early ??
    indexer.withEnd(one.from, (passed) =>
      restored(
        db,
        call,
        one.source,
        one.from,
        missed?.last ?? (isCompacted ? lastOf(db, call) : undefined),
        passed,
      ),
    )
  const given = isOurs ? made(db, call, due, restoring) : { text: "" }
  const reply = { text: given.text, note: given.note ?? "" }
  const delivery = isPrompt ? {} : deliveryOf(call, given)
  if (!isCompacted) return { ...reply, state: { ...state, ...delivery } }
  const { summary: _used, focus: _told, printed: _shown, delivery: _former, ...rest } = state
  const next = isPrompt
    ? withAnswer(rest, now)
    : withStartAnswered({ ...rest, ...delivery }, now, call.compactions)
  return { ...reply, state: next }
}

/** What a session is given. */
interface Given {
  readonly text: string
  /** Shown to the user. */
  readonly note?: string
  /** Whether it matters that the text arrives. */
  readonly isRestore?: boolean
}

const lastOf = (db: Database, { event, state }: HookCall): FoundCompaction | undefined =>
  lastCompaction(db, event.session, state.compactAt)

function made(db: Database, call: HookCall, due: Due, restoring: (due: RestoreDue) => Restore): Given {
  const { event, settings } = call
  const { paths, resolved } = settings
  if (due.source === "resume") return { text: due.text }
  if (due.source === "startup") {
    const { from, project } = due
    const related = resolved.config["restore.related"]
    const { text } = pointerTo(db, from, placesFor(call), { related, reader: event.agent })
    // The next one is told to Claude Code.
    if (call.form.other === undefined) writePointer(paths.dataHome, project, { session: from, text, related })
    return { text: rememberGiven(db, event.session, text) }
  }
  const { text, facts } = restoring(due)
  const wanted = event.name === "session-start" && resolved.config["restore.receipt"]
  const note = wanted && facts !== undefined ? receiptLine(text, facts) : ""
  return { text: rememberGiven(db, event.session, text), note, isRestore: true }
}

/** Where to start looking for the restore in the transcript. */
const deliveryOf = ({ found, now }: HookCall, { text, isRestore }: Given): Pick<SessionState, "delivery"> =>
  text === "" || !isRestore ? {} : { delivery: { at: found?.captured.size ?? 0, time: now } }

/** Repeats the last restore, which Claude Code has dropped. Never a second time. */
function again(
  db: Database,
  { event, before, now }: HookCall,
  compaction: FoundCompaction | undefined,
): string {
  const last = lastGiven(db, event.session)
  if (last === null) return ""
  // Versions of Claude Code up to 2.1.112 do not tell when a subagent's compaction is meant; the conversation has then
  // lost nothing.
  if (last.source === "compact" && compaction === undefined) return ""
  // Its prompt was still without a complete answer.
  const text = before.promptOpen ? last.text : withoutPending(last.text)
  return addGivenAgain(db, event.session, { ...last, time: now, text }) ? text : ""
}

/** A starting session: continued from another, resumed, or new; undefined if there is nothing to give. */
function begun(db: Database, indexer: Indexer, call: HookCall): Due | undefined {
  const { event, form, settings, now, project } = call
  const { dataHome } = settings.paths
  const { session, source, folder } = event
  if (source === "resume") {
    const text = lostOnResume(db, session, call.state)
    return text === "" ? undefined : { source, text }
  }
  // Another settings file's hook may have answered the same event.
  if (project === undefined || isAfterClear(db, session)) return undefined
  // A project's sessions have a folder only in Claude Code.
  const isClaudes = form.other === undefined
  if (folder !== undefined || !isClaudes) {
    // A new session is told where the others were left, so it waits for them as long as one waits for its own.
    const end = source === "startup" ? indexer.end : 0
    indexer.indexFolder(isClaudes ? folder : undefined, Math.max(end, performance.now() + OTHERS_TIME))
  }
  if (source !== "clear" && source !== "startup") return undefined
  const lasts = source === "clear" ? CLEAR_LASTS : SILENT_CLEAR_LASTS
  // A start of other agents says by itself that it follows a clear.
  const mayFollow = isClaudes || source === "clear"
  const cleared = mayFollow ? claimClear(dataHome, project, now - lasts, event.agent) : undefined
  const parent = source === "clear" ? (cleared ?? mostProbable(db, call)) : cleared
  if (parent !== undefined) {
    if (folder !== undefined && isClaudes) indexSession(indexer, call, parent)
    addClear(db, session, parent)
    return { source: "clear", from: spokenIn(db, parent) }
  }
  if (!isPointed(call)) return undefined
  const last = latestSession(db, project, session, "any")
  if (last !== undefined) return { source: "startup", from: last, project }
  if (isClaudes && latestSession(db, project, "", "any") === undefined) {
    const related = settings.resolved.config["restore.related"]
    writePointer(dataHome, project, { session: "", text: "", related })
  }
  return undefined
}

/** Indexes a session that has just ended, as the views may not have followed yet. */
function indexSession(indexer: Indexer, { event, settings, now, deadline }: HookCall, id: string): void {
  const path = `${event.folder}/${id}.jsonl`
  if (isExcluded(settings.paths, path)) return
  const until = performance.now() + OTHERS_TIME
  const options = { now, deadline: until, hurried: true, lastLine: "whole", known: knownOf } as const
  const taken = captureTranscript(settings.paths, path, options)
  indexer.index(taken, deadline - OTHERS_TIME, taken.fresh, END_RESERVED)
}

/**
 * Claude Code calls the hooks of several settings files for one event, and only the first may answer. Two calls are
 * about the same event when the transcript has the same length. That alone is not enough: a session is resumed or begun
 * without new bytes, and after a compaction Claude Code may write some between the two calls. In these cases, calls
 * less than half a second apart also count as one event, unless another compaction has been announced since.
 */
function claimAnswer(db: Database, { event, state, now }: HookCall, source: Due["source"]): boolean {
  const transcript = currentTranscript(db, event.session, event.transcript)
  const size = source === "resume" ? 0 : (transcript?.archived ?? 0)
  const announced = event.source === "compact" ? state.compactTime : undefined
  const time = Math.max(now, announced ?? 0)
  const since = Math.max(now - SAME_EVENT, announced ?? 0)
  // Answers dated later were given before the clock was set back, and do not count.
  const isAnswered = (): boolean => isGivenBetween(db, event.session, source, since, time + SAME_EVENT)
  if ((size === 0 || announced !== undefined) && isAnswered()) return false
  const place = answersLate(event) ? "late" : "at"
  const mark = size > 0 ? `${place} ${size}` : `near ${now}`
  return claimGiven(db, event.session, { source, mark, time })
}

/** ms by which a restore at a session's start may precede the time that Claude Code gives the compaction. */
const HOOKS_LAST = 10 * 60_000

/** Whether nobody has answered the compaction recorded as unanswered in the state, as far as the views show. */
function isMissed(
  db: Database,
  { event, form, state }: HookCall,
  last: FoundCompaction | undefined,
): last is FoundCompaction {
  // Claude Code's hooks saw every announced compaction. For others the hooks' notes may be lost, and the views may know
  // more; and where several calls at once may answer one, only these know whether another has.
  const isOpen = state.unannounced === undefined && form.other === undefined
  return last !== undefined && (isOpen || !isAnswered(db, event.session, last))
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

/**
 * Versions of Claude Code up to 2.0 forget hook context when resuming a session; later ones replay it. Ignores
 * subagents' compactions.
 */
function lostOnResume(db: Database, session: string, { promptOpen }: SessionState): string {
  const text = givenToOldVersion(db, session) ?? ""
  return promptOpen ? text : withoutPending(text)
}

type Indexing = typeof import("../views/indexing.ts")

interface Times {
  /** ms of performance.now() at which to stop indexing. */
  readonly end: number
  /** And that of the whole call. */
  readonly deadline: number
}

/** A session that could not be indexed in time. */
interface Unfinished {
  readonly taken: Pending
  readonly fresh: readonly Stretch[]
  /** Bytes that were indexed in a ms. */
  readonly rate: number
}

/** Indexes what a reply needs before it reads the views, within its transaction. */
class Indexer {
  readonly #db: Database
  readonly #dataHome: string
  readonly #indexing: Indexing | undefined
  readonly #deadline: number
  /** ms of performance.now() at which to stop. */
  readonly end: number
  readonly #copies: string[] = []
  readonly #unfinished = new Map<string, Unfinished>()

  /** @param indexing undefined if there is nothing to index */
  constructor(db: Database, dataHome: string, indexing: Indexing | undefined, { end, deadline }: Times) {
    this.#db = db
    this.#dataHome = dataHome
    this.#indexing = indexing
    this.end = end
    this.#deadline = deadline
  }

  /**
   * @param end ms of performance.now() at which to stop
   * @param reserved share of the time for the session's end, if there is not time for all; undefined: it is not asked for
   */
  index(pending: Pending, end: number, fresh: readonly Stretch[] = [], reserved?: number): void {
    if (this.#indexing === undefined) return
    const pace = new Pace(end, reserved)
    const until = (_isStuck: boolean, left: number): boolean =>
      reserved === undefined ? performance.now() >= end : pace.isTooSlow(left)
    this.#indexing.index(this.#db, this.#dataHome, pending, until, fresh)
    this.#copies.push(pending.copy)
    if (pace.isStopped) this.#unfinished.set(pending.session, { taken: pending, fresh, rate: pace.rate })
  }

  /**
   * Makes something of a session. If there was no time to index all of it, its end is in the views meanwhile, and gone
   * afterwards: turns are numbered as they are read, so the job goes on where the hook has stopped.
   *
   * @param make gets what was passed over; undefined if nothing is in the views that will not stay there
   */
  withEnd<T>(session: string, make: (passed?: PassedOver) => T): T {
    const unfinished = this.#unfinished.get(session)
    if (unfinished === undefined) return make()
    this.#db.run("SAVEPOINT session_end")
    try {
      const passed = this.#indexEnd(unfinished)
      if (passed !== undefined) return make(passed)
    } finally {
      // An error of SQLite's may have ended the whole transaction.
      if (this.#db.inTransaction) {
        this.#db.run("ROLLBACK TO session_end")
        this.#db.run("RELEASE session_end")
      }
    }
    return make()
  }

  #indexEnd({ taken, fresh, rate }: Unfinished): PassedOver | undefined {
    const now = performance.now()
    const time = Math.max(this.end - now, (this.#deadline - now) * END_SHARE, 0)
    const most = Math.max(LEAST_END, time * rate * END_FASTER)
    // It is better to be late than to stop just before the end: there are only so many bytes.
    const stop = Math.max(this.#deadline, now + LEAST_END / USUAL_RATE)
    try {
      const until = (): boolean => performance.now() >= stop
      return this.#indexing!.indexEnd(this.#db, this.#dataHome, taken, most, until, fresh)
    } catch (error) {
      if (codeOf(error).startsWith("SQLITE_")) throw error
      // The copy was just replaced.
      return undefined
    }
  }

  /**
   * Indexes what the hook has taken of its own session. The session may be a fork, and the lines it shares with its
   * origin belong to whichever is indexed first. So before a session that is new to the views, everything that has
   * waited longer is indexed, even if that leaves no time for the session itself.
   */
  indexOwn(taken: Taken, reserved: number | undefined): void {
    if (taken.captured.archived > 0 && !isCopyIndexed(this.#db, taken.copy))
      this.indexFolder(dirname(taken.path), this.end, taken)
    this.index(taken, this.end, taken.fresh, reserved)
  }

  /**
   * Indexes what other sessions of the folder have left, oldest first.
   *
   * @param folder undefined: those of all
   * @param end ms of performance.now() at which to stop
   * @param before the copy at which to stop
   */
  indexFolder(folder: string | undefined, end: number, before?: Pending): void {
    if (this.#indexing === undefined) return
    for (const one of listPending(this.#dataHome)) {
      if (performance.now() >= end || one.copy === before?.copy) return
      const isThere = folder === undefined || one.path.startsWith(`${folder}/`)
      if (!isThere || this.#copies.includes(one.copy)) continue
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

/** Tells early that a copy will not be indexed by a time, from how fast it has gone so far. */
class Pace {
  readonly #end: number
  /** From when on it is asked. */
  readonly #asked: number
  #since: number
  /** Bytes that were left then, and that are left now. */
  #first = 0
  #left = 0
  isStopped = false
  /** Bytes in a ms, when it stopped. */
  rate = USUAL_RATE

  constructor(end: number, reserved = 0) {
    this.#since = performance.now()
    this.#end = end
    this.#asked = end - (end - this.#since) * reserved
  }

  /** @param left bytes of the copy */
  isTooSlow(left: number): boolean {
    const now = performance.now()
    if (left > this.#left) {
      // The first, or after what Claude Code has replaced by it.
      this.#since = now
      this.#first = left
    }
    this.#left = left
    const within = this.#end - now
    if (left < this.#first) this.rate = (this.#first - left) / (now - this.#since)
    const isLate = now >= this.#asked && left > this.rate * within * LEEWAY
    this.isStopped = left > 0 && (within <= 0 || isLate)
    return this.isStopped
  }
}
