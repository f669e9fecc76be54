/**
 * Makes a damaged copy whole again, where Claude Code still has the transcript: frames that are sound stay as they are,
 * and what is missing between them is taken from the transcript as it would be archived now. The copy keeps its id, so
 * that the views and everything else that knows it still fit.
 */

import { closeSync, existsSync, fstatSync, fsyncSync, openSync, rmSync, unlinkSync } from "node:fs"
import { throwBusy } from "../base/errors.ts"
import { flush, inodeOf, tryTo } from "../base/files.ts"
import { mkdirSync, renameSync } from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { dirname } from "../base/path.ts"
import { filterLines, type SecretSettings } from "../secrets/filter.ts"
import { asItIs, type KnownValues } from "./capture.ts"
import { checkCopy } from "./check-copy.ts"
import {
  behind,
  holdsNothing,
  matchesTrailer,
  readExactly,
  type Segment,
  segmentContent,
  segmentsBackwards,
  setAside,
  withLockedCopy,
  writeFully,
} from "./copy-file.ts"
import { isHeaderChanged, type Listed } from "./copy-list.ts"
import { decodeHeader, encodeHeader, type VaultHeader } from "./frame.ts"
import { tailOf } from "./reader.ts"
import { copyFrame, replacementOf, writeFrame } from "./rewrite.ts"
import { hashAfter, sameButForFiller, tailHash, withSource } from "./source-file.ts"
import type { Forgotten } from "./tombstones.ts"

interface MendOptions {
  /** What the list says of the copy in this place; undefined: nothing. */
  readonly listed: Listed | undefined
  readonly secrets: SecretSettings
  readonly known: KnownValues
  readonly forgotten: () => Forgotten | undefined
  /** ms since the epoch, for the trailers. */
  readonly now: number
}

/**
 * `sound`: there is nothing to mend. `mended`: it is whole, as far as its trailers reach; capture appends the rest.
 * `differs`: the transcript is no longer what was archived. `helpless`: nobody knows whose copy it is.
 */
export interface Mended {
  readonly state: "sound" | "mended" | "differs" | "helpless"
  /** What was taken from the transcript again. */
  readonly gaps: readonly Range[]
}

type Range = readonly [from: number, to: number]

/** ms to wait for a writer. */
const PATIENCE = 10_000
/** Bytes of transcript in a frame, give or take a line. */
const CHUNK = 256 << 10
const HEADER_READ = 5 << 10
const NEWLINE = 0x0a

/**
 * Only one process may call this at a time (`withReplacingLock`).
 *
 * @param file absolute path of the copy; it may be gone or empty if the list knows it
 * @param transcript absolute path
 * @returns undefined if there is no such transcript
 * @throws CtxError `busy` if a writer held the lock throughout
 */
export function mendCopy(file: string, transcript: string, options: MendOptions): Mended | undefined {
  return withSource(transcript, (source) => {
    if (!existsSync(file) && options.listed === undefined) return { state: "helpless", gaps: [] }
    return withLocked(file, (fd) => mend(file, fd, source, options))
  })
}

function mend(file: string, fd: number, source: number, options: MendOptions): Mended {
  const { size } = fstatSync(fd)
  const read = decodeHeader(readExactly(fd, 0, Math.min(size, HEADER_READ)))
  const { listed } = options
  const isChanged = read !== undefined && listed !== undefined && isHeaderChanged(read.header, listed)
  const start = isChanged ? undefined : read
  const header = start?.header ?? listed
  if (header === undefined) return { state: "helpless", gaps: [] }
  const headerLength = read?.length ?? 0
  const noted = [...segmentsBackwards(fd, { end: size, headerLength })].reverse()
  const ends = start === undefined ? [...noted, endOf(listed)] : noted
  const sound = isOf(source, ends) ? soundFrames(fd, source, noted) : undefined
  if (sound === undefined) return { state: "differs", gaps: [] }
  const to = noted.at(-1)?.to ?? 0
  const gaps = gapsBetween(sound, to)
  const isWhole = start !== undefined && gaps.length === 0 && fits(sound, headerLength, size)
  if (isWhole) return { state: "sound", gaps: [] }
  const bytes =
    start === undefined
      ? encodeHeader({ id: header.id, path: header.path, created: header.created })
      : readExactly(fd, 0, headerLength)
  // Whatever it is, nothing of it is ours to drop.
  if (read === undefined && noted.length === 0 && !holdsNothing(fd)) moveAside(file)
  writeAnew(file, (out) => writeAll(fd, out, source, { header, bytes, sound, gaps }, options))
  return { state: "mended", gaps }
}

