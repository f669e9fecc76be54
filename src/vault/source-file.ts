/** Claude Code's transcript, and whether a copy still matches it. */

import { tryTo } from "../base/files.ts"
import { closeSync, type FileStats } from "../base/fs.ts"
import { FILLER } from "../secrets/fill.ts"
import {
  type LockedCopy,
  openIfThere,
  readExactly,
  type Segment,
  segmentContent,
  segmentsBackwards,
  type Tail,
} from "./copy-file.ts"
import { type Base, TAIL_WINDOW, xxh64 } from "./frame.ts"

/** @returns undefined unless it is a file */
export function openSource(path: string): { fd: number; stats: FileStats } | undefined {
  const found = openIfThere(path)
  if (found?.stats.isFile() !== false) return found
  closeSync(found.fd)
  return undefined
}

/** Calls `read` with what `openSource` opens, and closes it. */
export function withSource<T>(path: string, read: (fd: number, size: number) => T): T | undefined {
  const source = openSource(path)
  if (source === undefined) return undefined
  try {
    return read(source.fd, source.stats.size)
  } finally {
    closeSync(source.fd)
  }
}

/** Hash of the transcript's last bytes before `end`. */
export const tailHash = (fd: number, end: number): bigint =>
  xxh64(readExactly(fd, Math.max(0, end - TAIL_WINDOW), Math.min(end, TAIL_WINDOW)))

const hexTail = (fd: number, end: number): string => tailHash(fd, end).toString(16)

/** Hash of the transcript's last bytes after reading `read` at `from`. */
export const hashAfter = (source: number, from: number, read: Uint8Array): bigint =>
  read.length >= TAIL_WINDOW ? xxh64(read.subarray(-TAIL_WINDOW)) : tailHash(source, from + read.length)

/** Whether the transcript still begins with what was archived. */
export function follows(source: number, stats: Pick<FileStats, "size">, tail: Tail): boolean {
  const { last, header } = tail
  if (last !== undefined) return stats.size >= last.to && tailHash(source, last.to) === last.tailHash
  return header.base === undefined || continues(source, stats, header.base)
}

/** The same for what precedes a piece. */
export const continues = (
  source: number,
  { size }: Pick<FileStats, "size">,
  { to, tailHash: hash }: Base,
): boolean => size >= to && hexTail(source, to) === hash

/** With a new inode and a known tail it may still be another file, so its first frame must match, too. */
export function sameStart(source: number, stats: FileStats, held: LockedCopy): boolean {
  const { last } = held.tail
  if (last === undefined || BigInt(stats.ino) === last.inode) return true
  if (held.tail.header.base !== undefined) return true
  const first = last.from === 0 ? last : firstSegment(held)
  if (first === undefined) return true
  const known = segmentContent(held.fd, first)
  return sameButForFiller(known, readExactly(source, 0, known.length)) === undefined
}

/**
 * Offset at which a copy's content and the transcript differ, not counting filler for secrets and forgotten text;
 * undefined if they match.
 */
export function sameButForFiller(copy: Uint8Array, original: Uint8Array): number | undefined {
  if (Buffer.compare(copy, original) === 0) return undefined
  const common = Math.min(copy.length, original.length)
  for (let n = 0; n < common; n++) if (copy[n] !== original[n] && copy[n] !== FILLER) return n
  return copy.length === original.length ? undefined : common
}

/** Walks back over the trailers: one read per frame, once for each new inode. */
function firstSegment({ fd, tail }: LockedCopy): Segment | undefined {
  let first: Segment | undefined
  for (const segment of segmentsBackwards(fd, tail)) first = segment
  return first?.from === 0 ? first : undefined
}

/*
 * Other files that are not ours: never more than asked for, never a pipe or device. One that cannot be read counts as
 * missing.
 */

/** The text of a file of at most `most` bytes; undefined for any other. */
export function readSmall(path: string, most: number): string | undefined {
  const text = withFile(path, (fd, size) =>
    size > most ? undefined : asBuffer(readExactly(fd, 0, size)).toString(),
  )
  return text?.includes("\0") ? undefined : text
}

/** As many of these bytes as the file has. */
export const readPart = (path: string, from: number, length: number): Buffer | undefined =>
  withFile(path, (fd) => asBuffer(readExactly(fd, from, length)))

const asBuffer = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength)

const withFile = <T>(path: string, read: (fd: number, size: number) => T): T | undefined =>
  tryTo(() => withSource(path, read))
