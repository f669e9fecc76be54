/**
 * Takes the new bytes of a transcript into the vault.
 *
 * O(new bytes), whatever the size of the transcript: the cursor is the last note of the copy. Whole lines only,
 * except where the caller says otherwise: half a line is still being written by the host.
 */

import { compileAsUsual } from "../util/compiling.ts"
import { closeSync, type FileStats, fstatSync, openSync, rmSync, statSync } from "../util/fs.ts"
import { searchUntil } from "../util/secret-clock.ts"
import { FILTERED, type FilteredLines, filterLines, type SecretSettings } from "../util/secrets.ts"
import {
  appendFrame,
  archivedBytes,
  behind,
  type LockedCopy,
  type NewCopy,
  openLocked,
  readExactly,
  readTail,
  type Segment,
  setAside,
  type Tail,
} from "./file.ts"
import type { Base } from "./frame.ts"
import { continues, follows, hashAfter, openSource, sameStart, tailHash } from "./original.ts"
import type { Edit } from "./rewrite.ts"
import type { Forgotten } from "./tombstones.ts"

/**
 * Bytes of transcript in one frame, as far as lines allow: as much as is unpacked for each text that a search shows. Frames
 * of 1 MB would take 7 % less room, or 4 % where they are packed by `level`.
 */
const CHUNK = 256 << 10
/** A line longer than this is cut: no line of a real host comes near. */
const LONGEST_LINE = 64 << 20
/** The same where somebody waits: to pack and to index one takes 30 ms for each MB of it, whatever is in it. */
const LONGEST_HURRIED = 16 << 20
const NEWLINE = 0x0a
/** Bytes to be taken at once from which on what the engine compiles pays: a hook has told it to wait. */
const LONG = 2 << 20

export interface CaptureRequest {
  /** Absolute path of the transcript. */
  readonly transcript: string
  /** Absolute path of its copy in the vault. */
  readonly copy: string
  /** ms since the epoch, for the notes. */
  readonly now: number
  /** ms of performance.now() at which to stop, having written whole frames. */
  readonly deadline: number
  /** Whether somebody waits: then the filter stops at the deadline even within a line, and a very long line is not begun. */
  readonly hurried?: boolean | undefined
  /**
   * What to do with a last line that has no newline: take it when it is one whole JSON object (such a line
   * cannot be half of a longer one), or take it as it is.
   */
  readonly lastLine: "whole" | "any"
  /** zstd's, for whoever has the time; a hook's default otherwise. */
  readonly level?: number | undefined
  /** For a piece in the spool: where it begins when it is new, and the name of the copy that it continues. */
  readonly from?: { readonly id: string; readonly base: Base } | undefined
  /** What of the transcript is not to be archived. Asked before a copy is begun, and again under its lock. */
  readonly forgotten?: () => Forgotten | undefined
  /** What must not reach the vault; the known formats of secrets where nothing is said. */
  readonly secrets?: SecretSettings | undefined
  /** Called with the absolute path to which a copy went because the host had rewritten its transcript. */
  readonly onSuperseded?: (file: string) => void
  /** Called before the first frame is written, if there is anything to write. */
  readonly onBegin?: () => void
  /** Called with each frame's content, as it is in the copy now. */
  readonly onChunk?: (chunk: Chunk) => void
}

export interface Chunk {
  readonly segment: Segment
  readonly content: Uint8Array
}

export interface Captured {
  /**
   * `current`: everything is in the copy. `behind`: the deadline came first. `busy`: another process held the
   * lock. `missing`: there is no such transcript (nothing was ever written, or it was deleted). `forgotten`: the
   * user does not want it archived.
   */
  readonly state: "current" | "behind" | "busy" | "missing" | "forgotten"
  /** Name of the copy; undefined when there is none. */
  readonly id: string | undefined
  /** Bytes of the transcript that are in the copy. */
  readonly archived: number
  /** Bytes of the transcript on disk. */
  readonly size: number
  /** Bytes taken by this call. */
  readonly taken: number
  /** Where the copy of the former content went, when the host had rewritten the transcript. */
  readonly superseded: string | undefined
}

/** How often the transcript is opened again: some file systems give a file another inode number each time. */
const MOST_LOOKS = 10

export function capture(request: CaptureRequest): Captured {
  for (let looks = 1; ; looks++) {
    const source = openSource(request.transcript)
    if (source === undefined) return { ...NOTHING, state: isForgotten(request) ? "forgotten" : "missing" }
    try {
      const { fd, stats } = source
      const known = peek(request.copy)
      if (known !== undefined && follows(fd, stats, known) && archivedBytes(known) === stats.size) {
        return { ...NOTHING, state: "current", id: known.header.id, archived: stats.size, size: stats.size }
      }
      if (known === undefined && isForgotten(request)) {
        return { ...NOTHING, state: "forgotten", size: stats.size }
      }
      const captured = append(request, fd, looks < MOST_LOOKS)
      if (captured !== undefined) return captured
    } finally {
      closeSync(source.fd)
    }
  }
}

const isForgotten = ({ forgotten }: CaptureRequest): boolean => forgotten?.()?.whole === true

const NOTHING = { id: undefined, archived: 0, size: 0, taken: 0, superseded: undefined } as const

/** How the copy ends, read without its lock; undefined when there is none or it ends in half a frame. */
function peek(copy: string): Tail | undefined {
  if (statSync(copy, { throwIfNoEntry: false }) === undefined) return undefined
  const fd = openSync(copy, "r")
  try {
    const tail = readTail(fd)
    return tail !== undefined && fstatSync(fd).size === tail.end ? tail : undefined
  } finally {
    closeSync(fd)
  }
}

