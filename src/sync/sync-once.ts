/** One sync with one target, from the first call to the last. */

import { closeSync, mkdirSync } from "node:fs"
import { CtxError, codeOf, EXIT, throwBusy, usageError } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { holdLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { runTable, type TableStep } from "../base/step-table.ts"
import { isOthersCopy } from "../vault/layout.ts"
import { type FetchedFrames, fetchFrames } from "./fetch-frames.ts"
import { NOTHING_SENT, type SentFrames, sendFrames } from "./send-frames.ts"
import { noCounts, type SyncReport, syncArchive } from "./sync-archive.ts"
import { FrameState, Ledger, noteSync, syncFolder } from "./sync-ledger.ts"
import { fillerFor, fillsOf, type OthersThere, type SyncWorld } from "./sync-steps.ts"
import type { NamedTarget } from "./targets/open-target.ts"
import type { LineFills } from "./targets/pieces.ts"
import type { DamagedFile, FolderState, FrameStore, Target, TargetStats } from "./targets/target.ts"

export interface SyncWanted {
  /** Turns, and what was forgotten. */
  readonly send: boolean
  /** Look at every turn again. */
  readonly all: boolean
  /** The vault's bytes, too. */
  readonly frames: boolean
  /** What other machines have sent of theirs. */
  readonly pull: boolean
  /** Takes a folder as it is now, or makes a new key for it. */
  readonly newKey: boolean
}

export interface SyncDone {
  /** The one that answered. */
  readonly target: NamedTarget
  readonly report: SyncReport
  readonly frames: SentFrames | null
  readonly fetched: FetchedFrames | null
  readonly there: TargetStats
  /** Files there that cannot be read in part and are not this machine's to mend, unless that was told before. */
  readonly damagedIn: readonly DamagedFile[]
  /** This machine's own, of which it has taken out what could not be read. */
  readonly mendedIn: readonly DamagedFile[]
  /** null: it is no folder. */
  readonly folder: FolderState | null
}

interface OnceWorld extends SyncWorld {
  /** Brings the views up to date with what was fetched. */
  readonly follow: () => void
  /** Called for each target that does not answer, with the one that is tried next. */
  readonly onPassed?: (error: unknown, next: NamedTarget) => void
  /** Name of this archive at targets. */
  readonly writer: string
}

/** What a sync was called with, and what its steps have found and done. */
class Sync {
  readonly targets: readonly NamedTarget[]
  readonly world: OnceWorld
  readonly wanted: SyncWanted
  /** Whether there is an archive, and it is sent. */
  sends: boolean
  // Of the step `open`.
  named!: NamedTarget
  opened: Target | undefined
  /** Targets that did not answer. */
  readonly passed: { readonly target: string; readonly code: string }[] = []
  ledger!: Ledger
  state!: FrameState
  // Of those that follow.
  fetched: FetchedFrames | null = null
  others!: Others
  report: SyncReport = noCounts()
  frames: SentFrames | undefined
  there!: TargetStats
  damagedIn: readonly DamagedFile[] = []

  constructor(targets: readonly NamedTarget[], world: OnceWorld, wanted: SyncWanted) {
    this.targets = targets
    this.world = world
    this.wanted = wanted
    this.sends = wanted.send
  }

  get target(): Target {
    return this.opened!
  }
}

const sends = ({ sends }: Sync): boolean => sends

/** In this order. */
export const SYNC_STEPS: readonly TableStep<Sync, keyof SyncWanted>[] = [
  // A folder that is not what it was ends it here: nothing was read or written.
  { name: "open", run: open },
  // Before anything is sent: what is fetched is not sent back.
  { name: "fetch", needs: "pull", run: fetchTheirs },
  // What others have taken out must not be sent.
  { name: "meet", run: meet },
  // What was forgotten, then turns.
  { name: "entries", due: sends, run: entries },
  { name: "frames", needs: "frames", due: sends, run: frames },
  // What others have forgotten leaves what this machine keeps there, even if it sends no frames.
  { name: "tidy", needs: "send", due: ({ frames }) => frames === undefined, run: tidy },
  { name: "count", run: countThere },
  { name: "note", needs: "send", run: note },
  // Once, because only another machine can mend it.
  { name: "tell", run: tell },
]

/**
 * Call with `sync.lock`.
 *
 * @param targets at least one; the first that answers counts
 * @throws CtxError that of the last one, if none answers
 */
export async function syncOnce(
  targets: readonly NamedTarget[],
  world: OnceWorld,
  wanted: SyncWanted,
): Promise<SyncDone> {
  const sync = new Sync(targets, world, wanted)
  try {
    await runTable(SYNC_STEPS, sync, (need) => wanted[need] === true)
    const { named, report, fetched, there, damagedIn, target } = sync
    const frames = wanted.frames ? (sync.frames ?? NOTHING_SENT) : null
    const [folder, mendedIn] = [target.folder ?? null, target.mendedIn?.() ?? []]
    return { target: named, report, frames, fetched, there, folder, damagedIn, mendedIn }
  } finally {
    await sync.opened?.close()
  }
}

async function open(sync: Sync): Promise<void> {
  const { targets, world, wanted, passed } = sync
  for (const [n, named] of targets.entries()) {
    // Whoever only fetches makes nothing: what was sent there may still be on its way.
    const isReader = ["folder", "postgres"].includes(named.kind) && !wanted.send && !wanted.newKey
    sync.named = named
    try {
      sync.opened = await (isReader ? openToFetch(named) : named.open())
      break
    } catch (error) {
      const next = targets[n + 1]
      if (next === undefined) throw error
      passed.push({ target: named.shown, code: codeOf(error) })
      world.onPassed?.(error, next)
    }
  }
  const { target, named } = sync
  if (target.frames === undefined && (wanted.frames || wanted.pull))
    throw usageError(`${named.shown} keeps no frames`, "a folder and a PostgreSQL server do")
  sync.ledger = new Ledger(world.place.dataHome, target.id)
  sync.state = new FrameState(world.place.dataHome, target.id)
}

async function fetchTheirs(sync: Sync): Promise<void> {
  const { target, state, world } = sync
  sync.fetched = await fetchFrames(target.frames!, state, world, world.writer)
  if (sync.fetched.pieces > 0) world.follow()
  // A new machine that fetches need have nothing yet.
  sync.sends &&= hasArchive(world)
}

async function meet(sync: Sync): Promise<void> {
  sync.others = new Others(sync.target.frames, sync.state)
  await sync.others.look()
}

async function entries(sync: Sync): Promise<void> {
  const { target, ledger, world, wanted, others } = sync
  sync.report = await syncArchive(target, ledger, { ...world, others }, wanted.all)
  // What cannot be read now has to be looked at again.
  if (sync.report.unreadable === 0) others.noteSeen()
}

async function frames(sync: Sync): Promise<void> {
  const { target, state, world, wanted } = sync
  sync.frames = await sendFrames(target.frames!, state, world, world.writer, wanted.all)
}

async function tidy({ target }: Sync): Promise<void> {
  await target.frames?.put([])
}

async function countThere(sync: Sync): Promise<void> {
  sync.there = await sync.target.stats()
}

function note({ named, target, world, passed }: Sync): void {
  const { kind, shown } = named
  const time = new Date().toISOString()
  const told = passed.length > 0 ? { passed } : {}
  const encrypted = target.folder?.encrypted
  const how = encrypted === undefined ? {} : { encrypted }
  noteSync(world.place.dataHome, { kind, target: shown, id: target.id, time, ...how, ...told })
}

function tell(sync: Sync): void {
  const { there, fetched, state, wanted } = sync
  const damaged = [...(there.damagedIn ?? []), ...(fetched?.damagedIn ?? [])]
  sync.damagedIn = newlyDamaged(state, damaged, wanted)
}

/** What text others have taken out of lines, and whose copies they send, as this sync sees it. */
class Others implements OthersThere {
  readonly #frames: FrameStore | undefined
  readonly #state: FrameState
  #fills: readonly LineFills[] = []

  constructor(frames: FrameStore | undefined, state: FrameState) {
    this.#frames = frames
    this.#state = state
  }

  async look(): Promise<void> {
    this.#fills = (await this.#frames?.fills()) ?? []
  }

  get fillsStamp(): string {
    return Bun.hash.xxHash64(JSON.stringify(this.#fills)).toString(36)
  }

  fillerFor(session: string): ((line: Uint8Array) => Uint8Array) | undefined {
    return fillsOf(this.#fills, session).length > 0 ? fillerFor(this.#fills, session) : undefined
  }

  get newlyFilled(): readonly string[] {
    return this.fillsStamp === this.#state.fills ? [] : this.#fills.map(({ session }) => session)
  }

  isTheirs(copy: string): boolean {
    // What others may have written is not passed on to where all counts as the user's own.
    return this.#state.isTheirs(copy) || ((this.#frames?.isOwn ?? true) && isOthersCopy(copy))
  }

  /** Notes that the turns were looked at with all that was taken out. */
  noteSeen(): void {
    if (this.fillsStamp === this.#state.fills) return
    this.#state.fills = this.fillsStamp
    this.#state.save()
  }
}

/** What is damaged there as it was not at the last look. Told once, because only another machine can mend it. */
function newlyDamaged(
  state: FrameState,
  files: readonly DamagedFile[],
  { all, pull }: SyncWanted,
): readonly DamagedFile[] {
  const nameOf = ({ file, lines }: DamagedFile): string => `${lines} ${file}`
  const now = new Set(files.map(nameOf))
  // Only who fetches looks at the frames.
  const unseen = state.told.filter((name) => !pull && / frames\//i.test(name))
  const told = [...new Set([...unseen, ...now])]
  const news = files.filter((one) => all || !state.told.includes(nameOf(one)))
  if (!Bun.deepEquals(told, state.told)) {
    state.told = told
    state.save()
  }
  return news
}

async function openToFetch(named: NamedTarget): Promise<Target> {
  try {
    return await named.openToRead(PATIENCE)
  } catch (error) {
    const isThere =
      named.kind === "postgres"
        ? // Of a database that is not there, the server says so.
          (error as CtxError).cause === undefined
        : statsOf(named.shown)?.isDirectory() === true
    throw codeOf(error) === "target-missing" && isThere ? noFrames(named.shown) : error
  }
}

/** ms for one call to a server. */
const PATIENCE = 30_000

/** What to do where no machine has sent the bytes of its vault. */
export const noFrames = (shown: string): CtxError =>
  new CtxError("no-frames", `no machine has sent frames to ${shown}`, {
    hint: "run ctxbridge sync --frames there, on the machine that has them",
    exit: EXIT.notFound,
  })

function hasArchive({ look }: SyncWorld): boolean {
  try {
    look(() => {})
    return true
  } catch (error) {
    if (codeOf(error) !== "no-archive") throw error
    return false
  }
}

/** @throws CtxError `busy` */
export async function withSyncLock<T>(dataHome: string, work: () => Promise<T>): Promise<T> {
  mkdirSync(syncFolder(dataHome), { recursive: true, mode: 0o700 })
  const lock = holdLockFile(join(dataHome, "sync.lock"), 0)
  if (lock === undefined) throwBusy("another sync of this archive is under way")
  try {
    return await work()
  } finally {
    closeSync(lock)
  }
}
