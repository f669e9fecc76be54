/** One sync with one target, from the first call to the last: what was forgotten, turns, and the vault's bytes. */
import { closeSync, mkdirSync } from "node:fs"
import type { Backend, BackendStats, DamagedFile, FolderState } from "../backends/backend.ts"
import { NO_FRAMES } from "../backends/frame-store.ts"
import type { Target } from "../backends/open-target.ts"
import { CtxError, codeOf, EXIT, throwBusy, usageError } from "../util/errors.ts"
import { statsOf } from "../util/files.ts"
import { holdLockFile } from "../util/lock.ts"
import { join } from "../util/path.ts"
import { isOthersCopy } from "../vault/layout.ts"
import { type FetchedFrames, fetchFrames } from "./fetch-frames.ts"
import { type OnPassed, openFirst } from "./first-target.ts"
import { FrameState } from "./frame-state.ts"
import { fillerFor, fillsOf } from "./piece-frames.ts"
import { NOTHING_SENT, type SentFrames, sendFrames } from "./send-frames.ts"
import { noCounts, type SyncReport, type SyncWorld, syncArchive } from "./sync-archive.ts"
import { Ledger, noteSync, syncFolder } from "./sync-ledger.ts"

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
  readonly target: Target
  readonly report: SyncReport
  readonly frames: SentFrames | null
  readonly fetched: FetchedFrames | null
  readonly there: BackendStats
  /** Files there that cannot be read in part and are not this machine's to mend, unless that was told before. */
  readonly damagedIn: readonly DamagedFile[]
  /** This machine's own, of which it has taken out what could not be read. */
  readonly mendedIn: readonly DamagedFile[]
  /** null: it is no folder. */
  readonly folder: FolderState | null
}

/** Brings the views up to date with what was fetched. */
interface OnceWorld extends SyncWorld {
  readonly follow: () => void
  readonly onPassed?: OnPassed
  /** Name of this archive at targets. */
  readonly writer: string
}

/**
 * Call with `sync.lock`.
 *
 * @param targets the first that answers counts
 */
export async function syncOnce(
  targets: readonly Target[],
  world: OnceWorld,
  wanted: SyncWanted,
): Promise<SyncDone> {
  const { dataHome } = world.place
  // Whoever only fetches makes nothing: what was sent there may still be on its way.
  const isReader = ({ kind }: Target): boolean => kind === "folder" && !wanted.send && !wanted.newKey
  const open = (one: Target): Promise<Backend> => (isReader(one) ? openToFetch(one) : one.open())
  const { target, backend, passed } = await openFirst(targets, open, world.onPassed)
  try {
    if (target.openFrames === undefined && (wanted.frames || wanted.pull))
      throw usageError(`${target.shown} keeps no frames`, "a folder and a PostgreSQL server do")
    const ledger = new Ledger(dataHome, backend.id)
    const state = new FrameState(dataHome, backend.id)
    const store = (await target.openFrames?.(isReader(target))) ?? NO_FRAMES
    try {
      const fetched = wanted.pull ? await fetchFrames(store, state, world, world.writer) : null
      if (fetched !== null && fetched.pieces > 0) world.follow()
      let fills = await store.fills()
      const hash = (): string => Bun.hash.xxHash64(JSON.stringify(fills)).toString(36)
      const sending: SyncWorld = {
        ...world,
        fillsStamp: hash,
        fillerFor: (session) => (fillsOf(fills, session).length > 0 ? fillerFor(fills, session) : undefined),
        newlyFilled: () => (hash() === state.fills ? [] : fills.map(({ session }) => session)),
        // What others may have written is not passed on to where all counts as the user's own.
        isTheirs: (copy) => state.isTheirs(copy) || (store.isOwn && isOthersCopy(copy)),
        async alsoForget(sessions, texts) {
          await store.forget(sessions, texts)
          // Before any turn is looked at.
          fills = await store.fills()
        },
      }
      // A new machine that fetches need have nothing yet.
      const sends = wanted.send && (!wanted.pull || hasArchive(world))
      const report = sends ? await syncArchive(backend, ledger, sending, wanted.all) : noCounts()
      if (sends && hash() !== state.fills) {
        state.fills = hash()
        state.save()
      }
      const sent =
        sends && wanted.frames ? await sendFrames(store, state, sending, world.writer, wanted.all) : undefined
      const frames = wanted.frames ? (sent ?? NOTHING_SENT) : null
      if (sent === undefined && wanted.send) await store.put([])
      const there = await backend.stats()
      if (wanted.send) {
        const { kind, shown } = target
        const time = new Date().toISOString()
        const told = passed.length > 0 ? { passed } : {}
        const encrypted = backend.folder?.encrypted
        const how = encrypted === undefined ? {} : { encrypted }
        noteSync(dataHome, { kind, target: shown, id: backend.id, time, ...how, ...told })
      }
      const damagedIn = newlyDamaged(
        state,
        [...(there.damagedIn ?? []), ...(fetched?.damagedIn ?? [])],
        wanted,
      )
      const mendedIn = [...(backend.mendedIn?.() ?? []), ...(store.mendedIn?.() ?? [])]
      const folder = backend.folder ?? null
      return { target, report, frames, fetched, there, folder, damagedIn, mendedIn }
    } finally {
      await store.close()
    }
  } finally {
    await backend.close()
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

async function openToFetch(target: Target): Promise<Backend> {
  try {
    return await target.openToRead(PATIENCE)
  } catch (error) {
    const isEmpty = codeOf(error) === "target-missing" && statsOf(target.shown)?.isDirectory() === true
    throw isEmpty ? noFrames(target.shown) : error
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
