/** Decides which copies are merged, and when. One process at a time. */
import { closeSync, rmSync, statSync } from "node:fs"
import { isMissing, messageOf } from "../util/errors.ts"
import { holdLockFile } from "../util/lock.ts"
import { join } from "../util/path.ts"
import { vaultFile } from "./layout.ts"
import { type Compacted, compactCopy, type Layout, layoutOf } from "./merge-frames.ts"
import { replacementOf } from "./swap-copy.ts"
import { vaultFiles } from "./vault-files.ts"

/** The background job skips copies with few frames, with large frames, and those still growing. */
const MANY_FRAMES = 32
const SMALL_FRAME = 64 << 10
const QUIET = 10 * 60_000
/** ms that it spends on merging in one run. */
const LONGEST = 5000

interface CompactedCopy {
  /** Path below `vault/`. */
  readonly copy: string
  readonly frames: number
  readonly merged: number
  readonly before: number
  /** undefined for a dry run or after a failure, as it is known only after merging. */
  readonly after: number | undefined
  readonly error: string | undefined
}

export interface CompactReport {
  readonly ok: boolean
  readonly dryRun: boolean
  readonly copies: number
  readonly before: number
  readonly after: number
  readonly changed: readonly CompactedCopy[]
}

interface CompactOptions {
  readonly dryRun: boolean
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Merges whatever can be merged.
 *
 * @returns undefined if another process is already merging
 */
export function compactVault(
  dataHome: string,
  { dryRun, onProgress }: CompactOptions,
): CompactReport | undefined {
  const files = vaultFiles(dataHome)
  const before = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const run = (): CompactReport => {
    const changed: CompactedCopy[] = []
    let done = 0
    for (const { copy, bytes } of files) {
      const file = vaultFile(dataHome, copy)
      if (!dryRun) rmSync(replacementOf(file), { force: true })
      const layout = layoutOf(file)
      if (layout !== undefined && layout.merged < layout.frames) {
        changed.push(dryRun ? told(copy, layout) : compacted(copy, file, layout))
      }
      done += bytes
      onProgress?.(done, before)
    }
    const saved = changed.reduce(
      (sum, one) => sum + (one.after === undefined ? 0 : one.before - one.after),
      0,
    )
    const ok = changed.every(({ error }) => error === undefined)
    return { ok, dryRun, copies: files.length, before, after: before - saved, changed }
  }
  return dryRun || files.length === 0 ? run() : withCompactLock(dataHome, 0, run)
}

const told = (copy: string, { frames, merged, bytes }: Layout): CompactedCopy => ({
  copy,
  frames,
  merged,
  before: bytes,
  after: undefined,
  error: undefined,
})

function compacted(copy: string, file: string, layout: Layout): CompactedCopy {
  try {
    const done: Compacted | undefined = compactCopy(file)
    if (done !== undefined) {
      const { frames, merged, bytes, after } = done
      return { copy, frames, merged, before: bytes, after, error: undefined }
    }
    return { ...told(copy, layout), error: "another process is writing it" }
  } catch (error) {
    // A damaged copy must not keep the others from being merged.
    return { ...told(copy, layout), error: messageOf(error) }
  }
}

/**
 * The background job's share: merges the worst copies while nobody waits.
 *
 * @param ended paths below `vault/` of copies that need not be quiet, as nobody writes them any more
 * @param now ms since the epoch
 * @param end ms of performance.now() at which to stop
 */
export function compactWhenIdle(
  dataHome: string,
  ended: ReadonlySet<string>,
  now: number,
  end: number,
): void {
  const stop = Math.min(end, performance.now() + LONGEST)
  const quiet = vaultFiles(dataHome).filter(({ copy, bytes }) => {
    // A file too small for that many frames needs no look.
    if (bytes < MANY_FRAMES * 128) return false
    if (ended.has(copy)) return true
    const { mtimeMs } = statSync(vaultFile(dataHome, copy), { throwIfNoEntry: false }) ?? { mtimeMs: now }
    return now - mtimeMs > QUIET
  })
  if (quiet.length === 0) return
  withCompactLock(dataHome, 0, () => {
    for (const { copy } of quiet) {
      if (performance.now() >= stop) return
      const file = vaultFile(dataHome, copy)
      const layout = layoutOf(file)
      if (layout !== undefined && isWorthIt(layout)) {
        rmSync(replacementOf(file), { force: true })
        try {
          compactCopy(file)
        } catch {
          // A damaged copy must not keep the others from being merged; `verify` and `compact` report it.
        }
      }
    }
  })
}

const isWorthIt = ({ frames, merged, bytes }: Layout): boolean =>
  frames > MANY_FRAMES && bytes / frames < SMALL_FRAME && merged < frames

/**
 * Runs `work` under the lock that everyone who replaces copies must hold.
 *
 * @param wait ms to wait for another process that holds it
 * @returns undefined if another process held it throughout, or there is no archive
 */
export function withCompactLock<T>(dataHome: string, wait: number, work: () => T): T | undefined {
  let fd: number | undefined
  try {
    fd = holdLockFile(join(dataHome, "compact.lock"), wait)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  if (fd === undefined) return undefined
  try {
    return work()
  } finally {
    closeSync(fd)
  }
}
