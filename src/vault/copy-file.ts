/** One open copy in the vault. Needs no database. */
import { isMissing } from "../base/errors.ts"
import { inodeOf, tryTo } from "../base/files.ts"
import {
  closeSync,
  constants,
  type FileStats,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from "../base/fs.ts"
import { lock } from "../base/lock.ts"
import { dirname } from "../base/path.ts"
import {
  dataFrame,
  decodeHeader,
  decodeTrailer,
  encodeHeader,
  encodeTrailer,
  frameContent,
  isHalfHeader,
  sha256,
  TRAILER_SIZE,
  type Trailer,
  trailerPrefix,
  type VaultHeader,
} from "./frame.ts"
import { supersededPath } from "./layout.ts"

/** Where a data frame lies and what it holds. */
export interface Segment extends Trailer {
  /** Position of the data frame in the copy, in bytes. */
  readonly position: number
}

/** How a copy ends: after its last whole trailer. */
export interface Tail {
  readonly header: VaultHeader
  readonly headerLength: number
  /** Bytes of the copy that are whole; anything after them is half a frame. */
  readonly end: number
  /** The last segment; undefined if there is none yet. */
  readonly last: Segment | undefined
}

/** A header holds a path (at most 4,096 bytes) and little else. */
const HEADER_READ = 4096 + 1024

/** Opens whatever is there, without blocking, so that a pipe in a file's place cannot hold us up. */
export function openIfThere(path: string): { readonly fd: number; readonly stats: FileStats } | undefined {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  return { fd, stats: fstatSync(fd) }
}

export const readExactly = (fd: number, position: number, length: number): Uint8Array =>
  readInto(fd, position, new Uint8Array(length))

/** Fills `bytes`, and returns the part that could be read. */
export function readInto(fd: number, position: number, bytes: Uint8Array): Uint8Array {
  let done = 0
  while (done < bytes.length) {
    const n = readSync(fd, bytes, done, bytes.length - done, position + done)
    if (n === 0) break
    done += n
  }
  return done === bytes.length ? bytes : bytes.subarray(0, done)
}

/** Writes all of `bytes` at `position`; throws if the disk accepts only a part. */
export function writeFully(fd: number, bytes: Uint8Array, position: number): void {
  let done = 0
  while (done < bytes.length) done += writeSync(fd, bytes, done, bytes.length - done, position + done)
}

/**
 * Writes a frame and its trailer after the last one, in one call.
 *
 * @param end of the copy
 * @param about the trailer's fields that the frame itself does not give
 * @param level zstd level; undefined: as fast as a hook needs
 */
export function appendFrame(
  fd: number,
  end: number,
  content: Uint8Array,
  about: Omit<Trailer, "frameLength" | "sha256">,
  level?: number,
): Segment {
  const frame = dataFrame(content, level)
  const trailer: Trailer = { ...about, frameLength: frame.length, sha256: sha256(content) }
  try {
    writeFully(fd, Buffer.concat([frame, encodeTrailer(trailer)]), end)
  } catch (error) {
    // A full disk may have taken half a frame: give the space back.
    ftruncateSync(fd, end)
    throw error
  }
  return { ...trailer, position: end }
}

export const behind = ({ position, frameLength }: Segment): number => position + frameLength + TRAILER_SIZE

/** The segment that ends at `end`; undefined if no trailer of ours does. */
export function segmentEnding(fd: number, end: number, headerLength: number): Segment | undefined {
  if (end - TRAILER_SIZE < headerLength) return undefined
  const trailer = decodeTrailer(readExactly(fd, end - TRAILER_SIZE, TRAILER_SIZE))
  if (trailer === undefined) return undefined
  const position = end - TRAILER_SIZE - trailer.frameLength
  return position >= headerLength ? { ...trailer, position } : undefined
}

/**
 * Reads how the copy ends, in two small reads if it ends with a whole trailer. After a crash, searches backwards for
 * the last whole one.
 *
 * @returns undefined if the file does not begin with our header
 */
export function readTail(fd: number): Tail | undefined {
  const size = fstatSync(fd).size
  const start = decodeHeader(readExactly(fd, 0, Math.min(size, HEADER_READ)))
  if (start === undefined) return undefined
  const { header, length: headerLength } = start
  if (size === headerLength) return { header, headerLength, end: size, last: undefined }
  const last = segmentEnding(fd, size, headerLength)
  if (last !== undefined) return { header, headerLength, end: size, last }
  const found = lastTrailerBefore(fd, size, headerLength)
  return found === undefined
    ? { header, headerLength, end: headerLength, last: undefined }
    : { header, headerLength, end: behind(found), last: found }
}

/** Searches backwards for a whole trailer, past whatever is damaged or half written. */
export function lastTrailerBefore(fd: number, size: number, headerLength: number): Segment | undefined {
  const block = 1 << 20
  const prefix = trailerPrefix()
  for (let top = size; top > headerLength; top -= block) {
    const from = Math.max(headerLength, top - block)
    // One trailer more than the block, to catch a trailer that crosses its edge.
    const bytes = Buffer.from(readExactly(fd, from, Math.min(size, top + TRAILER_SIZE) - from))
    for (let at = bytes.lastIndexOf(prefix); at >= 0; at = at > 0 ? bytes.lastIndexOf(prefix, at - 1) : -1) {
      const end = from + at + TRAILER_SIZE
      const found = end <= size ? segmentEnding(fd, end, headerLength) : undefined
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** The last segment of a copy that ends with a whole trailer, in one small read. For all others, use `readTail`. */
export const lastSegment = (fd: number): Segment | undefined => segmentEnding(fd, fstatSync(fd).size, 0)

/** All segments, last first. Where the chain of trailers is broken, it goes on with the next whole one before. */
export function* segmentsBackwards(fd: number, tail: Pick<Tail, "end" | "headerLength">): Generator<Segment> {
  for (let end = tail.end; end > tail.headerLength; ) {
    const segment = segmentEnding(fd, end, tail.headerLength) ?? lastTrailerBefore(fd, end, tail.headerLength)
    if (segment === undefined) return
    yield segment
    end = segment.position
  }
}

/** The segments that end after `from`, first to last. */
export function segmentsFrom(fd: number, tail: Tail, from = Number.NEGATIVE_INFINITY): Segment[] {
  const found: Segment[] = []
  for (const segment of segmentsBackwards(fd, tail)) {
    if (segment.to <= from) break
    found.push(segment)
  }
  return found.reverse()
}

/** Whether this is what was archived. */
export const matchesTrailer = (content: Uint8Array, { from, to, sha256: noted }: Trailer): boolean =>
  content.length === to - from && Buffer.compare(sha256(content), noted) === 0

export function segmentContent(fd: number, segment: Segment): Uint8Array {
  return frameContent(readExactly(fd, segment.position, segment.frameLength), segment.to - segment.from)
}

/** Offset in the transcript up to which it is archived. */
export const archivedBytes = ({ last, header }: Tail): number => last?.to ?? header.base?.to ?? 0

export interface LockedCopy {
  readonly fd: number
  readonly tail: Tail
}

/**
 * Opens a copy for appending: takes its lock, writes the header of a new copy, cuts off half a frame.
 *
 * @param begun header of a new copy: the transcript's path, and the time in ms since the epoch
 * @param deadline ms of performance.now() until which to wait for the lock
 * @returns undefined if another process held the lock throughout
 */
export function openLocked(file: string, begun: NewCopy, deadline: number): LockedCopy | undefined {
  for (;;) {
    const fd = openOrCreate(file)
    try {
      if (!lock(fd, deadline)) {
        closeSync(fd)
        return undefined
      }
      // While we waited, another process may have replaced the file; then this is the lock of the old one.
      if (fstatSync(fd).ino !== inodeOf(file)) {
        closeSync(fd)
        continue
      }
      const tail = readTail(fd) ?? begin(fd, file, begun)
      if (tail === undefined) {
        closeSync(fd)
        continue
      }
      if (fstatSync(fd).size > tail.end) ftruncateSync(fd, tail.end)
      return { fd, tail }
    } catch (error) {
      // Where nothing can be locked or written, a name alone would look like a damaged copy.
      if (fstatSync(fd).size === 0) tryTo(() => unlinkSync(file))
      closeSync(fd)
      throw error
    }
  }
}

/**
 * Runs `work` with a copy that is opened for appending.
 *
 * @param otherwise what is done if another process held the lock throughout
 */
export function withLockedCopy<T>(
  file: string,
  begun: NewCopy,
  deadline: number,
  work: (held: LockedCopy) => T,
  otherwise: () => T,
): T {
  const held = openLocked(file, begun, deadline)
  if (held === undefined) return otherwise()
  try {
    return work(held)
  } finally {
    closeSync(held.fd)
  }
}

function openOrCreate(file: string): number {
  const flags = constants.O_RDWR | constants.O_CREAT
  try {
    return openSync(file, flags, 0o600)
  } catch (error) {
    if (!isMissing(error)) throw error
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return openSync(file, flags, 0o600)
  }
}

/** Header of a new copy. Without an id, it gets one of its own. */
export type NewCopy = Omit<VaultHeader, "id"> & { readonly id?: string | undefined }

/** Whether whoever created the file was killed before its header was whole. */
export function holdsNothing(fd: number): boolean {
  const { size } = fstatSync(fd)
  return isHalfHeader(readExactly(fd, 0, Math.min(size, 8)), size)
}

/** Writes the header of an empty file. Sets aside a file that is not ours, and then returns undefined. */
function begin(fd: number, file: string, begun: NewCopy): Tail | undefined {
  if (!holdsNothing(fd)) {
    setAside(file)
    return undefined
  }
  const header: VaultHeader = { ...begun, id: begun.id ?? crypto.randomUUID().slice(0, 13) }
  const bytes = encodeHeader(header)
  ftruncateSync(fd, 0)
  writeFully(fd, bytes, 0)
  return { header, headerLength: bytes.length, end: bytes.length, last: undefined }
}

/** Renames a copy to its first free superseded name, and returns that. Deletes nothing. */
export function setAside(file: string): string {
  for (let n = 1; ; n++) {
    const target = supersededPath(file, n)
    if (inodeOf(target) !== undefined) continue
    renameSync(file, target)
    return target
  }
}
