/**
 * Takes the new bytes of a transcript into the vault.
 *
 * Takes O(new bytes), whatever the size of the transcript, because the cursor is the last trailer of the copy. Takes
 * whole lines only, unless the caller says otherwise: Claude Code is still writing half a line.
 */

import { transcriptName } from "../agents/layouts.ts"
import { closeSync, type FileStats, fstatSync, rmSync, statSync } from "../base/fs.ts"
import { compileAsUsual } from "../base/own-program.ts"
import { relative } from "../base/path.ts"
import { sessionIdOf } from "../base/session-id.ts"
import type { Paths, Policy } from "../config/load.ts"
import { endOfLines } from "../record/lines-with.ts"
import { FILTERED, type FilteredLines, filterLines, hurried, type SecretSettings } from "../secrets/filter.ts"
import {
  appendFrame,
  archivedBytes,
  behind,
  type LockedCopy,
  type NewCopy,
  openIfThere,
  openLocked,
  readExactly,
  readTail,
  type Segment,
  setAside,
  type Tail,
} from "./copy-file.ts"
import type { Base } from "./frame.ts"
import { vaultFile, vaultPath } from "./layout.ts"
import { markPending, type Pending } from "./pending.ts"
import type { Stretch } from "./reader.ts"
import type { Edit } from "./rewrite.ts"
import { continues, follows, hashAfter, openSource, readPart, sameStart, tailHash } from "./source-file.ts"
import { type Forgotten, forgottenOf } from "./tombstones.ts"

/**
 * Bytes of transcript in one frame, give or take a line. A search unpacks this much for each text it shows. With 1 MB
 * per frame, copies would be 7 % smaller, or 4 % if compressed with `level`.
 */
const CHUNK = 256 << 10
/** Longer lines are cut into frames of this length, and not indexed. No line of a real Claude Code comes near. */
export const LONGEST_UNCUT = 64 << 20
/** The limit when somebody waits: compressing and indexing a line takes 30 ms per MB, whatever it contains. */
const LONGEST_HURRIED = 16 << 20
/** From this many new bytes on, compiling pays off. A hook has told the engine to put it off. */
const LONG = 2 << 20

export interface CaptureRequest {
  readonly transcript: string
  /** Where its bytes are, if not there. */
  readonly readFrom?: string | undefined
  /** Absolute path of its copy in the vault. */
  readonly copy: string
  /** ms since the epoch, for the trailers. */
  readonly now: number
  /** ms of performance.now() at which to stop, after a whole frame. */
  readonly deadline: number
  /**
   * Whether somebody waits. If so, a line that is very long, or that the filter cannot search in time, is not begun.
   */
  readonly hurried?: boolean | undefined
  /**
   * When to take a last line without a newline: `whole` takes it if it is one whole JSON object, which cannot be half
   * of a longer line; `any` always takes it.
   */
  readonly lastLine: "whole" | "any"
  /** zstd level for callers with time to spare; by default, that of a hook. */
  readonly level?: number | undefined
  /** For a piece in the spool: where a new one begins, and the id of the copy that it continues. */
  readonly from?: { readonly id: string; readonly base: Base } | undefined
  /** Says what must not be archived. Called before a copy is begun, and again under its lock. */
  readonly forgotten?: () => Forgotten | undefined
  /** What must not reach the vault; by default, the known formats of secrets. */
  readonly secrets?: SecretSettings | undefined
  /** What was recognised in the session. `ask`: stop before lines in which something is. */
  readonly known?: KnownValues | "ask" | undefined
  /** Called with a copy's new absolute path when it is set aside because Claude Code has rewritten the transcript. */
  readonly onSuperseded?: (file: string) => void
  /** Called before the first frame is written, if there is one. */
  readonly onBegin?: () => void
  /** Called with each frame's content as written to the copy. */
  readonly onChunk?: (chunk: Chunk) => void
}

