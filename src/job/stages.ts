/** What the background job does, in this order, and when each of it is due. */
import { CtxError, codeOf, isCtxError, isDamage, messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { logError } from "../base/log.ts"
import { join } from "../base/path.ts"
import { runTable, type TableStep } from "../base/step-table.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import { type Config, hasBudget } from "../config/options.ts"
import { keepUses } from "../restore/window/budget-use.ts"
import { gatherUses } from "../restore/window/spending.ts"
import { limitsIn, tend } from "../restore/worth/tiering.ts"
import { isSyncDue, noteAutoSync, readAutoSync } from "../sync/sync-again.ts"
import { writerName } from "../sync/sync-ledger.ts"
import { type SyncDone, syncOnce, withSyncLock } from "../sync/sync-once.ts"
import type { NamedTarget } from "../sync/targets/open-target.ts"
import { configuredTargets } from "../sync/targets.ts"
import { mergeWhenIdle } from "../vault/merge-frames.ts"
import { grown } from "../views/backlog.ts"
import { markBehind } from "../views/completeness.ts"
import type { Database } from "../views/database.ts"
import { countDiskUse, isCountDue } from "../views/disk-use.ts"
import { drainSpool } from "../views/drain-spool.ts"
import { catchUp } from "../views/indexing.ts"
import { listVault } from "../views/list-vault.ts"
import { openCurrent } from "../views/open-current.ts"
import { priceList } from "../views/prices.ts"
import { dropReminders } from "../views/reminders.ts"
import { damageOf } from "../views/replace-database.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { transcriptByCopy } from "../views/transcript-rows.ts"
import { allDue, listDue, probeDue } from "./due-work.ts"
import type { Embedding } from "./embedding.ts"
import { fillKnown } from "./fill-known.ts"
import { findMoves } from "./find-moves.ts"
import { resumeForgetting } from "./forget-sessions.ts"
import { noteMoves } from "./import-done.ts"
import { preparePointers, prepareReminders } from "./prepare-pointers.ts"
import { learn, resumeRedaction } from "./redact-archive.ts"
import { ownVisit, pay, type Visit } from "./request-visits.ts"
import { type Accepted, hasRequests, STOPPED } from "./requests.ts"
import {
  claudeProgram,
  dueSessions,
  type SessionMaterial,
  summarizeSession,
  summarizingAlone,
} from "./summarize-session.ts"

/** How long to wait for other processes that have the database open, in ms. */
export const PATIENCE = 5000

/** What only the user can allow. */
export type Permission = "network" | "model"

/** The job before it has opened the views. */
export interface Start {
  readonly paths: PathsAndPolicy
  /** When to end, in ms of performance.now(). */
  readonly end: number
  readonly permitted: ReadonlySet<Permission>
  /** What is still to be looked at. */
  visits: Visit[]
}

export interface Round extends Start {
  readonly config: Config
  readonly embedding: Embedding | undefined
  /** Copies of sessions known to have ended. */
  readonly ended: ReadonlySet<string>
  db: Database
  /** When the round began, in ms of performance.now(). */
  now: number
  /** Requests that came since the round before. */
  accepted: readonly Accepted[]
  /** Whether the pointers are those of the views as they are. */
  isPointed: boolean
  /** Whether it was looked which repositories were moved. */
  isMovesFound: boolean
  /** Where sessions have begun, as far as it was told. */
  readonly folders: Set<string>
  /** Whether it was seen to which turns are cold. */
  isTended: boolean
  /** Closes the database meanwhile. */
  readonly withoutViews: (action: () => void | Promise<void>) => Promise<undefined>
  /** Throws when the job is to end. */
  readonly goOn: () => void
  /** Whether it is to end. */
  readonly isOver: () => boolean
}

const isIdle = ({ visits }: Round): boolean => visits.length === 0
const isSweep = ({ accepted }: Round): boolean => accepted.some(({ request }) => request.sweep.length > 0)

/** Before the views are opened. */
export const BEFORE: readonly TableStep<Start, Permission>[] = [
  { name: "forget", run: ({ paths }) => goOnForgetting(paths) },
  { name: "spool", run: drain },
]

/** Again and again, until nothing is left. */
export const ROUND: readonly TableStep<Round, Permission>[] = [
  {
    name: "damage",
    // Otherwise, damage on a rarely read page would only show up when that page is needed.
    due: (round) =>
      (isSweep(round) && probeDue(round.paths.stateHome, Date.now())) ||
      round.accepted.some(({ request }) => request.rebuild),
    // Whoever waits to replace the views lets nobody in, and would wait for us while we wait for them.
    run: ({ paths, withoutViews }) => withoutViews(() => refuseDamaged(paths.dataHome)),
  },
  { name: "behind", due: isSweep, run: ({ db, paths }) => markBehind(db, paths.dataHome) },
  {
    // What hooks have archived, oldest first, so that a session precedes the forks that copy its lines.
    name: "index",
    run: ({ db, paths, end, goOn }) => void catchUp(db, paths.dataHome, end, goOn),
  },
  {
    // The last lines of a session that crashed, in a project to which nobody may ever return.
    name: "grown",
    due: (round) => isSweep(round) && allDue(round.paths.stateHome, Date.now()),
    run: (round) => {
      round.visits.push(ownVisit(grown(round.db)))
    },
  },
  {
    name: "visits",
    due: (round) => !isIdle(round),
    run: (round) => {
      const { db, paths, now, end, goOn } = round
      round.visits = round.visits.flatMap((visit) => pay(db, paths, visit, now, end, goOn))
    },
  },
  {
    // Before pointers, which are a project's.
    name: "moves",
    due: (round) => isIdle(round) && !round.isMovesFound,
    run: lookForMoves,
  },
  {
    // With the pointers: whenever something is new.
    name: "budgets",
    due: (round) => isIdle(round) && !round.isPointed && hasBudget(round.config),
    run: sumUp,
  },
  { name: "reminders", due: (round) => isIdle(round) && !round.isPointed, run: remind },
  { name: "pointers", due: (round) => isIdle(round) && !round.isPointed, run: point },
  {
    // Before vectors, which cold turns do without.
    name: "tiers",
    due: (round) => isIdle(round) && round.config["archive.cold"] && !round.isTended,
    run: tendTiers,
  },
  {
    // Last and in small steps, so that new requests go first.
    name: "vectors",
    due: (round) => isIdle(round) && performance.now() < round.end && round.embedding !== undefined,
    run: async ({ db, embedding }) => ((await embedding!.step(db)) ? "more" : undefined),
  },
]

/** When nothing is left, or no time. The last one leaves the views closed. */
export const AFTER: readonly TableStep<Round, Permission>[] = [
  {
    // Before pointers, which name what was observed.
    name: "summaries",
    needs: "model",
    due: (round) => isIdle(round) && performance.now() < round.end,
    run: summarize,
  },
  { name: "pointers", due: ({ isPointed }) => !isPointed, run: point },
  { name: "compact", due: isIdle, run: compact },
  {
    // What `status` tells of a large archive.
    name: "count",
    due: (round) => isIdle(round) && isCountDue(round.paths.dataHome, Date.now()),
    run: ({ paths }) => {
      countDiskUse(paths.dataHome, Date.now())
    },
  },
  {
    // After merging, and for what hooks have indexed by themselves.
    name: "list",
    due: isIdle,
    run: ({ paths, ended }) =>
      listVault(paths.dataHome, listDue(paths.stateHome, Date.now()) ? undefined : ended),
  },
  {
    // Last, and with the views closed: a network may keep it waiting.
    name: "sync",
    needs: "network",
    due: (round) => isIdle(round) && isBackgroundSyncDue(round.paths, round.config, Date.now()),
    run: async ({ db, paths, config, isOver }) => {
      db.close()
      await syncInBackground(paths, config, isOver)
      return undefined
    },
  },
]

/** Runs what is due; stops at a stage with more to do than it has done, as requests come first. */
export const runStages = <Work extends Start>(
  stages: readonly TableStep<Work, Permission>[],
  work: Work,
): Promise<"more" | undefined> => runTable(stages, work, (need) => work.permitted.has(need))

/** The views must not contain what the vault has lost. Runs before they are opened, because it rebuilds them. */
function goOnForgetting(paths: PathsAndPolicy): void {
  try {
    resumeForgetting(paths.dataHome, { wait: PATIENCE })
    resumeRedaction(paths.dataHome, PATIENCE)
    // Before the views follow, which would have to be made again.
    fillKnown(paths, PATIENCE)
  } catch (error) {
    logError(paths.stateHome, { event: "forget", error })
  }
}

/** Moves in what hooks had to write elsewhere. Claude Code may have added to those transcripts since. */
function drain({ paths, end, visits }: Start): void {
  const drained = drainSpool(paths, end)
  for (const { error } of drained?.left ?? []) {
    if (error !== undefined) logError(paths.stateHome, { event: "spool", error })
  }
  const transcripts = drained?.transcripts ?? []
  // What hooks recognised meanwhile they may not have been able to note.
  for (const path of transcripts) learn(paths, path)
  if (transcripts.length > 0) visits.push(ownVisit(transcripts))
}

/** Somebody has met damage, perhaps on a page that the job does not read. */
function refuseDamaged(dataHome: string): void {
  const damage = damageOf(dataHome)
  if (damage === undefined) return
  throw isDamage(damage) ? damage : new CtxError("SQLITE_CORRUPT", messageOf(damage))
}

function point(round: Round): void {
  preparePointers(round.db, round.paths, round.config["restore.related"])
  round.isPointed = true
}

/** For the status line. */
function sumUp({ db, paths, config }: Round): void {
  keepUses(paths.dataHome, gatherUses(db, priceList(config["stats.prices"]), Date.now()))
}

/** Only while somebody wants them. */
function remind({ db, paths, config, goOn }: Round): void {
  if (config["recall.actions"]) prepareReminders(db, paths.dataHome, goOn)
  else dropReminders(paths.dataHome)
}

async function summarize(round: Round): Promise<undefined> {
  const { db, paths, config, ended, end, goOn, withoutViews } = round
  const due = dueToday(db, paths, config, noteEnded(db, paths.dataHome, ended, Date.now()))
  if (due.length === 0) return
  const until = { isOver: round.isOver, isWanted: () => hasRequests(paths.dataHome) }
  await withoutViews(() => summarizeEnded(paths, config, due, until))
  catchUp(round.db, paths.dataHome, end, goOn)
  round.isPointed = false
}

/** Git may take seconds for a large repository, once. */
function lookForMoves(round: Round): void {
  const { db, paths, goOn, folders } = round
  round.isMovesFound = true
  try {
    const moves = findMoves(db, paths.dataHome, { folders: [...folders], now: Date.now(), goOn })
    if (moves.joined.length + moves.parted.length === 0) return
    round.isPointed = false
    noteMoves(paths.dataHome, moves)
  } catch (error) {
    if (codeOf(error) === STOPPED || isUnusable(paths.dataHome, error, db)) throw error
    logError(paths.stateHome, { event: "moves", error })
  }
}

function tendTiers(round: Round): void {
  const { db, paths, config, goOn } = round
  // Once, whatever comes of it: what cannot be moved must not keep the rest from being done.
  round.isTended = true
  try {
    tend(db, paths.dataHome, limitsIn(config), Date.now(), goOn)
  } catch (error) {
    if (codeOf(error) === STOPPED || isUnusable(paths.dataHome, error, db)) throw error
    logError(paths.stateHome, { event: "tiers", error })
  }
}

function compact({ paths, ended, end }: Round): void {
  try {
    mergeWhenIdle(paths.dataHome, ended, Date.now(), end)
  } catch (error) {
    logError(paths.stateHome, { event: "compact", error })
  }
}

/*
 * The background job's summaries: of sessions that have ended, with the user's leave (`summaries.auto`), and at most so
 * many a day. A session is taken off the list before the model is asked, so nothing is paid for again and again; only if
 * the job itself has to end meanwhile, it goes back.
 */

interface SummariesToday {
  /** UTC, `2026-03-01`. */
  readonly day: string
  /** How often a model was asked that day. */
  readonly asked: number
  /** Sessions that have ended, the first to end first. */
  readonly waiting: readonly string[]
}

/** Sessions that wait; who ends more while the day's number is used up has `summarize`. */
const MOST_WAITING = 100

const fileOf = (dataHome: string): string => join(dataHome, "summaries.json")

function readToday(dataHome: string, now: number): SummariesToday {
  const day = new Date(now).toISOString().slice(0, 10)
  const known = (readJson(fileOf(dataHome)) ?? {}) as Partial<SummariesToday>
  return { day, asked: known.day === day ? (known.asked ?? 0) : 0, waiting: known.waiting ?? [] }
}

/**
 * Puts sessions on the list.
 *
 * @param ended copies of sessions that have ended
 */
function noteEnded(db: Database, dataHome: string, ended: ReadonlySet<string>, now: number): SummariesToday {
  const today = readToday(dataHome, now)
  const sessions = [...ended].flatMap((copy) => transcriptByCopy(db, copy)?.session ?? [])
  const own = sessions.filter((session) => !session.includes("/") && !today.waiting.includes(session))
  if (own.length === 0) return today
  const next = { ...today, waiting: [...today.waiting, ...own].slice(-MOST_WAITING) }
  writeJson(fileOf(dataHome), next)
  return next
}

/** What the model may be asked today. Sessions that say nothing new are taken off the list. */
function dueToday(
  db: Database,
  place: PathsAndPolicy,
  config: Config,
  today: SummariesToday,
): SessionMaterial[] {
  const most = Math.max(0, config["summaries.daily"] - today.asked)
  if (most === 0 || today.waiting.length === 0) return []
  const due = dueSessions(db, today.waiting, { place, anew: false, most })
  if (due.length === 0) writeJson(fileOf(place.dataHome), { ...today, waiting: [] })
  return due
}

interface Until {
  /** Whether the job is to end at once. */
  readonly isOver: () => boolean
  /** Whether somebody wants something of it, which comes before the next session. */
  readonly isWanted: () => boolean
}

/** Call while the views are closed. */
async function summarizeEnded(
  place: PathsAndPolicy,
  config: Config,
  due: readonly SessionMaterial[],
  { isOver, isWanted }: Until,
): Promise<void> {
  const { dataHome, home, stateHome } = place
  const options = { place, model: config["summaries.model"], isOver, anew: false, now: Date.now }
  try {
    const program = claudeProgram(home)
    await summarizingAlone(dataHome, async () => {
      for (const material of due) {
        if (isOver() || isWanted()) return
        const today = readToday(dataHome, Date.now())
        const waiting = today.waiting.filter((session) => session !== material.session)
        writeJson(fileOf(dataHome), { ...today, asked: today.asked + 1, waiting })
        try {
          await summarizeSession(material, { ...options, program })
        } catch (error) {
          if (isOver()) {
            // It was ended for somebody who waits for the job, not for anything of its own.
            const later = readToday(dataHome, Date.now())
            writeJson(fileOf(dataHome), { ...later, waiting: [material.session, ...later.waiting] })
            return
          }
          // Another session may do better, unless the client itself does not work.
          if (codeOf(error) !== "bad-answer" && codeOf(error) !== "forgotten") throw error
          logError(stateHome, { event: "summaries", error })
        }
      }
    })
  } catch (error) {
    if (codeOf(error) !== "busy" && !isOver()) logError(stateHome, { event: "summaries", error })
  }
}

/* The background job's sync: what the user has allowed with `sync.auto`, in batches, and nobody waits for it. */

/** Code of what ends a sync because the job has other work. */
const INTERRUPTED = "interrupted"

/** Where the user has allowed it to go. */
export const backgroundTargets = (
  { home, dataHome, stateHome }: PathsAndPolicy,
  config: Config,
): readonly NamedTarget[] => configuredTargets(config, { cwd: home, home, dataHome, stateHome })

const isBackgroundSyncDue = (paths: PathsAndPolicy, config: Config, now: number): boolean =>
  config["sync.auto"] !== "off" &&
  isSyncDue(readAutoSync(paths.dataHome), now) &&
  // What is wrong with the configuration is told once it is tried.
  (tryTo(() => backgroundTargets(paths, config))?.length ?? 1) > 0

/**
 * Call while the views are closed.
 *
 * @param isOver whether the job is to end
 * @returns undefined if it was interrupted or failed; why is kept (`readAutoSync`)
 */
export async function syncInBackground(
  paths: PathsAndPolicy,
  config: Config,
  isOver: () => boolean,
): Promise<SyncDone | undefined> {
  const { dataHome, stateHome } = paths
  const before = readAutoSync(dataHome)
  const tried = Date.now()
  let shown = ""
  try {
    const targets = backgroundTargets(paths, config)
    shown = targets[0]!.shown
    const world = {
      place: paths,
      writer: writerName(dataHome),
      look<T>(use: (db: Database) => T): T {
        using db = openCurrent(dataHome, "command")
        return use(db)
      },
      goOn() {
        // Whoever asked for something comes first; what is committed stays.
        if (isOver() || hasRequests(dataHome)) throw new CtxError(INTERRUPTED, "the job has other work")
      },
      follow: () => {},
    }
    const frames = config["sync.auto"] === "frames"
    const done = await withSyncLock(dataHome, () =>
      syncOnce(targets, world, { send: true, all: false, frames, pull: false, newKey: false }),
    )
    noteAutoSync(dataHome, { tried, failures: 0, failure: null })
    return done
  } catch (error) {
    const code = codeOf(error)
    // The next job goes on with it at once; and whoever is syncing by hand does the same work.
    if (code === INTERRUPTED || code === "busy") return undefined
    const since = before.failure?.since ?? new Date(tried).toISOString()
    const hint = (isCtxError(error) ? error.hint : undefined) ?? null
    const failure = { target: shown, code, message: messageOf(error), hint, since }
    noteAutoSync(dataHome, { tried, failures: before.failures + 1, failure })
    logError(stateHome, { event: "sync", error })
    return undefined
  }
}