/** How far something reaches, and the hash of the transcript's last bytes there. */
type End = Pick<Segment, "to" | "tailHash">

const endOf = (listed: Listed | undefined): End => ({
  to: listed?.to ?? 0,
  tailHash: BigInt(`0x${listed?.hash || "0"}`),
})

/** Whether the transcript still has all these ends. */
function isOf(source: number, ends: readonly End[]): boolean {
  const { size } = fstatSync(source)
  return ends.every((end) => end.to <= size && tailHash(source, end.to) === end.tailHash)
}

/** The frames that can be read, in order, none of which overlap; undefined if the transcript is another one. */
function soundFrames(fd: number, source: number, noted: readonly Segment[]): Segment[] | undefined {
  const sound: Segment[] = []
  for (const segment of noted) {
    const content = tryTo(() => segmentContent(fd, segment))
    if (content === undefined || !matchesTrailer(content, segment)) continue
    if (sameButForFiller(content, readExactly(source, segment.from, content.length)) !== undefined)
      return undefined
    if (segment.from >= (sound.at(-1)?.to ?? 0)) sound.push(segment)
  }
  return sound
}

/** Whether they follow each other in the file, and nothing else is there. */
function fits(sound: readonly Segment[], headerLength: number, size: number): boolean {
  let end = headerLength
  for (const segment of sound) {
    if (segment.position !== end) return false
    end = behind(segment)
  }
  return end === size
}

function gapsBetween(sound: readonly Segment[], to: number): Range[] {
  const gaps: Range[] = []
  let at = 0
  for (const { from, to: after } of [...sound, { from: to, to }]) {
    if (from > at) gaps.push([at, from])
    at = after
  }
  return gaps
}

interface Parts {
  readonly header: Pick<VaultHeader, "id" | "path">
  readonly bytes: Uint8Array
  readonly sound: readonly Segment[]
  readonly gaps: readonly Range[]
}

function writeAll(fd: number, out: number, source: number, parts: Parts, options: MendOptions): void {
  writeFully(out, parts.bytes, 0)
  let end = parts.bytes.length
  let hidden = 0
  const pieces = [...parts.sound, ...parts.gaps.map(([from, to]) => ({ from, to, position: undefined }))]
  for (const piece of pieces.sort((a, b) => a.from - b.from)) {
    if (piece.position !== undefined) {
      end += copyFrame(fd, out, end, piece)
      hidden = piece.hidden
    } else ({ end, hidden } = fillGap(out, source, piece, { end, hidden }, parts, options))
  }
}

/** Archives a stretch of the transcript, as `capture` would. */
function fillGap(
  out: number,
  source: number,
  { from, to }: { readonly from: number; readonly to: number },
  before: { readonly end: number; readonly hidden: number },
  { header, sound }: Parts,
  { secrets, known, forgotten, now }: MendOptions,
): { end: number; hidden: number } {
  const inode = sound.at(-1)?.inode ?? BigInt(fstatSync(source).ino)
  const edit = forgotten()?.edit ?? asItIs
  let { end, hidden } = before
  for (let at = from; at < to; ) {
    const original = linesAt(source, at, to)
    const filtered = filterLines(original, hidden, secrets)
    const { id, path } = header
    const content = known.fill({ path, id, from: at, original, filtered, edit })
    hidden = filtered.hidden
    const range = { from: at, to: at + content.length, tailHash: hashAfter(source, at, original) }
    end += writeFrame(out, end, content, { ...range, inode, time: now, rules: filtered.rules, hidden })
    at = range.to
  }
  return { end, hidden }
}