/** Lines about to be archived. */
export interface KnownLines {
  readonly path: string
  /** Id of the copy. */
  readonly id: string
  /** Offset in the transcript. */
  readonly from: number
  readonly original: Uint8Array
  readonly filtered: FilteredLines
  readonly edit: Edit
}

/** Fills what was recognised as a secret once in a session wherever it occurs (known-values.ts). */
export interface KnownValues {
  fill(lines: KnownLines): Uint8Array
}

interface Chunk {
  readonly segment: Segment
  readonly content: Uint8Array
}

export interface Captured {
  /**
   * `current`: everything is in the copy. `behind`: time ran out first. `busy`: another process held the lock.
   * `missing`: there is no such transcript (never written, or deleted). `forgotten`: the user does not want it.
   * `recognised`: a secret was, and the caller has to say what is known.
   */
  readonly state: "current" | "behind" | "busy" | "missing" | "forgotten" | "recognised"
  readonly id: string | undefined
  /** Bytes of the transcript that are in the copy. */
  readonly archived: number
  readonly size: number
  readonly taken: number
  /** Where the copy of the former content went, if Claude Code has rewritten the transcript. */
  readonly superseded: string | undefined
}

/** How often to reopen the transcript at most: on some file systems its inode number changes each time. */
const MOST_LOOKS = 10

export function capture(request: CaptureRequest): Captured {
  for (let looks = 1; ; looks++) {
    const source = openSource(request.readFrom ?? request.transcript)
    if (source === undefined)
      return { ...NOTHING_TAKEN, state: isForgotten(request) ? "forgotten" : "missing" }
    try {
      const { fd, stats } = source
      const known = peek(request.copy)
      if (known !== undefined && follows(fd, stats, known) && archivedBytes(known) === stats.size) {
        return {
          ...NOTHING_TAKEN,
          state: "current",
          id: known.header.id,
          archived: stats.size,
          size: stats.size,
        }
      }
      if (known === undefined && isForgotten(request)) {
        return { ...NOTHING_TAKEN, state: "forgotten", size: stats.size }
      }
      const captured = append(request, fd, looks < MOST_LOOKS)
      if (captured !== undefined) return captured
    } finally {
      closeSync(source.fd)
    }
  }
}

const isForgotten = ({ forgotten }: CaptureRequest): boolean => forgotten?.()?.whole === true

/** For where nothing was taken. */
export const NOTHING_TAKEN = { id: undefined, archived: 0, size: 0, taken: 0, superseded: undefined } as const

/** How the copy ends, read without its lock; undefined if there is no copy or it ends in half a frame. */
function peek(copy: string): Tail | undefined {
  const found = openIfThere(copy)
  if (found === undefined) return undefined
  const { fd, stats } = found
  try {
    // What is no file cannot be written either, and then the error names it.
    const tail = stats.isFile() ? readTail(fd) : undefined
    return tail !== undefined && fstatSync(fd).size === tail.end ? tail : undefined
  } finally {
    closeSync(fd)
  }
}

/**
 * @param mayBeOther whether to check if Claude Code has replaced the transcript by another file
 * @returns undefined if it has, and that file must be read instead
 */
