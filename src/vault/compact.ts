/**
 * Merges the small frames of a copy into frames of about a megabyte: a hook's frame holds a few lines, and compresses
 * badly. The transcript's bytes, their hashes and the copy's name stay.
 *
 * Appenders are held up only while what they have appended meanwhile is moved over. Readers that have the old file
 * open read it to its end.
 */
import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  renameSync,
  rmSync,
} from "node:fs"
import { dirname } from "node:path"
import { CtxError } from "../util/errors.ts"
import {
  inodeOf,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsBackwards,
  writeFully,
} from "./file.ts"
import { dataFrame, encodeNote, frameContent, NOTE_SIZE, sha256 } from "./frame.ts"
import { lock } from "./lock.ts"
import { openCopy } from "./reader.ts"

/** Bytes of transcript in a merged frame, at most. */
const CHUNK = 1 << 20
/** 14 ms for 1 MB where level 3 takes 3, and a tenth smaller; the levels above cost ten times as much. */
const LEVEL = 9
/** ms to wait for a writer. */
const PATIENCE = 2000

export interface Layout {
  readonly frames: number
  /** Frames after merging. */
  readonly merged: number
  /** Bytes on disk. */
  readonly bytes: number
}

export interface Compacted extends Layout {
  /** Bytes on disk now. */
  readonly after: number
}

/** Frames that become one; a frame alone is copied as it is. */
type Group = readonly Segment[]

/** How a copy's frames lie; undefined when there is none, or when `verify` would complain about their chain. */
export function layoutOf(file: string): Layout | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    return plan && { frames: plan.frames, merged: plan.groups.length, bytes: fstatSync(fd).size }
  })
}

/**
 * To be called by one process at a time (tidy.ts).
 *
 * @param file absolute path of the copy
 * @returns undefined when there is nothing to merge, or a writer was at work all the time
 * @throws CtxError `vault-damaged` when a frame is not what its note says; the copy stays as it is
 */
export function compactCopy(file: string): Compacted | undefined {
  return withCopy(file, (fd) => {
    const plan = planOf(fd)
    if (plan === undefined || plan.groups.length === plan.frames) return undefined
    const target = temporaryOf(file)
    const out = openSync(target, "w+", 0o600)
    try {
      chmodSync(target, fstatSync(fd).mode & 0o777)
      const bytes = fstatSync(fd).size
      const end = rewrite(fd, out, plan)
      // Most of the waiting for the disk, while nobody waits for us.
      fsyncSync(out)
      const after = takeOver(file, fd, out, plan.end, end)
      return after === undefined
        ? undefined
        : { frames: plan.frames, merged: plan.groups.length, bytes, after }
    } finally {
      closeSync(out)
      rmSync(target, { force: true })
    }
  })
}

/** Its ending is not that of a copy, so nobody takes what a killed process left for one. */
export const temporaryOf = (file: string): string => `${file}.compact`

function withCopy<T>(file: string, work: (fd: number) => T): T | undefined {
  const fd = openCopy(file)
  if (fd === undefined) return undefined
  try {
    return work(fd)
  } finally {
    closeSync(fd)
  }
}

interface Plan {
  readonly headerLength: number
  /** Position in the old file up to which the groups reach. */
  readonly end: number
  readonly frames: number
  readonly groups: readonly Group[]
}

function planOf(fd: number): Plan | undefined {
  const tail = readTail(fd)
  if (tail === undefined) return undefined
  const { headerLength, end } = tail
  const segments = [...segmentsBackwards(fd, tail)].reverse()
  let [from, position] = [0, headerLength]
  const groups: Segment[][] = []
  for (const segment of segments) {
    if (segment.from !== from || segment.position !== position) return undefined
    from = segment.to
    position = segment.position + segment.frameLength + NOTE_SIZE
    const last = groups.at(-1)
    if (last !== undefined && segment.to - last[0]!.from <= CHUNK) last.push(segment)
    else groups.push([segment])
  }
  return { headerLength, end, frames: segments.length, groups }
}

/** @returns length of what was written */
function rewrite(fd: number, out: number, { headerLength, groups }: Plan): number {
  writeFully(out, readExactly(fd, 0, headerLength), 0)
  let end = headerLength
  for (const group of groups) {
    const bytes = group.length === 1 ? unchanged(fd, group[0]!) : merged(fd, out, end, group)
    writeFully(out, bytes, end)
    end += bytes.length
  }
  return end
}

const unchanged = (fd: number, { position, frameLength }: Segment): Uint8Array =>
  readExactly(fd, position, frameLength + NOTE_SIZE)

function merged(fd: number, out: number, end: number, group: Group): Uint8Array {
  const content = Buffer.concat(group.map((segment) => proven(segment, segmentContent(fd, segment))))
  const { position: _position, ...last } = group.at(-1)!
  const frame = dataFrame(content, LEVEL)
  const note = { ...last, from: group[0]!.from, frameLength: frame.length, sha256: sha256(content) }
  // What the disk gives back is what counts, and not what was meant.
  writeFully(out, frame, end)
  const back = frameContent(readExactly(out, end, frame.length))
  if (Buffer.compare(back, content) !== 0) throw damaged(group[0]!, "its merged frame reads back differently")
  return Buffer.concat([frame, encodeNote(note)])
}

function proven(segment: Segment, content: Uint8Array): Uint8Array {
  const whole = content.length === segment.to - segment.from
  if (whole && Buffer.compare(sha256(content), segment.sha256) === 0) return content
  throw damaged(segment, "not what was archived")
}

const damaged = ({ from, to }: Segment, what: string): CtxError =>
  new CtxError("vault-damaged", `bytes ${from} to ${to}: ${what}`, {
    hint: "ctxbridge verify names everything that is damaged; the copy was left as it is",
  })

/** Under the copy's lock: adds what was appended meanwhile, and puts the new file in the place of the old. */
function takeOver(file: string, fd: number, out: number, from: number, end: number): number | undefined {
  if (!lock(fd, performance.now() + PATIENCE)) return undefined
  // Set aside, and perhaps begun anew: then this is the lock of another file.
  if (fstatSync(fd).ino !== inodeOf(file)) return undefined
  const tail = readTail(fd)
  if (tail === undefined || tail.end < from) return undefined
  const rest = readExactly(fd, from, tail.end - from)
  writeFully(out, rest, end)
  ftruncateSync(out, end + rest.length)
  if (rest.length > 0) fsyncSync(out)
  renameSync(temporaryOf(file), file)
  flushFolder(dirname(file))
  return end + rest.length
}

function flushFolder(folder: string): void {
  const fd = openSync(folder, "r")
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}