/** Whole lines, unless what is wanted ends within one. */
function linesAt(source: number, from: number, to: number): Uint8Array {
  for (let length = CHUNK; ; length *= 2) {
    const bytes = readExactly(source, from, Math.min(length, to - from))
    const end = bytes.lastIndexOf(NEWLINE) + 1
    if (bytes.length < length) return bytes
    if (end > 0) return bytes.subarray(0, end)
  }
}

function writeAnew(file: string, write: (out: number) => void): void {
  const target = replacementOf(file)
  const out = openSync(target, "w+", 0o600)
  try {
    write(out)
    fsyncSync(out)
    renameSync(target, file)
    flush(dirname(file))
  } finally {
    closeSync(out)
    rmSync(target, { force: true })
  }
}

function withLocked<T>(file: string, work: (fd: number) => T): T {
  const deadline = performance.now() + PATIENCE
  for (;;) {
    const isMade = !existsSync(file)
    if (isMade) mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    const fd = openSync(file, isMade ? "a+" : "r+", 0o600)
    try {
      if (!lock(fd, deadline)) throwBusy("another process is writing this copy", "try again in a moment")
      if (fstatSync(fd).ino === inodeOf(file)) return work(fd)
    } finally {
      // An empty file would look like a copy that somebody has begun.
      if (isMade && fstatSync(fd).ino === inodeOf(file) && fstatSync(fd).size === 0) rmSync(file)
      closeSync(fd)
    }
  }
}

/* Puts out of the way what cannot stay in the place of a copy. Deletes nothing of a transcript. */

/** ms to wait for another process that archives the same transcript. */
const LOCK_PATIENCE = 5000

/**
 * For a transcript changed where the cursor does not look: its length and end are the same, so only a comparison of
 * every byte shows it. Sets a copy aside if it is damaged or differs, so that the next capture begins anew.
 *
 * @param transcript absolute path
 * @param copy absolute path of its copy
 * @param now ms since the epoch
 * @returns the copy's new path; undefined if it is sound, or there is none
 */
export function setAsideIfDifferent(transcript: string, copy: string, now: number): string | undefined {
  if (!existsSync(transcript) || tailOf(copy) === undefined) return undefined
  // Opened only under the lock, since whoever held it may have archived a file that has taken the transcript's place.
  return setAsideUnless(
    copy,
    transcript,
    now,
    () => withSource(transcript, (fd) => isSound(copy, fd)) ?? true,
  )
}

/** The same for a copy without a transcript: sets it aside if it is damaged. */
export function setAsideIfDamaged(copy: string, path: string, now: number): string | undefined {
  if (tailOf(copy) === undefined) return undefined
  return setAsideUnless(copy, path, now, () => isSound(copy, undefined))
}

function isSound(copy: string, source: number | undefined): boolean {
  const check = checkCopy(copy, source)
  return check === undefined || (check.damage.length === 0 && check.differsAt === undefined)
}

/** Calls `isFine` under the copy's lock. */
const setAsideUnless = (copy: string, path: string, now: number, isFine: () => boolean): string | undefined =>
  withLockedCopy(
    copy,
    { path, created: now },
    performance.now() + LOCK_PATIENCE,
    () => (isFine() ? undefined : setAside(copy)),
    () => throwBusy("another process is archiving this transcript", "try again"),
  )

/** Removes a copy that was begun and holds nothing, unless somebody is writing it. */
export function removeBegun(file: string): void {
  const fd = openSync(file, "r+")
  try {
    if (lock(fd, 0) && fstatSync(fd).ino === inodeOf(file) && holdsNothing(fd)) unlinkSync(file)
  } finally {
    closeSync(fd)
  }
}

/** Renames what is in the place of a copy, and is none. The new name is none that a copy may have. */
export function moveAside(file: string): void {
  for (let n = 1; ; n++) {
    const target = `${file}.aside-${n}`
    if (inodeOf(target) !== undefined) continue
    renameSync(file, target)
    return
  }
}
