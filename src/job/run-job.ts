/**
 * The background job: everything hooks had no time for (stages.ts). One runs at a time, at low priority, until nothing
 * is left. Killing it loses nothing, because each slice is committed separately.
 */

import { closeSync } from "node:fs"
import { setPriority } from "node:os"
import { CtxError, codeOf, messageOf } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { beforeMaking, mkdirSync } from "../base/fs.ts"
import { holdLockFile } from "../base/lock.ts"
import { logError } from "../base/log.ts"
import { loadSettings, type Paths, type PathsAndPolicy } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { withOwnPatterns } from "../config/own-patterns.ts"
import { vaultPath } from "../vault/layout.ts"
import { type Database, databasePath } from "../views/database.ts"
import { open } from "../views/open.ts"
import { openCurrent } from "../views/open-current.ts"
import { lastRepair, rebuild } from "../views/rebuild-views.ts"
import { isUnusable } from "../views/schema-shape.ts"
import { Embedding } from "./embedding.ts"
import { fillKnown } from "./fill-known.ts"
import { visitOf } from "./request-visits.ts"
import { hasRequests, isAskedToStop, jobLock, recoverRequests, STOPPED, takeRequests } from "./requests.ts"
import {
  AFTER,
  BEFORE,
  PATIENCE,
  type Permission,
  ROUND,
  type Round,
  runStages,
  type Start,
} from "./stages.ts"

/** The job gives up after this long; the next hook starts another. */
const LONGEST = 10 * 60_000
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
      fillKnown(paths, PATIENCE)
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

async function work(paths: PathsAndPolicy, config: Config, ground: Ground): Promise<void> {
  const permitted = new Set<Permission>([
    ...(config["sync.auto"] === "off" ? [] : ["network" as const]),
    ...(config["summaries.auto"] === "off" ? [] : ["model" as const]),
  ])
  const start: Start = { paths, end: performance.now() + LONGEST, permitted, visits: [] }
  await runStages(BEFORE, start)
  const ended = new Set<string>()
  const embedding =
    config["search.meaning"] === "auto" ? new Embedding(paths, () => ground.isOver) : undefined
  const first = {
    now: performance.now(),
    accepted: [],
    isPointed: false,
    isMovesFound: false,
    isTended: false,
    folders: new Set<string>(),
  }
  const round: Round = {
    ...{ ...start, ...first, config, embedding, ended, db: opened(paths) },
    goOn: () => ground.goOn(),
    isOver: () => ground.isOver || performance.now() >= start.end,
    async withoutViews(action) {
      round.db.close()
      await action()
      round.db = reopened(paths, ground)
      return undefined
    },
  }
  ground.noteDatabase()
  let mended = false
  try {
    for (;;) {
      round.goOn()
      accept(round, ended)
      try {
        if ((await runStages(ROUND, round)) === "more") {
          round.db.close()
          await Bun.sleep(GAP)
          round.db = reopened(paths, ground)
          continue
        }
      } catch (error) {
        // Whoever waits to replace the views lets nobody in, and would wait for us while we wait for them.
        round.db.close()
        if (mended || ground.isOver || !isUnusable(paths.dataHome, error)) throw error
        // Repair only once: a disk that damages every write must not keep the job running.
        mended = true
        round.isTended = false
        logError(paths.stateHome, { event: "job", error })
        rebuild(paths.dataHome, { now: Date.now(), wait: PATIENCE, reason: messageOf(error) })
        round.db = reopened(paths, ground)
        continue
      }
      if (round.visits.length === 0 || performance.now() >= round.end) {
        await runStages(AFTER, round)
        return
      }
      await Bun.sleep(POLL)
    }
  } finally {
    round.db.close()
  }
}

/** Takes the requests that have come. */
function accept(round: Round, ended: Set<string>): void {
  round.now = performance.now()
  round.accepted = takeRequests(round.paths.dataHome)
  if (round.accepted.length > 0) {
    round.isPointed = false
    round.isMovesFound = false
  }
  for (const one of round.accepted) {
    round.visits.push(visitOf(one, round.now))
    if (one.request.folder !== undefined) round.folders.add(one.request.folder)
    if (!one.request.settle) continue
    for (const path of one.request.transcripts) ended.add(vaultPath(path, round.paths.home))
  }
}

/** Opens the views, and logs it if they had to be rebuilt. */
function opened(paths: PathsAndPolicy): Database {
  const before = lastRepair(paths.dataHome)?.time
  const db = openCurrent(paths.dataHome, "job")
  const repair = lastRepair(paths.dataHome)
  if (repair !== undefined && repair.time !== before) {
    logError(paths.stateHome, { event: "repair", error: new CtxError("repaired", repair.reason) })
  }
  return db
}

function reopened({ dataHome }: PathsAndPolicy, ground: Ground): Database {
  ground.holdFolder()
  const db = open(dataHome, "write")
  ground.noteDatabase()
  return db
}

/*
 * What the job stands on: the data folder and the database that were there when it began. Whoever removes them wants
 * nothing of them back, so the job ends, and makes no folder on its way.
 */

class Ground {
  readonly #dataHome: string
  readonly #stateHome: string
  readonly #folder: string | undefined
  #database: string | undefined

  constructor({ dataHome, stateHome }: Pick<Paths, "dataHome" | "stateHome">) {
    this.#dataHome = dataHome
    this.#stateHome = stateHome
    this.#folder = fileAt(dataHome)
    // Between two looks there may be 300 ms of work that makes missing folders.
    beforeMaking(() => this.holdFolder())
  }

  /** Call whenever the database has been opened: others may replace it in between. */
  noteDatabase(): void {
    this.#database = fileAt(databasePath(this.#dataHome))
  }

  get isGone(): boolean {
    return this.#folder === undefined || fileAt(this.#dataHome) !== this.#folder
  }

  /** @throws CtxError `stopped` if the data folder is gone */
  holdFolder(): void {
    if (this.isGone) throw new CtxError(STOPPED, "the data folder has been removed")
  }

  /** Whether the job is to end. */
  get isOver(): boolean {
    return (
      this.isGone || fileAt(databasePath(this.#dataHome)) !== this.#database || isAskedToStop(this.#stateHome)
    )
  }

  /** @throws CtxError `stopped` if the job is to end */
  goOn(): void {
    if (this.isOver) throw new CtxError(STOPPED, "somebody has asked the job to end, or removed its files")
  }
}

/** Tells files apart that have had the same path. */
function fileAt(path: string): string | undefined {
  const stats = statsOf(path)
  return stats && `${stats.dev}:${stats.ino}`
}