/**
 * @param mayBeOther whether to look if the host has put another file in the transcript's place
 * @returns undefined when it has: that one is to be read
 */
function append(request: CaptureRequest, source: number, mayBeOther: boolean): Captured | undefined {
  let superseded: string | undefined
  for (;;) {
    const held = openLocked(request.copy, begunFrom(request, source), request.deadline)
    // Whoever held it may have archived what the host has added meanwhile.
    const stats = fstatSync(source)
    if (held === undefined) return { ...NOTHING, state: "busy", size: stats.size }
    try {
      // Who forgets writes the tombstone first, and deletes then: from here on nobody can begin the copy anew.
      const forgotten = request.forgotten?.()
      if (forgotten?.whole) {
        rmSync(request.copy, { force: true })
        return { ...NOTHING, state: "forgotten", size: stats.size }
      }
      const edit = forgotten?.edit ?? asItIs
      const isSame = follows(source, stats, held.tail) && sameStart(source, stats, held)
      // Then the copy belongs to that other file, or will.
      const asks = mayBeOther && (!isSame || held.tail.last === undefined)
      if (asks && isReplaced(request.transcript, stats)) return undefined
      if (!isSame) {
        superseded = setAside(request.copy)
        request.onSuperseded?.(superseded)
        continue
      }
      return { ...appendTo(held, request, source, stats, edit), superseded }
    } finally {
      closeSync(held.fd)
    }
  }
}

/** Whether another file stands there now. One that was deleted is still the last that was there. */
function isReplaced(transcript: string, { dev, ino }: FileStats): boolean {
  const now = statSync(transcript, { throwIfNoEntry: false })
  return now !== undefined && (now.ino !== ino || now.dev !== dev)
}

/** What the header of a new copy says. A piece holds the whole transcript where that no longer continues the vault's copy. */
function begunFrom({ transcript, now, from }: CaptureRequest, source: number): NewCopy {
  const begun = { path: transcript, created: now }
  return from === undefined || !continues(source, fstatSync(source), from.base)
    ? begun
    : { ...begun, ...from }
}

export const asItIs: Edit = (content) => content

function appendTo(
  held: LockedCopy,
  request: CaptureRequest,
  source: number,
  stats: FileStats,
  edit: Edit,
): Captured {
  const start = archivedBytes(held.tail)
  if (stats.size - start > LONG) compileAsUsual()
  let from = start
  let end = held.tail.end
  let state: Captured["state"] = "current"
  /** How the transcript ends before `from`. */
  let before = held.tail.last?.tailHash
  let hidden = held.tail.last?.hidden ?? held.tail.header.base?.hidden ?? 0
  while (from < stats.size) {
    if (performance.now() >= request.deadline && from > start) {
      state = "behind"
      break
    }
    const read = readLines(source, from, stats.size, request)
    if (read?.length === 0) break
    const after = read && hashAfter(source, from, read)
    // Written anew while we read: what was read continues something else than what is archived.
    const isOther = before !== undefined && tailHash(source, from) !== before
    const filtered = read && !isOther ? filteredInTime(read, hidden, request) : undefined
    // Nothing of the line is written: only what is filtered reaches the disk.
    if (read === undefined || after === undefined || filtered === undefined) {
      state = "behind"
      break
    }
    // A tombstone knows lines as they stood in the vault.
    const content = edit(filtered.content, from)
    hidden = filtered.hidden
    const about = {
      from,
      to: from + content.length,
      inode: BigInt(stats.ino),
      tailHash: after,
      time: request.now,
      rules: filtered.rules,
      hidden,
    }
    if (from === start) request.onBegin?.()
    const segment = appendFrame(held.fd, end, content, about, request.level)
    request.onChunk?.({ segment, content })
    end = behind(segment)
    from = segment.to
    before = after
  }
  const { id } = held.tail.header
  return { state, id, archived: from, size: stats.size, taken: from - start, superseded: undefined }
}

/** undefined when there is no time for it. A chunk of ordinary lines is always done: else nothing might ever be. */
function filteredInTime(
  read: Uint8Array,
  hidden: number,
  request: CaptureRequest,
): FilteredLines | undefined {
  const filter = (): FilteredLines => filterLines(read, hidden, request.secrets ?? FILTERED)
  return request.hurried && read.length > CHUNK ? searchUntil(request.deadline, filter) : filter()
}

/**
 * Whole lines from `from` on, about CHUNK bytes; empty when there is only half a line that must wait, undefined when the
 * line is too long for somebody who waits.
 */
function readLines(
  source: number,
  from: number,
  size: number,
  { lastLine, hurried }: CaptureRequest,
): Uint8Array | undefined {
  for (let length = CHUNK; ; length *= 2) {
    if (hurried && length > LONGEST_HURRIED) return undefined
    const bytes = readExactly(source, from, Math.min(length, size - from))
    const end = bytes.lastIndexOf(NEWLINE) + 1
    const atEnd = from + bytes.length >= size || bytes.length < Math.min(length, size - from)
    if (atEnd) {
      const rest = bytes.subarray(end)
      return rest.length === 0 || lastLine === "any" || isWholeObject(rest) ? bytes : bytes.subarray(0, end)
    }
    if (end > 0) return bytes.subarray(0, end)
    if (length >= LONGEST_LINE) return bytes
  }
}

/** Whether a line without a newline is complete: one whole JSON object cannot be half of a longer one. */
export function isWholeObject(line: Uint8Array): boolean {
  const text = Buffer.from(line.buffer, line.byteOffset, line.length)
  if (text[0] !== 0x7b || text[text.length - 1] !== 0x7d) return false
  try {
    JSON.parse(text.toString("utf8"))
    return true
  } catch {
    return false
  }
}
