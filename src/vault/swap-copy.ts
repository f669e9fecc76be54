/**
 * Replaces a copy with another file: written beside it, flushed, and renamed under the copy's lock after adding what
 * was appended meanwhile.
 *
 * Appenders wait only while that last part is copied. Readers that have the old file open read it to its end.
 */
import { chmodSync, closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, rmSync } from "node:fs"
import { CtxError } from "../base/errors.ts"
import { flush } from "../base/files.ts"
import { renameSync } from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { dirname } from "../base/path.ts"
import {
  behind,
  inodeOf,
  isAsNoted,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsFrom,
  type Tail,
  writeFully,
} from "./copy-file.ts"
import { dataFrame, encodeNote, frameContent, NOTE_SIZE, type RangeNote, sha256 } from "./frame.ts"

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
 * Only one process may call this at a time (compact-vault.ts).
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

/** @throws CtxError `vault-damaged` if the frame does not match its note */
export function provenContent(fd: number, segment: Segment): Uint8Array {
  const content = segmentContent(fd, segment)
  if (isAsNoted(content, segment)) return content
  throw damaged(segment, "not what was archived")
}

/** Writes a frame with its note. Returns their length. */
export function writeFrame(
  out: number,
  end: number,
  content: Uint8Array,
  about: Omit<RangeNote, "frameLength" | "sha256">,
): number {
  const frame = dataFrame(content, LEVEL)
  // Read back, because only what the disk returns counts.
  writeFully(out, frame, end)
  const back = frameContent(readExactly(out, end, frame.length))
  if (Buffer.compare(back, content) !== 0) throw damaged(about, "the new frame reads back differently")
  writeFully(
    out,
    encodeNote({ ...about, frameLength: frame.length, sha256: sha256(content) }),
    end + frame.length,
  )
  return frame.length + NOTE_SIZE
}

/** Copies a frame and its note as they are. Returns their length. */
export function copyFrame(fd: number, out: number, end: number, { position, frameLength }: Segment): number {
  const bytes = readExactly(fd, position, frameLength + NOTE_SIZE)
  writeFully(out, bytes, end)
  return bytes.length
}

export const damaged = ({ from, to }: Pick<RangeNote, "from" | "to">, what: string): CtxError =>
  new CtxError("vault-damaged", `bytes ${from} to ${to}: ${what}`, {
    hint: "ctxbridge verify names everything that is damaged; the copy was left as it is",
  })
