/**
 * Replaces a copy with another file: written beside it, flushed, and renamed under the copy's lock after adding what
 * was appended meanwhile.
 *
 * Appenders wait only while that last part is copied. Readers that have the old file open read it to its end.
 */

import { chmodSync, closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, rmSync } from "node:fs"
import { CtxError, throwBusy } from "../base/errors.ts"
import { flush, inodeOf } from "../base/files.ts"
import { renameSync } from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { dirname } from "../base/path.ts"
import {
  behind,
  matchesTrailer,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsFrom,
  type Tail,
  writeFully,
} from "./copy-file.ts"
import { dataFrame, encodeTrailer, frameContent, sha256, TRAILER_SIZE, type Trailer } from "./frame.ts"
import { withCopy } from "./reader.ts"

/** Takes 14 ms per MB, where level 3 takes 3, and saves a tenth. Higher levels take ten times as long. */
const LEVEL = 9

/** Lacks the ending of a copy, so what a killed process leaves is never taken for one. */
export const replacementOf = (file: string): string => `${file}.compact`

interface Writer {
  /** Writes the new file's beginning. Returns its length. */
  begin(out: number): number
  /** Under the copy's lock: writes what was added to the old file after `begin` read it. Returns the new length. */
  finish(out: number, end: number, tail: Tail): number
}

/**
 * Only one process may call this at a time (merge-frames.ts).
 *
 * @param file absolute path of the copy
 * @param fd a descriptor of it
 * @param patience ms to wait for a writer
 * @returns length of the new file; undefined if a writer held the lock throughout, or the copy was set aside
 */
export function swapCopy(file: string, fd: number, patience: number, writer: Writer): number | undefined {
  const target = replacementOf(file)
  const out = openSync(target, "w+", 0o600)
  try {
    chmodSync(target, fstatSync(fd).mode & 0o777)
    const begun = writer.begin(out)
    // Most of the waiting for the disk happens here, while nobody waits for us.
    fsyncSync(out)
    return whileLocked(file, fd, patience, () => {
      const tail = readTail(fd)
      if (tail === undefined) return undefined
      const end = writer.finish(out, begun, tail)
      ftruncateSync(out, end)
      if (end > begun) fsyncSync(out)
      renameSync(target, file)
      flush(dirname(file))
      return end
    })
  } finally {
    closeSync(out)
    rmSync(target, { force: true })
  }
}

/** @param fd a descriptor for reading, which cannot be locked everywhere */
function whileLocked<T>(file: string, fd: number, patience: number, work: () => T): T | undefined {
  // Gone: set aside. Another file: begun anew.
  if (inodeOf(file) === undefined) return undefined
  const held = openSync(file, "r+")
  try {
    if (!lock(held, performance.now() + patience)) return undefined
    const { ino } = fstatSync(fd)
    return fstatSync(held).ino === ino && inodeOf(file) === ino ? work() : undefined
  } finally {
    closeSync(held)
  }
}

/** All segments in order; undefined if `verify` would reject their chain. */
export function wholeChain(fd: number, tail: Tail): Segment[] | undefined {
  const segments = segmentsFrom(fd, tail)
  let [from, position] = [0, tail.headerLength]
  for (const segment of segments) {
    if (segment.from !== from || segment.position !== position) return undefined
    from = segment.to
    position = behind(segment)
  }
  return segments
}

/** @throws CtxError `vault-damaged` if the frame does not match its trailer */
export function provenContent(fd: number, segment: Segment): Uint8Array {
  const content = segmentContent(fd, segment)
  if (matchesTrailer(content, segment)) return content
  throw damaged(segment, "not what was archived")
}

/** Writes a frame with its trailer. Returns their length. */
export function writeFrame(
  out: number,
  end: number,
  content: Uint8Array,
  about: Omit<Trailer, "frameLength" | "sha256">,
): number {
  const frame = dataFrame(content, LEVEL)
  // Read back, because only what the disk returns counts.
  writeFully(out, frame, end)
  const back = frameContent(readExactly(out, end, frame.length))
  if (Buffer.compare(back, content) !== 0) throw damaged(about, "the new frame reads back differently")
  writeFully(
    out,
    encodeTrailer({ ...about, frameLength: frame.length, sha256: sha256(content) }),
    end + frame.length,
  )
  return frame.length + TRAILER_SIZE
}

