/** The background job's sync: what the user has allowed with `sync.auto`, in batches, and nobody waits for it. */
import { openForReading } from "../archive/open-for-reading.ts"
import { backendNamed } from "../backends/open-target.ts"
import { type PathsAndPolicy, serverVariables, syncTarget } from "../config/load.ts"
import type { Config } from "../config/options.ts"
import { isSyncDue, noteAutoSync, readAutoSync } from "../sync/auto-sync.ts"
import { readPassphrase } from "../sync/passphrase.ts"
import { syncOnce, withSyncLock } from "../sync/sync-once.ts"
import { writerName } from "../sync/writer-name.ts"
import { CtxError, codeOf, isCtxError, messageOf } from "../util/errors.ts"
import { logError } from "../util/log.ts"
import { hasRequests } from "./requests.ts"

/** Code of what ends a sync because the job has other work. */
const INTERRUPTED = "interrupted"

/** What the user has allowed, and where to. */
const targetOf = (paths: PathsAndPolicy, config: Config): string | undefined =>
  config["sync.auto"] === "off" ? undefined : syncTarget(config["sync.to"], paths.home)

export const isBackgroundSyncDue = (paths: PathsAndPolicy, config: Config, now: number): boolean =>
  targetOf(paths, config) !== undefined && isSyncDue(readAutoSync(paths.dataHome), now)

/**
 * Call while the views are closed.
 *
 * @param isOver whether the job is to end
 */
export async function syncInBackground(
  paths: PathsAndPolicy,
  config: Config,
  isOver: () => boolean,
): Promise<void> {
  const { dataHome, stateHome } = paths
  const before = readAutoSync(dataHome)
  const tried = Date.now()
  let shown = ""
  try {
    const named = targetOf(paths, config)!
    const writer = writerName(dataHome)
    const passphrase = () => readPassphrase(config["sync.passphrase-file"], paths.home)
    const place = {
      cwd: paths.home,
      dataHome,
      variables: serverVariables(),
      writer: () => writer,
      passphrase,
    }
    const target = backendNamed(named, place)
    shown = target.shown
    const world = {
      place: paths,
      writer,
      look<T>(use: (db: ReturnType<typeof openForReading>) => T): T {
        using db = openForReading(dataHome)
        return use(db)
      },
      goOn() {
        // Whoever asked for something comes first; what is committed stays.
        if (isOver() || hasRequests(dataHome)) throw new CtxError(INTERRUPTED, "the job has other work")
      },
      follow: () => {},
    }
    const frames = config["sync.auto"] === "frames"
    await withSyncLock(dataHome, () =>
      syncOnce(target, world, { send: true, all: false, frames, pull: false }),
    )
    noteAutoSync(dataHome, { tried, failures: 0, failure: null })
  } catch (error) {
    const code = codeOf(error)
    // The next job goes on with it at once; and whoever is syncing by hand does the same work.
    if (code === INTERRUPTED || code === "busy") return
    const since = before.failure?.since ?? new Date(tried).toISOString()
    const hint = (isCtxError(error) ? error.hint : undefined) ?? null
    const failure = { target: shown, code, message: messageOf(error), hint, since }
    noteAutoSync(dataHome, { tried, failures: before.failures + 1, failure })
    logError(stateHome, { event: "sync", error })
  }
}
