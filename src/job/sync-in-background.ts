/** The background job's sync: what the user has allowed with `sync.auto`, in batches, and nobody waits for it. */

import { CtxError, codeOf, isCtxError, messageOf } from "../base/errors.ts"
import { tryTo } from "../base/files.ts"
import { logError } from "../base/log.ts"
import type { PathsAndPolicy } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { isSyncDue, noteAutoSync, readAutoSync } from "../sync/sync-again.ts"
import { writerName } from "../sync/sync-ledger.ts"
import { type SyncDone, syncOnce, withSyncLock } from "../sync/sync-once.ts"
import type { NamedTarget } from "../sync/targets/open-target.ts"
import { configuredTargets } from "../sync/targets.ts"
import type { Database } from "../views/database.ts"
import { openCurrent } from "../views/open-current.ts"
import { hasRequests } from "./requests.ts"

/** Code of what ends a sync because the job has other work. */
const INTERRUPTED = "interrupted"

/** Where the user has allowed it to go. */
export const backgroundTargets = (
  { home, dataHome, stateHome }: PathsAndPolicy,
  config: Config,
): readonly NamedTarget[] => configuredTargets(config, { cwd: home, home, dataHome, stateHome })

export const isBackgroundSyncDue = (paths: PathsAndPolicy, config: Config, now: number): boolean =>
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
