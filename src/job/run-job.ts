/**
 * The background job: everything hooks had no time for. One runs at a time, at low priority, until nothing is left.
 * Killing it loses nothing, because each slice is committed separately.
 */
import { closeSync } from "node:fs"
import { setPriority } from "node:os"
import { grown } from "../archive/backlog.ts"
import type { Place, Taken } from "../archive/capture-transcript.ts"
import { markBehind } from "../archive/complete.ts"
import { type Database, openDatabase } from "../archive/database.ts"
import { drainSpool } from "../archive/drain.ts"
import { type Exclusion, isExcluded } from "../archive/excluded.ts"
import { catchUp, index, untilDone } from "../archive/indexing.ts"
import { openWhole, repair } from "../archive/open-or-repair.ts"
import { isPending, type Pending, settlePending } from "../archive/pending.ts"
import { lastRepair } from "../archive/repairs.ts"
import { damageOf } from "../archive/replace.ts"
import { isUnusable } from "../archive/shape.ts"
import { loadSettings, type PathsAndPolicy } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { withOwnPatterns } from "../config/own-patterns.ts"
import { CtxError, codeOf, isDamage, messageOf } from "../util/errors.ts"
import { mkdirSync } from "../util/fs.ts"
import { holdLockFile } from "../util/lock.ts"
import { logError } from "../util/log.ts"
import { compactWhenIdle } from "../vault/compact-vault.ts"
import { vaultPath } from "../vault/layout.ts"
import { Embedding } from "./embedding.ts"
import { fillKnown } from "./fill-known.ts"
import { isQuiet, transcriptsBelow } from "./find-transcripts.ts"
import { resumeForgetting } from "./forget-steps.ts"
import { Ground } from "./ground.ts"
import { learn } from "./learn.ts"
import { preparePointers } from "./prepare-pointers.ts"
import { resumeRedaction } from "./redact-archive.ts"
import {
  type Accepted,
  finishRequest,
  hasRequests,
  type JobRequest,
  recoverRequests,
  takeRequests,
} from "./requests.ts"
import { isAskedToStop, jobLock, STOPPED } from "./stop.ts"
import { allDue, probeDue } from "./sweep.ts"
import { takeSlice } from "./take-slice.ts"

/** Maximum ms of work between two commits. */
const SLICE = 300
/** The job gives up after this long; the next hook starts another. */
const LONGEST = 10 * 60_000
/** When to look, in ms after a request. With SETTLE, repeatedly: the host writes its last lines after its last hook. */
const ONCE = [0] as const
const SETTLE = [0, 150, 500, 1500, 4000] as const
/** ms between checks for new requests while waiting. */
const POLL = 200

/** ms for which the database is closed between two embedding cycles, so that another process can replace it. */
const GAP = 5

export async function runJob(): Promise<void> {
  const { paths, resolved } = withOwnPatterns(loadSettings())
  process.umask(0o077)
  try {
    setPriority(10)
  } catch {
    // Not permitted here; continue at normal priority.
  }
  const ground = new Ground(paths)
  // Requests are stored there. If it is gone, everything was removed since we were started: create nothing.
  if (ground.isGone) return
  // Check again once the lock is released: a request may have arrived after the last look.
  do {
    let fd: number | undefined
    try {
      if (isAskedToStop(paths.stateHome)) return
      fd = holdJobLock(paths.stateHome)
      if (fd === undefined) return
      recoverRequests(paths.dataHome)
      await work(paths, resolved.config, ground)
      // What the job itself has recognised.
      fillKnown(paths, PATIENCE.wait)
    } catch (error) {
      if (codeOf(error) !== STOPPED && !ground.isGone) logError(paths.stateHome, { event: "job", error })
      return
    } finally {
      if (fd !== undefined) closeSync(fd)
    }
  } while (hasRequests(paths.dataHome))
}

/** undefined if another job is at work. */
function holdJobLock(stateHome: string): number | undefined {
  try {
    mkdirSync(stateHome, { recursive: true, mode: 0o700 })
    return holdLockFile(jobLock(stateHome), 0)
  } catch (error) {
    // Where files cannot be locked, the log says why no job runs. Where none can be made, it cannot be written either.
    if (codeOf(error) === "lock-failed") throw error
    return undefined
  }
}

interface Visit extends Accepted {
  readonly since: number
  readonly looks: readonly number[]
}

/** How long to wait for other processes that have the database open, in ms. */
const PATIENCE = { wait: 5000, most: Number.POSITIVE_INFINITY }

