/**
 * When the background job syncs: only with the user's leave, at most every few minutes, and ever more seldom while the
 * target fails. What went wrong is kept until a sync succeeds, for `status` and `doctor`.
 */

import { readJson, writeJson } from "../util/json-files.ts"
import { join } from "../util/path.ts"
import { syncFolder } from "./sync-ledger.ts"

const MINUTE = 60_000
/** ms between two syncs, and at most while the target fails. */
const EVERY = 5 * MINUTE
const LONGEST = 60 * MINUTE

export interface SyncFailure {
  /** As shown to people. */
  readonly target: string
  readonly code: string
  readonly message: string
  readonly hint: string | null
  /** ISO 8601, since when it fails. */
  readonly since: string
}

export interface AutoSync {
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
export const pauseAfter = (failures: number): number => Math.min(LONGEST, EVERY * 2 ** Math.min(failures, 10))

/** Whether to try; a clock that was set back does not keep it from trying. */
export const isSyncDue = ({ tried, failures }: AutoSync, now: number): boolean =>
  now < tried || now - tried >= pauseAfter(failures)
