/** Decides which copies are merged, and when. One process at a time. */

import { closeSync, fstatSync, rmSync, statSync } from "node:fs"
import { isMissing, messageOf } from "../base/errors.ts"
import { holdLockFile } from "../base/lock.ts"
import { join } from "../base/path.ts"
import { readExactly, readTail, type Segment, writeFully } from "./copy-file.ts"
import { vaultFile } from "./layout.ts"
import { withCopy } from "./reader.ts"
import { copyFrame, provenContent, replacementOf, swapCopy, wholeChain, writeFrame } from "./rewrite.ts"
import { vaultFiles } from "./vault-files.ts"

/** The background job skips copies with few frames, with large frames, and those still growing. */
const MANY_FRAMES = 32
const SMALL_FRAME = 64 << 10
const QUIET = 10 * 60_000
/** ms that it spends on merging in one run. */
const LONGEST = 5000

interface MergedCopy {
  /** Path below `vault/`. */
  readonly copy: string
  readonly frames: number
  readonly merged: number
  readonly before: number
  /** undefined for a dry run or after a failure, as it is known only after merging. */
  readonly after: number | undefined
  readonly error: string | undefined
}

export interface MergeReport {
  readonly ok: boolean
  readonly dryRun: boolean
  readonly copies: number
  readonly before: number
  readonly after: number
  readonly changed: readonly MergedCopy[]
}

interface MergeOptions {
  readonly dryRun: boolean
  readonly onProgress?: (done: number, total: number) => void
}

/**
 * Merges whatever can be merged.
 *
 * @returns undefined if another process is already merging
 */
export function mergeFrames(dataHome: string, { dryRun, onProgress }: MergeOptions): MergeReport | undefined {
  const files = vaultFiles(dataHome)
  const before = files.reduce((sum, { bytes }) => sum + bytes, 0)
  const run = (): MergeReport => {
    const changed: MergedCopy[] = []
    let done = 0
    for (const { copy, bytes } of files) {
      const file = vaultFile(dataHome, copy)
      if (!dryRun) rmSync(replacementOf(file), { force: true })
      const layout = layoutOf(file)
      if (layout !== undefined && layout.merged < layout.frames) {
        changed.push(dryRun ? told(copy, layout) : mergedCopy(copy, file, layout))
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
  return dryRun || files.length === 0 ? run() : withReplacingLock(dataHome, 0, run)
}

const told = (copy: string, { frames, merged, bytes }: Layout): MergedCopy => ({
  copy,
  frames,
  merged,
  before: bytes,
  after: undefined,
  error: undefined,
})

function mergedCopy(copy: string, file: string, layout: Layout): MergedCopy {
  try {
    const done: Merged | undefined = mergeFramesOf(file)
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
export function mergeWhenIdle(dataHome: string, ended: ReadonlySet<string>, now: number, end: number): void {
  const stop = Math.min(end, performance.now() + LONGEST)
  const quiet = vaultFiles(dataHome).filter(({ copy, bytes }) => {
    // A file too small for that many frames needs no look.
    if (bytes < MANY_FRAMES * 128) return false
    if (ended.has(copy)) return true
    const { mtimeMs } = statSync(vaultFile(dataHome, copy), { throwIfNoEntry: false }) ?? { mtimeMs: now }
    return now - mtimeMs > QUIET
  })
  if (quiet.length === 0) return
  withReplacingLock(dataHome, 0, () => {
    for (const { copy } of quiet) {
      if (performance.now() >= stop) return
      const file = vaultFile(dataHome, copy)
      const layout = layoutOf(file)
      if (layout !== undefined && isWorthIt(layout)) {
        rmSync(replacementOf(file), { force: true })
        try {
          mergeFramesOf(file)
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
export function withReplacingLock<T>(dataHome: string, wait: number, work: () => T): T | undefined {
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

/*
 * Merges the small frames of a copy into larger ones, as a hook's frame holds a few lines and compresses badly. The
 * transcript's bytes, their hashes and the copy's id stay the same.
 */

/**
 * Most bytes of transcript in a merged frame. A search unpacks a frame for each text it shows: a frame of 1 MB takes
 * twice as long and saves a twentieth of the space.
 */
const CHUNK = 256 << 10
/** ms to wait for a writer. */
const PATIENCE = 2000

interface Layout {
  readonly frames: number
  readonly merged: number
  readonly bytes: number
}

interface Merged extends Layout {
  readonly after: number
}

/** Frames to be merged into one. A single frame is copied as it is. */
type Group = readonly Segment[]

/** A copy's frames before and after merging; undefined if there is no copy, or `verify` would reject their chain. */
export function layoutOf(file: string): Layout | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    return plan && { frames: plan.frames, merged: plan.groups.length, bytes: fstatSync(fd).size }
  })
}

/**
 * Only one process may call this at a time (merge-frames.ts).
 *
 * @param file absolute path of the copy
 * @returns undefined if there is nothing to merge, or a writer held the lock throughout
 * @throws CtxError `vault-damaged` if a frame does not match its trailer; the copy stays as it is
 */
export function mergeFramesOf(file: string): Merged | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    if (plan === undefined || plan.groups.length === plan.frames) return undefined
    const bytes = fstatSync(fd).size
    const after = swapCopy(file, fd, PATIENCE, {
      begin: (out) => rewrite(fd, out, plan),
      finish(out, end, tail) {
        const rest = readExactly(fd, plan.end, tail.end - plan.end)
        writeFully(out, rest, end)
        return end + rest.length
      },
    })
    return after === undefined ? undefined : { frames: plan.frames, merged: plan.groups.length, bytes, after }
  })
}

interface Plan {
  readonly headerLength: number
  /** Position in the old file where the groups end. */
  readonly end: number
  readonly frames: number
  readonly groups: readonly Group[]
}

function planOf(fd: number): Plan | undefined {
  const tail = readTail(fd)
  const segments = tail && wholeChain(fd, tail)
  if (tail === undefined || segments === undefined) return undefined
  const groups: Segment[][] = []
  for (const segment of segments) {
    const last = groups.at(-1)
    if (last !== undefined && segment.to - last[0]!.from <= CHUNK) last.push(segment)
    else groups.push([segment])
  }
  return { headerLength: tail.headerLength, end: tail.end, frames: segments.length, groups }
}

/** @returns bytes written */
function rewrite(fd: number, out: number, { headerLength, groups }: Plan): number {
  writeFully(out, readExactly(fd, 0, headerLength), 0)
  let end = headerLength
  for (const group of groups) {
    end += group.length === 1 ? copyFrame(fd, out, end, group[0]!) : merge(fd, out, end, group)
  }
  return end
}

function merge(fd: number, out: number, end: number, group: Group): number {
  const content = Buffer.concat(group.map((segment) => provenContent(fd, segment)))
  // The merged frame is only as well filtered as its least filtered part.
  const rules = Math.min(...group.map((segment) => segment.rules))
  return writeFrame(out, end, content, { ...group.at(-1)!, from: group[0]!.from, rules })
}