async function work(paths: PathsAndPolicy, config: Config, ground: Ground): Promise<void> {
  const end = performance.now() + LONGEST
  goOnForgetting(paths)
  const drained = drain(paths, end)
  // What hooks recognised meanwhile they may not have been able to note.
  for (const path of drained) learn(paths, path)
  let db = opened(paths)
  ground.noteDatabase()
  const goOn = (): void => ground.goOn()
  let visits: Visit[] = drained.length === 0 ? [] : [once(drained)]
  let mended = false
  let pointed = false
  const embedding = config["embed.enabled"] ? new Embedding(paths, () => ground.isOver) : undefined
  /** Copies of sessions known to have ended. */
  const ended = new Set<string>()
  try {
    for (;;) {
      goOn()
      const now = performance.now()
      const accepted = takeRequests(paths.dataHome)
      for (const one of accepted) {
        const { settle, transcripts } = one.request
        visits.push({ ...one, since: now, looks: settle ? SETTLE : ONCE })
        if (settle) for (const path of transcripts) ended.add(vaultPath(path, paths.home))
      }
      try {
        const sweeps = accepted.some(({ request }) => request.sweep.length > 0)
        // Otherwise, damage on a rarely read page would only show up when that page is needed.
        const probes = sweeps && probeDue(paths.stateHome, Date.now())
        if (probes || accepted.some(({ request }) => request.rebuild)) {
          // Whoever waits to replace the views lets nobody in, and would wait for us while we wait for them.
          db.close()
          refuseDamaged(paths.dataHome)
          db = reopened(paths, ground)
        }
        if (sweeps) markBehind(db, paths.dataHome)
        // First index what hooks have archived, oldest first, so that a session precedes the forks that copy its lines.
        catchUp(db, paths.dataHome, end, goOn)
        // The last lines of a session that crashed, in a project to which nobody may ever return.
        if (sweeps && allDue(paths.stateHome, Date.now())) visits.push(once(grown(db)))
        visits = visits.flatMap((visit) => pay(db, paths, visit, now, end, goOn))
        if (accepted.length > 0) pointed = false
        if (visits.length === 0 && !pointed) {
          preparePointers(db, paths.dataHome, config["restore.related"])
          pointed = true
        }
        // Embedding comes last and in small steps, so that new requests go first.
        if (visits.length === 0 && performance.now() < end && (await embedding?.step(db))) {
          db.close()
          await Bun.sleep(GAP)
          db = reopened(paths, ground)
          continue
        }
      } catch (error) {
        // As above.
        db.close()
        if (mended || ground.isOver || !isUnusable(paths.dataHome, error)) throw error
        // Repair only once: a disk that damages every write must not keep the job running.
        mended = true
        logError(paths.stateHome, { event: "job", error })
        repair(paths.dataHome, messageOf(error), PATIENCE)
        db = reopened(paths, ground)
        continue
      }
      if (visits.length === 0 || performance.now() >= end) {
        if (!pointed) preparePointers(db, paths.dataHome, config["restore.related"])
        if (visits.length === 0) tidy(paths, ended, end)
        return
      }
      await Bun.sleep(POLL)
    }
  } finally {
    db.close()
  }
}

/** @returns transcripts that hooks had to write elsewhere; the host may have added to them since */
function drain(paths: PathsAndPolicy, end: number): readonly string[] {
  const drained = drainSpool(paths, end)
  for (const { error } of drained?.left ?? []) {
    if (error !== undefined) logError(paths.stateHome, { event: "spool", error })
  }
  return drained?.transcripts ?? []
}

/** A request of our own, without a file. */
const once = (transcripts: readonly string[]): Visit => ({
  request: { transcripts, sweep: [], settle: false },
  file: "",
  since: 0,
  looks: ONCE,
})

/** The views must not contain what the vault has lost. Runs before they are opened, because it rebuilds them. */
function goOnForgetting(paths: PathsAndPolicy): void {
  try {
    resumeForgetting(paths.dataHome, { wait: PATIENCE.wait })
    resumeRedaction(paths.dataHome, PATIENCE.wait)
    // Before the views follow, which would have to be made again.
    fillKnown(paths, PATIENCE.wait)
  } catch (error) {
    logError(paths.stateHome, { event: "forget", error })
  }
}

