/** Reads any part of a transcript from its copy. Walks the trailers only once, and keeps the last frame. */
import { CtxError, messageOf } from "../base/errors.ts"
import { closeSync } from "../base/fs.ts"
import {
  behind,
  holdsNothing,
  lastSegment,
  lastTrailerBefore,
  openIfThere,
  readInto,
  readTail,
  type Segment,
  segmentContent,
  segmentEnding,
  segmentsBackwards,
  segmentsFrom,
  type Tail,
} from "./copy-file.ts"
import { contentStart, frameContent } from "./frame.ts"

/** How a copy ends; undefined if there is no such file or it is not ours. */
export const tailOf = (file: string): Tail | undefined => withCopy(file, readTail)

/** Whether the file is a copy that was begun and holds nothing yet, not even a header. */
export const isBegunOnly = (file: string): boolean => withCopy(file, holdsNothing) ?? false

/** Bytes of the transcript that a copy holds. */
export const archivedIn = (file: string): number => tailOf(file)?.last?.to ?? 0

export interface Stretch {
  /** Offset of its first byte. */
  readonly from: number
  readonly content: Uint8Array
}

/** What cannot be read of a copy. */
export interface Gap {
  readonly from: number
  readonly to: number
  readonly error: string
}

/**
 * A transcript read back from its copy, one frame at a time, starting with the frame that holds `from`: the first
 * stretch may begin before it. Walks back only over the trailers after `from`.
 *
 * @param onGap told of frames that cannot be read, which are passed over; without it, the first of them is an error
 */
export const stretchesFrom = (file: string, from: number, onGap?: (gap: Gap) => void): Generator<Stretch> =>
  stretches(file, (fd, tail) => segmentsFrom(fd, tail, from), onGap)

/** The same from the end, newest first. */
export const stretchesBackwards = (file: string): Generator<Stretch> => stretches(file, segmentsBackwards)

function* stretches(
  file: string,
  wanted: (fd: number, tail: Tail) => Iterable<Segment>,
  onGap?: (gap: Gap) => void,
): Generator<Stretch> {
  const fd = openCopy(file)
  if (fd === undefined) return
  try {
    const tail = readTail(fd)
    if (tail === undefined) return
    for (const segment of wanted(fd, tail)) {
      const content = contentOr(fd, segment, onGap)
      if (content !== undefined) yield { from: segment.from, content }
    }
  } finally {
    closeSync(fd)
  }
}

function contentOr(
  fd: number,
  segment: Segment,
  onGap: ((gap: Gap) => void) | undefined,
): Uint8Array | undefined {
  if (onGap === undefined) return segmentContent(fd, segment)
  try {
    return segmentContent(fd, segment)
  } catch (error) {
    onGap({ from: segment.from, to: segment.to, error: messageOf(error) })
    return undefined
  }
}

export class CopyReader {
  readonly #fd: number
  readonly #file: string
  readonly #size: number
  /** Last first, as far as they have been walked. */
  readonly #walked: Segment[] = []
  /** Position in the copy where the next segment to walk ends, and the earliest at which the first can begin. */
  #end: number
  readonly #start: number
  #kept: { readonly segment: Segment; readonly content: Uint8Array } | undefined

  constructor(file: string) {
    const fd = openCopy(file)
    if (fd === undefined) throw missing(file)
    let tail: Pick<Tail, "end" | "headerLength" | "last"> | undefined
    try {
      const last = lastSegment(fd)
      // If the copy ends with a whole trailer, its header is not read. A header is not a segment, so the walk stops at
      // it.
      tail = last === undefined ? readTail(fd) : { end: behind(last), headerLength: 0, last }
      if (tail === undefined) throw missing(file)
    } catch (error) {
      closeSync(fd)
      throw error
    }
    this.#fd = fd
    this.#file = file
    this.#size = tail.last?.to ?? 0
    if (tail.last !== undefined) this.#walked.push(tail.last)
    this.#end = tail.last?.position ?? tail.end
    this.#start = tail.headerLength
  }

  get size(): number {
    return this.#size
  }

