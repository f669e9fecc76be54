/**
 * When to sync again. For `--watch`: whenever the archive has changed, and in any case now and then. In the background: only
 * with the user's leave, at most every few minutes, and ever more seldom while the target fails. What went wrong there is
 * kept until a sync succeeds, for `status` and `doctor`.
 */
import { CtxError, codeOf, EXIT, isCtxError } from "../base/errors.ts"
import { statsOf } from "../base/files.ts"
import { readJson, writeJson } from "../base/json-files.ts"
import { join } from "../base/path.ts"
import { syncFolder } from "./sync-ledger.ts"

const SECOND = 1000
const MINUTE = 60 * SECOND
/** ms between two looks at the archive. */
export const POLL = 3 * SECOND
/** ms after which to sync although nothing changed here: others may have sent or forgotten something. */
const AT_LEAST = 60 * SECOND
/** ms to wait after the first failure, and at most; each pause is twice as long as the one before. */
const FIRST_PAUSE = 5 * SECOND
const LONGEST_PAUSE = 300 * SECOND

/** Code of what ends a sync because the watch is over. */
const STOPPED_WATCHING = "stopped-watching"

export interface SyncLoop {
  sync(): Promise<void>
  /** Another one whenever something may have changed. */
  signature(): string
  isOver(): boolean
  /** Returns early when it is over. */
  sleep(ms: number): Promise<void>
  /** Called with each failure, and the ms until the next attempt. */
  onFailure(error: unknown, pause: number): void
  /** In ms, ever growing. */
  now(): number
}

/** @throws what no waiting mends */
export async function syncAgain({ sync, signature, isOver, sleep, onFailure, now }: SyncLoop): Promise<void> {
  let failures = 0
  while (!isOver()) {
    const seen = signature()
    const began = now()
    try {
      await sync()
      failures = 0
    } catch (error) {
      if (codeOf(error) === STOPPED_WATCHING) return
      if (isHopeless(error)) throw error
      const pause = pauseAfterFailure(failures++)
      onFailure(error, pause)
      await sleep(pause)
      continue
    }
    while (!isOver() && signature() === seen && now() - began < AT_LEAST) await sleep(POLL)
  }
}

export const pauseAfterFailure = (failures: number): number =>
  Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(failures, 10))

/** What stays wrong until somebody changes the command, or the target's description. */
const HOPELESS = [
  ...["target-locked", "target-plain", "target-changed", "target-newer", "target-damaged"],
  "passphrase-unreadable",
]

const isHopeless = (error: unknown): boolean =>
  isCtxError(error)
    ? error.exit === EXIT.usage || HOPELESS.includes(error.code)
    : // The system's errors have a code: a stick was pulled out.
      codeOf(error) === ""

/** Whatever archives, indexes or forgets changes one of these. */
export const archiveSignature = (dataHome: string): string =>
  ["archive.db", "archive.db-wal", "pending", "forgotten"]
    .map((name) => statsOf(join(dataHome, name)))
    .map((stats) => (stats === undefined ? "" : `${stats.mtimeMs} ${stats.size}`))
    .join()

export const stoppedWatching = (): CtxError => new CtxError(STOPPED_WATCHING, "stopped")

/** ms between two syncs in the background, and at most while the target fails. */
const EVERY = 5 * MINUTE
const SELDOM = 60 * MINUTE

export interface SyncFailure {
  /** As shown to people. */
  readonly target: string
  readonly code: string
  readonly message: string
  readonly hint: string | null
  /** ISO 8601, since when it fails. */
  readonly since: string
}

interface AutoSync {
  /** When it was last tried, in ms since the epoch. */
  readonly tried: number
  readonly failures: number
  readonly failure: SyncFailure | null
}

const fileOf = (dataHome: string): string => join(syncFolder(dataHome), "auto.json")

export function readAutoSync(dataHome: string): AutoSync {
  const { tried = 0, failures = 0, failure = null } = (readJson(fileOf(dataHome)) ?? {}) as Partial<AutoSync>
  return { tried, failures, failure }
}

export const noteAutoSync = (dataHome: string, state: AutoSync): void => writeJson(fileOf(dataHome), state)

/** ms to wait after this many failures in a row. */
export const pauseAfter = (failures: number): number => Math.min(SELDOM, EVERY * 2 ** Math.min(failures, 10))

/** Whether to try; a clock that was set back does not keep it from trying. */
export const isSyncDue = ({ tried, failures }: AutoSync, now: number): boolean =>
  now < tried || now - tried >= pauseAfter(failures)
