/**
 * Replaces bytes of a copy's content by the same number of others. Afterwards no file holds the old bytes: neither the
 * copy, nor half a frame at its end, nor anything that a killed process left beside it.
 *
 * The copy's id and cursor stay, since the cursor describes the transcript and not what we keep of it.
 */
import { fstatSync, rmSync } from "node:fs"
import { throwBusy } from "../base/errors.ts"
import { readExactly, readTail, type Segment, segmentsFrom, type Tail, writeFully } from "./copy-file.ts"
import { withCopy } from "./reader.ts"
import {
  copyFrame,
  damaged,
  provenContent,
  replacementOf,
  swapCopy,
  wholeChain,
  writeFrame,
} from "./swap-copy.ts"

/**
 * @param content of one frame: whole lines. Must not be changed
 * @param from offset in the transcript of its first byte
 * @returns as many bytes; the same array if there is nothing to change
 */
export type Edit = (content: Uint8Array, from: number) => Uint8Array

/**
 * @param to offset after a frame's last byte
 * @returns what its note says about the filter, after the frame was edited
 */
type Stamp = (to: number) => Pick<Segment, "rules" | "hidden">

export interface Rewritten {
  readonly frames: number
  /** Frames whose content changed. A change in the note alone does not count. */
  readonly changed: number
  readonly bytes: number
  readonly after: number
}

/** ms to wait for a writer. */
const PATIENCE = 10_000

/**
 * Only one process may call this at a time (`withCompactLock`). Also edits what is appended meanwhile.
 *
 * @param file absolute path of the copy
 * @returns undefined if there is no such copy
 * @throws CtxError `vault-damaged` if a frame does not match its note, `busy` if a writer held the lock throughout or
 * the copy was set aside meanwhile; the copy stays as it is
 */
export function rewriteCopy(file: string, edit: Edit, stamp?: Stamp): Rewritten | undefined {
  rmSync(replacementOf(file), { force: true })
  return withCopy(file, (fd) => {
    const tail = readTail(fd)
    const segments = tail && wholeChain(fd, tail)
    if (tail === undefined || segments === undefined) {
      throw damaged({ from: 0, to: tail?.last?.to ?? 0 }, "the notes of the copy are broken")
    }
    const bytes = fstatSync(fd).size
    const same = segments.every((segment) => {
      const content = provenContent(fd, segment)
      return edited(edit, content, segment.from) === content && isStamped(segment, stamp)
    })
    // After the last note, there may be bytes that a killed writer left or a running one is writing.
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