  /** The transcript as archived, one frame at a time. */
  *pieces(): Generator<Uint8Array> {
    while (this.#walkOn()) {}
    for (const segment of this.#walked.toReversed()) yield this.#content(segment)
  }

  /** The stretch that was archived together with this offset. */
  stretchAt(offset: number): Stretch | undefined {
    const segment = this.#segmentAt(offset)
    return segment && { from: segment.from, content: this.#content(segment) }
  }

  /** @throws CtxError `vault-missing` if the copy does not reach that far, `vault-damaged` if it cannot be read */
  read(from: number, to: number): Uint8Array {
    const parts: Uint8Array[] = []
    for (let at = from; at < to; ) {
      const segment = this.#segmentAt(at)
      if (segment === undefined) {
        throw new CtxError("vault-missing", `bytes ${at} to ${to} are not in ${this.#file}`, {
          hint: "ctxbridge verify names what is missing",
        })
      }
      parts.push(this.#content(segment).subarray(at - segment.from, Math.min(to, segment.to) - segment.from))
      at = segment.to
    }
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts)
  }

  /**
   * Like `read`, for a line that is only shown: where it saves time, unpacks the frame only up to the line's end,
   * without verifying its checksum.
   */
  readLine(from: number, to: number): Uint8Array {
    const segment = this.#segmentAt(from)
    if (segment === undefined || to > segment.to) return this.read(from, to)
    const [start, end] = [from - segment.from, to - segment.from]
    if (this.#kept?.segment !== segment) {
      const frame = this.#frame(segment)
      const content = contentStart(frame, end)
      if (content === undefined) return this.#content(segment, frame).subarray(start, end)
      this.#kept = { segment, content }
    }
    const { content } = this.#kept
    // A second request for the same frame may well lead to more, so unpack all of it.
    return content.length < end ? this.read(from, to) : content.subarray(start, end)
  }

  /**
   * Returns the memory of the unpacked frame at once, for the next one. Memory newly requested from the system costs a
   * third of what unpacking costs. Nothing read here may still be in use.
   */
  release(): void {
    const { buffer } = this.#kept?.content ?? {}
    if (buffer instanceof ArrayBuffer) buffer.transfer(0)
    this.#kept = undefined
  }

  close(): void {
    closeSync(this.#fd)
  }

  /** A frame, in a buffer that the next one overwrites. */
  #frame({ position, frameLength }: Segment): Uint8Array {
    if (room.length < frameLength) room = new Uint8Array(Math.max(frameLength, LEAST_ROOM))
    return readInto(this.#fd, position, room.subarray(0, frameLength))
  }

  /** Walks back over the trailers only as far as necessary: most of what is read is near the end. */
  #segmentAt(offset: number): Segment | undefined {
    while ((this.#walked.at(-1)?.from ?? Number.POSITIVE_INFINITY) > offset) if (!this.#walkOn()) break
    let low = 0
    let high = this.#walked.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#walked[middle]!.from > offset) low = middle + 1
      else high = middle
    }
    const segment = this.#walked[low]
    return segment !== undefined && segment.to > offset ? segment : undefined
  }

  #walkOn(): boolean {
    if (this.#end <= this.#start) return false
    const segment =
      segmentEnding(this.#fd, this.#end, this.#start) ?? lastTrailerBefore(this.#fd, this.#end, this.#start)
    if (segment === undefined) return false
    this.#walked.push(segment)
    this.#end = segment.position
    return true
  }

  /** @param read the frame, if it has been read already */
  #content(segment: Segment, read?: Uint8Array): Uint8Array {
    const kept = this.#kept
    if (kept?.segment === segment && kept.content.length === segment.to - segment.from) return kept.content
    let content: Uint8Array
    try {
      content = frameContent(read ?? this.#frame(segment), segment.to - segment.from)
    } catch (cause) {
      const where = `bytes ${segment.from} to ${segment.to} in ${this.#file} cannot be read`
      throw new CtxError("vault-damaged", `${where}: ${messageOf(cause)}`, {
        hint: "ctxbridge verify names everything that is damaged",
        cause,
      })
    }
    this.#kept = { segment, content }
    return content
  }
}

/** Shared by all readers, because memory newly requested from the system costs more than the reading itself. */
let room = new Uint8Array(0)
const LEAST_ROOM = 1 << 18

/** The views mark a copy that is gone by its id (views/transcript-rows.ts). */
const missing = (file: string): CtxError =>
  new CtxError("vault-missing", `the vault has no copy ${file.replace(/(\.zst)#[^/]*$/, "$1")}`, {
    hint: "ctxbridge verify names what is missing",
  })

/** Readers of several copies, each opened only once. */
export class CopyReaders {
  readonly #open = new Map<string, CopyReader>()

  /** @param file absolute path of the copy */
  of(file: string): CopyReader {
    let reader = this.#open.get(file)
    if (reader === undefined) {
      reader = new CopyReader(file)
      this.#open.set(file, reader)
    }
    return reader
  }

  /** Releases the reader of one copy; see `CopyReader.release`. */
  release(file: string): void {
    this.#open.get(file)?.release()
  }

  close(): void {
    for (const reader of this.#open.values()) reader.close()
    this.#open.clear()
  }

  [Symbol.dispose](): void {
    this.close()
  }
}

/**
 * A descriptor of a copy; undefined if there is none.
 *
 * @throws CtxError `not-a-copy` if it is no file
 */
export function openCopy(file: string): number | undefined {
  const found = openIfThere(file)
  if (found === undefined || found.stats.isFile()) return found?.fd
  closeSync(found.fd)
  const what = found.stats.isDirectory() ? "a folder" : "something else"
  throw new CtxError("not-a-copy", `${what} is in the place of the copy`, {
    hint: `ctxbridge doctor --fix moves ${file} aside`,
  })
}

/**
 * Calls `work` with a descriptor of a copy, and closes it; undefined if there is none.
 *
 * @throws CtxError `not-a-copy` if it is no file
 */
export function withCopy<T>(file: string, work: (fd: number) => T): T | undefined {
  const fd = openCopy(file)
  if (fd === undefined) return undefined
  try {
    return work(fd)
  } finally {
    closeSync(fd)
  }
}