/** Opens the views, and logs it if they had to be rebuilt. */
function opened(paths: PathsAndPolicy): Database {
  const before = lastRepair(paths.dataHome)?.time
  const db = openWhole(paths.dataHome, PATIENCE)
  const repair = lastRepair(paths.dataHome)
  if (repair !== undefined && repair.time !== before) {
    logError(paths.stateHome, { event: "repair", error: new CtxError("repaired", repair.reason) })
  }
  return db
}

function reopened({ dataHome }: PathsAndPolicy, ground: Ground): Database {
  ground.holdFolder()
  const db = openDatabase(dataHome, PATIENCE)
  ground.noteDatabase()
  return db
}

/** Somebody has met damage, perhaps on a page that the job does not read. */
function refuseDamaged(dataHome: string): void {
  const damage = damageOf(dataHome)
  if (damage === undefined) return
  throw isDamage(damage) ? damage : new CtxError("SQLITE_CORRUPT", messageOf(damage))
}

function tidy(paths: PathsAndPolicy, ended: ReadonlySet<string>, end: number): void {
  try {
    compactWhenIdle(paths.dataHome, ended, Date.now(), end)
  } catch (error) {
    logError(paths.stateHome, { event: "compact", error })
  }
}

/** Looks if a look is due, and returns what remains of the visit. */
function pay(
  db: Database,
  paths: PathsAndPolicy,
  visit: Visit,
  now: number,
  end: number,
  goOn: () => void,
): Visit[] {
  const [due, ...later] = visit.looks
  if (due === undefined || now < visit.since + due) return [visit]
  // Ran out of time: the next job finds the request.
  if (!look(db, paths, visit.request, end, goOn)) return [visit]
  if (later.length > 0) return [{ ...visit, looks: later }]
  finishRequest(visit)
  return []
}

/** @returns whether there was time to look at everything */
function look(
  db: Database,
  paths: PathsAndPolicy,
  request: JobRequest,
  end: number,
  goOn: () => void,
): boolean {
  const swept = request.sweep.flatMap((folder) => transcriptsBelow(folder))
  for (const path of new Set([...request.transcripts, ...swept])) {
    if (performance.now() >= end) return false
    goOn()
    try {
      const lastLine = request.history && isQuiet(path) ? "any" : "whole"
      archiveAll(db, paths, path, end, { lastLine, onProgress: goOn })
    } catch (error) {
      if (codeOf(error) === STOPPED || isUnusable(paths.dataHome, error, db)) throw error
      // One unreadable file must not block the others.
      logError(paths.stateHome, { event: "job", error })
    }
  }
  return performance.now() < end
}

export interface ArchiveOptions {
  readonly lastLine?: "whole" | "any"
  /** Called after each commit with the number of the transcript's bytes in the vault. */
  readonly onProgress?: (archived: number) => void
}

/**
 * Archives one whole transcript, slice by slice, into the vault and the views.
 *
 * @param end when to stop, in ms of performance.now(); what is done by then is committed
 */
export function archiveAll(
  db: Database,
  place: Place & Exclusion,
  path: string,
  end: number,
  { lastLine = "whole", onProgress }: ArchiveOptions = {},
): void {
  if (isExcluded(place, path)) return
  for (;;) {
    const taken = takeSlice(place, path, lastLine, SLICE)
    const { captured } = taken
    if (captured.id === undefined) return
    if (captured.taken === 0 && !isPending(place.dataHome, taken.copy)) return
    indexTaken(db, place.dataHome, taken, end, () => onProgress?.(captured.archived))
    if (captured.state !== "behind" || performance.now() >= end) return
  }
}

/** What to index; where it was taken just now, with what is still in memory of it. */
export type Indexed = Pending & Partial<Pick<Taken, "captured" | "fresh">>

/**
 * Brings the views up to date with one copy, slice by slice.
 *
 * @param end when to stop, in ms of performance.now(); what is done by then is committed
 * @param onSlice called after each commit
 */
export function indexTaken(
  db: Database,
  dataHome: string,
  taken: Indexed,
  end: number,
  onSlice: () => void,
): void {
  for (let last = -1; ; ) {
    const stop = Math.min(end, performance.now() + SLICE)
    const row = db.transaction(() => index(db, dataHome, taken, untilDone(stop), taken.fresh)).immediate()
    settlePending(dataHome, taken.copy)
    onSlice()
    // No progress: only an unfinished line is left.
    if (row === undefined || row.indexed >= row.archived || row.indexed === last) return
    if (performance.now() >= end) return
    last = row.indexed
  }
}
