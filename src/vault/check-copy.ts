/** Checks one copy, frame by frame, against its own trailers and against the transcript. Holds one frame in memory. */
import { closeSync, fstatSync } from "node:fs"
import { messageOf } from "../base/errors.ts"
import { endOfLines } from "../record/lines-with.ts"
import { RULES_NUMBER } from "../secrets/rules.ts"
import { isWholeObject } from "./capture.ts"
import {
  holdsNothing,
  matchesTrailer,
  readExactly,
  readTail,
  type Segment,
  segmentContent,
  segmentsFrom,
} from "./copy-file.ts"
import { withCopy } from "./reader.ts"
import { openSource, sameButForFiller } from "./source-file.ts"

export interface CopyCheck {
  /** Where Claude Code keeps the transcript; undefined if the copy does not begin with our header. */
  readonly path: string | undefined
  /** Bytes of the transcript according to the trailers. */
  readonly archived: number
  readonly frames: number
  /** Frames never searched for secrets, and frames filtered by older rules than ours. */
  readonly unfiltered: number
  readonly olderRules: number
  /** What is wrong with frames and trailers, in words. */
  readonly damage: readonly string[]
  /** Bytes at the end that are not a complete frame: left by a crash, or being written by another process. */
  readonly halfFrame: number
  readonly differsAt: number | undefined
}

/** Where there is no copy. */
export const NOTHING_FOUND: CopyCheck = {
  path: undefined,
  archived: 0,
  frames: 0,
  unfiltered: 0,
  olderRules: 0,
  damage: [],
  halfFrame: 0,
  differsAt: undefined,
}

/**
 * @param file absolute path of the copy
 * @param source descriptor of the transcript; undefined if there is none to compare with
 * @param onFrame called with the compressed bytes read
 * @returns undefined if the file is gone, or was begun and holds nothing
 * @throws CtxError `not-a-copy` if it is no file
 */
export const checkCopy = (
  file: string,
  source: number | undefined,
  onFrame: (bytes: number) => void = () => {},
): CopyCheck | undefined =>
  withCopy(file, (fd) => (holdsNothing(fd) ? undefined : checkFrames(fd, source, onFrame)))

function checkFrames(fd: number, source: number | undefined, onFrame: (bytes: number) => void): CopyCheck {
  const tail = readTail(fd)
  if (tail === undefined) {
    return { ...NOTHING_FOUND, damage: ["it does not begin with a ctxbridge header"] }
  }
  const halfFrame = fstatSync(fd).size - tail.end
  const segments = segmentsFrom(fd, tail)
  const damage: string[] = []
  const first = segments[0]
  if (first !== undefined && (first.from !== 0 || first.position !== tail.headerLength)) {
    damage.push(`the trailers before byte ${first.from} of the transcript are broken`)
  }
  let expected = first?.from ?? 0
  let differsAt: number | undefined
  for (const segment of segments) {
    const { from, to } = segment
    if (from !== expected) damage.push(`bytes ${expected} to ${from} are not there`)
    expected = to
    const content = contentOf(fd, segment, damage)
    onFrame(segment.frameLength)
    if (content === undefined || source === undefined || differsAt !== undefined) continue
    differsAt = difference(content, readExactly(source, from, content.length), from)
  }
  const archived = tail.last?.to ?? 0
  return {
    path: tail.header.path,
    archived,
    frames: segments.length,
    unfiltered: segments.filter(({ rules }) => rules === 0).length,
    olderRules: segments.filter(({ rules }) => rules > 0 && rules < RULES_NUMBER).length,
    damage,
    halfFrame,
    differsAt,
  }
}

function contentOf(fd: number, segment: Segment, damage: string[]): Uint8Array | undefined {
  const where = `bytes ${segment.from} to ${segment.to}`
  let content: Uint8Array
  try {
    content = segmentContent(fd, segment)
  } catch (error) {
    damage.push(`${where} cannot be read: ${messageOf(error)}`)
    return undefined
  }
  if (matchesTrailer(content, segment)) return content
  damage.push(`${where} do not have the SHA-256 that was noted`)
  return undefined
}

/** Ignores filler rather than filtering again: other rules than ours may have filled the secrets. */
function difference(copy: Uint8Array, original: Uint8Array, from: number): number | undefined {
  const at = sameButForFiller(copy, original)
  return at === undefined ? undefined : from + at
}

/** The transcript's bytes after `archived`: those that can be taken now, and half a last line that cannot. */
export interface Remainder {
  readonly size: number
  readonly missing: number
  readonly waiting: number
}

const BLOCK = 1 << 20

export function remainderOf(source: number, archived: number): Remainder {
  const { size } = fstatSync(source)
  const end = lastLineEnd(source, archived, size)
  const half = size - end
  if (half > 0 && isWholeObject(readExactly(source, end, half))) {
    return { size, missing: size - archived, waiting: 0 }
  }
  return { size, missing: Math.max(0, end - archived), waiting: Math.max(0, half) }
}

/** Offset after the last newline between `from` and `size`, or `from` if there is none. */
function lastLineEnd(source: number, from: number, size: number): number {
  for (let top = size; top > from; top -= BLOCK) {
    const bottom = Math.max(from, top - BLOCK)
    const end = endOfLines(readExactly(source, bottom, top - bottom))
    if (end > 0) return bottom + end
  }
  return Math.min(from, size)
}

/** Runs `work` with the transcript open; passes undefined if there is no such file. */
export function withTranscript<T>(path: string, work: (source: number | undefined) => T): T {
  const source = openSource(path)
  try {
    return work(source?.fd)
  } finally {
    if (source !== undefined) closeSync(source.fd)
  }
}