/** Copies a frame and its trailer as they are. Returns their length. */
export function copyFrame(fd: number, out: number, end: number, { position, frameLength }: Segment): number {
  const bytes = readExactly(fd, position, frameLength + TRAILER_SIZE)
  writeFully(out, bytes, end)
  return bytes.length
}

export const damaged = ({ from, to }: Pick<Trailer, "from" | "to">, what: string): CtxError =>
  new CtxError("vault-damaged", `bytes ${from} to ${to}: ${what}`, {
    hint: "ctxbridge verify names everything that is damaged; the copy was left as it is",
  })

/*
 * Replaces bytes of a copy's content by the same number of others. Afterwards no file holds the old bytes: neither the
 * copy, nor half a frame at its end, nor anything that a killed process left beside it.
 *
 * The copy's id and cursor stay, since the cursor describes the transcript and not what we keep of it.
 */

/**
 * @param content of one frame: whole lines. Must not be changed
 * @param from offset in the transcript of its first byte
 * @returns as many bytes; the same array if there is nothing to change
 */
export type Edit = (content: Uint8Array, from: number) => Uint8Array

/**
 * @param to offset after a frame's last byte
 * @returns what its trailer says about the filter, after the frame was edited
 */
type Stamp = (to: number) => Pick<Segment, "rules" | "hidden">

interface Rewritten {
  readonly frames: number
  /** Frames whose content changed. A change in the trailer alone does not count. */
  readonly changed: number
  readonly bytes: number
  readonly after: number
}

/** ms to wait for a writer. */
const PATIENCE = 10_000

/**
 * Only one process may call this at a time (`withReplacingLock`). Also edits what is appended meanwhile.
 *
 * @param file absolute path of the copy
 * @returns undefined if there is no such copy
 * @throws CtxError `vault-damaged` if a frame does not match its trailer, `busy` if a writer held the lock throughout
 * or the copy was set aside meanwhile; the copy stays as it is
 */
export function rewriteCopy(file: string, edit: Edit, stamp?: Stamp): Rewritten | undefined {
  rmSync(replacementOf(file), { force: true })
  return withCopy(file, (fd) => {
    const tail = readTail(fd)
    const segments = tail && wholeChain(fd, tail)
    if (tail === undefined || segments === undefined) {
      throw damaged({ from: 0, to: tail?.last?.to ?? 0 }, "the trailers of the copy are broken")
    }
    const bytes = fstatSync(fd).size
    const same = segments.every((segment) => {
      const content = provenContent(fd, segment)
      return edited(edit, content, segment.from) === content && isStamped(segment, stamp)
    })
    // After the last trailer, there may be bytes that a killed writer left or a running one is writing.
    if (same && bytes === tail.end) return { frames: segments.length, changed: 0, bytes, after: bytes }
    return swap(file, fd, tail, segments, edit, stamp)
  })
}

const isStamped = (segment: Segment, stamp: Stamp | undefined): boolean => {
  if (stamp === undefined) return true
  const { rules, hidden } = stamp(segment.to)
  return rules === segment.rules && hidden === segment.hidden
}

function swap(
  file: string,
  fd: number,
  tail: Tail,
  segments: readonly Segment[],
  edit: Edit,
  stamp: Stamp | undefined,
): Rewritten {
  const before = fstatSync(fd).size
  let frames = 0
  let changed = 0
  const add = (out: number, end: number, segment: Segment): number => {
    const content = provenContent(fd, segment)
    const now = edited(edit, content, segment.from)
    frames++
    if (now !== content) changed++
    else if (isStamped(segment, stamp)) return copyFrame(fd, out, end, segment)
    return writeFrame(out, end, now, { ...segment, ...stamp?.(segment.to) })
  }
  const addAll = (out: number, start: number, all: readonly Segment[]): number =>
    all.reduce((end, segment) => end + add(out, end, segment), start)
  const after = swapCopy(file, fd, PATIENCE, {
    begin(out) {
      writeFully(out, readExactly(fd, 0, tail.headerLength), 0)
      return addAll(out, tail.headerLength, segments)
    },
    finish: (out, end, now) => addAll(out, end, segmentsFrom(fd, now, tail.last?.to)),
  })
  if (after === undefined) throwBusy("another process is writing this copy", "try again in a moment")
  return { frames, changed, bytes: before, after }
}

function edited(edit: Edit, content: Uint8Array, from: number): Uint8Array {
  const now = edit(content, from)
  if (now.length !== content.length) throw new Error(`an edit must keep the length, at byte ${from}`)
  return now !== content && Buffer.compare(now, content) === 0 ? content : now
}