function append(request: CaptureRequest, source: number, mayBeOther: boolean): Captured | undefined {
  let superseded: string | undefined
  for (;;) {
    const held = openLocked(request.copy, begunFrom(request, source), request.deadline)
    // Whoever held the lock may have archived what Claude Code has added meanwhile.
    const stats = fstatSync(source)
    if (held === undefined) return { ...NOTHING_TAKEN, state: "busy", size: stats.size }
    try {
      // `forget` writes the tombstone before it deletes the copy, so nobody can begin the copy anew from here on.
      const forgotten = request.forgotten?.()
      if (forgotten?.whole) {
        rmSync(request.copy, { force: true })
        return { ...NOTHING_TAKEN, state: "forgotten", size: stats.size }
      }
      const edit = forgotten?.edit ?? asItIs
      const isSame = follows(source, stats, held.tail) && sameStart(source, stats, held)
      // If so, the copy belongs to that other file, or soon will.
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

/** Whether another file is there now. A deleted transcript does not count: it is still the last one there was. */
function isReplaced(transcript: string, { dev, ino }: FileStats): boolean {
  const now = statSync(transcript, { throwIfNoEntry: false })
  return now !== undefined && (now.ino !== ino || now.dev !== dev)
}

/** Header of a new copy. A piece holds the whole transcript if that no longer continues the vault's copy. */
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
  const { secrets = FILTERED } = request
  const start = archivedBytes(held.tail)
  if (stats.size - start > LONG) compileAsUsual()
  let from = start
  let end = held.tail.end
  let state: Captured["state"] = "current"
  /** Hash of the transcript's end before `from`. */
  let before = held.tail.last?.tailHash
  let hidden = held.tail.last?.hidden ?? held.tail.header.base?.hidden ?? 0
  while (from < stats.size) {
    if (performance.now() >= request.deadline && from > start) {
      state = "behind"
      break
    }
    const all = readLines(source, from, stats.size, request)
    if (all?.length === 0) break
    // Rewritten while we read: what we read does not continue what is archived.
    const isOther = before !== undefined && tailHash(source, from) !== before
    const limits = request.hurried ? hurried(request.deadline) : undefined
    const filtered = all && !isOther ? filterLines(all, hidden, secrets, limits) : undefined
    // Write nothing that was not searched in time, as only filtered text may reach the disk.
    if (all === undefined || filtered === undefined || filtered.content.length === 0) {
      state = "behind"
      break
    }
    const read = all.subarray(0, filtered.content.length)
    const after = hashAfter(source, from, read)
    const { known, transcript: path } = request
    if (known === "ask" && filtered.values.length > 0) {
      state = "recognised"
      break
    }
    // Edited after filtering, because tombstones know lines as they were in the vault.
    const content =
      typeof known === "object"
        ? known.fill({ path, id: held.tail.header.id, from, original: read, filtered, edit })
        : edit(filtered.content, from)
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

/**
 * Whole lines from `from` on, about CHUNK bytes; empty if there is only half a line, which must wait; undefined if the
 * line is too long while somebody waits.
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
    const end = endOfLines(bytes)
    const atEnd = from + bytes.length >= size || bytes.length < Math.min(length, size - from)
    if (atEnd) {
      const rest = bytes.subarray(end)
      return rest.length === 0 || lastLine === "any" || isWholeObject(rest) ? bytes : bytes.subarray(0, end)
    }
    if (end > 0) return bytes.subarray(0, end)
    if (length >= LONGEST_UNCUT) return bytes
  }
}

/** Whether a line without a newline is complete: one whole JSON object cannot be half of a longer line. */
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

/* A transcript by its path. Needs no database. */

/** Bytes of content kept in memory between capture and indexing; if there is more, indexing reads the vault. */
const KEPT_BYTES = 4 << 20

export interface Taken extends Pending {
  readonly captured: Captured
  /** The bytes just taken, from the first one on, unless they were too many to keep. */
  readonly fresh: readonly Stretch[]
  /** The views do not know about it, because no marker could be left. */
  readonly unmarked: boolean
}

/** `knownOf` in vault/known-values.ts. */
type KnownFactory = (paths: Pick<Paths, "dataHome" | "home">, session: string, path: string) => KnownValues

export interface TakeOptions {
  /** ms since the epoch. */
  readonly now: number
  /** File that has the transcript's bytes, if it has been compressed. */
  readonly readFrom?: string | undefined
  /** ms of performance.now(). */
  readonly deadline: number
  /** Whether somebody waits: no line is begun that may take much longer than the deadline. */
  readonly hurried?: boolean | undefined
  readonly lastLine: "whole" | "any"
  /** What was recognised as a secret in a session. `ask`: only see if it is needed, since few sessions do. */
  readonly known?: KnownFactory | "ask" | undefined
  /** Session of a subagent's transcript, for versions of Claude Code whose paths do not tell (up to 2.0). */
  readonly parent?: string | undefined
  /** Says what must not be archived, if its session's tombstone does not. */
  readonly forgotten?: (() => Forgotten | undefined) | undefined
  /** zstd level; undefined: as fast as a hook needs. */
  readonly level?: number | undefined
}

/** zstd level when nobody waits: twice the time of a hook's, and 3 % smaller. Level 6 takes a third more for 1 %. */
export const UNHURRIED = 4

/**
 * Brings the vault's copy of a transcript up to date. Callers first check if it is excluded (excluded.ts). Without a
 * policy, the known formats of secrets are filtered.
 */
export function captureTranscript(
  paths: Pick<Paths, "dataHome" | "home"> & Partial<Policy>,
  path: string,
  options: TakeOptions,
): Taken {
  const copy = vaultPath(path, paths.home)
  const session = sessionOf(path, options.parent)
  const forgotten = options.forgotten ?? (() => forgottenOf(paths.dataHome, session, path))
  const fresh: Stretch[] = []
  let kept = 0
  let unmarked = false
  // A marker too many costs nothing, but a missing one hides a turn. So mark before the first byte, in case we die, and
  // again after each frame, in case somebody has settled the marker meanwhile.
  const mark = (grown: string): void => {
    try {
      markPending(paths.dataHome, { path, copy: grown, session })
    } catch {
      // The vault matters more than the views.
      unmarked = true
    }
  }
  const onChunk = ({ segment, content }: Chunk): void => {
    mark(copy)
    kept += content.length
    if (kept <= KEPT_BYTES) fresh.push({ from: segment.from, content })
  }
  const captured = capture({
    transcript: path,
    readFrom: options.readFrom,
    copy: vaultFile(paths.dataHome, copy),
    now: options.now,
    deadline: options.deadline,
    hurried: options.hurried,
    lastLine: options.lastLine,
    level: options.level,
    forgotten,
    secrets: paths.secrets,
    known: typeof options.known === "function" ? options.known(paths, session, path) : options.known,
    // The views may not have followed the old copy to its end.
    onSuperseded: (file) => mark(relative(vaultFile(paths.dataHome, ""), file)),
    onBegin: () => mark(copy),
    onChunk,
  })
  return { path, copy, session, captured, fresh: kept <= KEPT_BYTES ? fresh : [], unmarked }
}

/** What the user does not want archived of a transcript; undefined: all of it is wanted. */
export const forgottenTranscript = (dataHome: string, path: string): Forgotten | undefined =>
  forgottenOf(dataHome, sessionOf(path), path)

/** The session of a transcript in the views: `<session>`, or `<session>/<agent>` for a subagent. */
export function sessionOf(path: string, parent?: string): string {
  const name = transcriptName(path)
  const known = name.session ?? parent
  // Versions of Claude Code up to 2.0 keep subagents beside their sessions and name the parent in each line.
  const start = known === undefined ? readPart(path, 0, NAMED_WITHIN) : undefined
  const owner = known ?? (start && sessionNamedIn(start)) ?? "unknown"
  return name.agent === undefined ? owner : `${owner}/${name.agent}`
}

/** A transcript's first line names its session within this many bytes. */
const NAMED_WITHIN = 4096

/** @param start of a transcript */
export function sessionNamedIn(start: Uint8Array): string | undefined {
  const text = Buffer.from(start.subarray(0, NAMED_WITHIN)).toString("latin1")
  const name = /"sessionId"\s*:\s*"([^"\\]+)"/.exec(text)?.[1]
  return name === undefined ? undefined : sessionIdOf(name)
}
